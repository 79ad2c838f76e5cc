"""Results show themselves in notebooks: all names, in the colours of the page."""

import re

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from skrank import ListMLERanker, RankNetRanker
from skrank._data.html import STYLE
from skrank.datasets import load_mode_choice, make_ranking
from skrank.inspection import describe_lists, explain_scores
from skrank.metrics import explain_metric, ndcg_score
from skrank.model_selection import compare_rankers

LONG = "a ranker with <b>quite</b> a long name & more than fits in eighty-eight columns"


def comparison():
    X, y, groups = make_ranking(40, random_state=0)
    rankers = {LONG: Ridge(), "b": RankNetRanker()}
    return compare_rankers(rankers, X, y, groups, n_resamples=200, random_state=0)


def description():
    return describe_lists(*load_mode_choice())


def explanation():
    X, y, groups = load_mode_choice()
    return explain_scores(ListMLERanker().fit(X, y, groups), X[:4], groups[:4])


def pair():
    return explanation().why(0, 1)


def metric():
    y, scores, groups = [2, 1, 0, 0], [1.0, 1.0, 0.0, 0.0], [7, 7, 7, 8]
    return explain_metric(ndcg_score, y, scores, groups, "sklearn", "lightgbm")


@pytest.mark.parametrize("make", [comparison, description, explanation, pair, metric])
def test_results_are_well_formed_tables_that_can_be_frames(make):
    from xml.etree import ElementTree

    result = make()
    html = result._repr_html_()
    root = ElementTree.fromstring(html)  # as strict as XML
    rows = [len(row) for row in root.iter("tr")]
    assert rows, "there is a table"
    for table in root.iter("table"):
        assert len({len(row) for row in table.iter("tr")}) == 1, "no cell is missing"
    pytest.importorskip("pandas")
    assert len(result.to_frame())


def test_the_style_sets_no_colour_of_text_or_background_of_its_own():
    for name, value in re.findall(r"(background|color): ([^;]+);", STYLE):
        assert value in {"inherit", "transparent"}, name
    # Lines are half grey or one of three marks, all seen on white and on black.
    assert set(re.findall(r"#\w{6}", STYLE)) == {"#d55e00", "#e69f00", "#56b4e9"}


def test_long_names_are_whole_and_escaped_and_tables_scroll():
    html = comparison()._repr_html_()
    assert "&lt;b&gt;quite&lt;/b&gt; a long name &amp; more than fits" in html
    assert 'class="skrank-scroll"' in html
    assert "Intervals (95%) and p values" in html


def test_the_numbers_of_the_table_are_those_of_the_text():
    result = comparison()
    html = re.sub(r"<[^>]+>", " ", result._repr_html_()).split()
    numbers = re.findall(r"[+-]?\d+\.\d+", str(result))
    assert len(numbers) > 8
    assert set(numbers) <= set(re.findall(r"[+-]?\d+\.\d+", " ".join(html)))


def test_steps_of_a_metric_add_up_in_the_frame():
    pytest.importorskip("pandas")
    found = metric()
    frame = found.to_frame()
    total = found.first_value + frame["change"].sum()
    assert total == pytest.approx(found.second_value)
    np.testing.assert_allclose(frame["value"].iloc[-1], found.second_value)

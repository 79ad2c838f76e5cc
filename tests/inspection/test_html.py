"""Results show themselves in notebooks: all names, in the colours of the page."""

import re

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from skrank import ListMLERanker, PMOPRanker, RankNetRanker
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


def summary():
    X, y, groups = load_mode_choice()
    return ListMLERanker(alpha=0).fit(X, y, groups).summary(X, y, groups)


def orders():
    X, y, groups = load_mode_choice()
    return ListMLERanker().fit(X, y, groups).top_k_proba(X, groups, 2)


def one_pair():
    X, y, groups = load_mode_choice()
    return RankNetRanker().fit(X, y, groups).pairwise_proba(X[:3], X[3:6])


def levels():
    X, y, groups = load_mode_choice()
    return PMOPRanker().fit(X, y, groups).expected_level(X, groups)


def pairs_of_lists():
    X, y, groups = load_mode_choice()
    return PMOPRanker().fit(X, y, groups).pairwise_proba(X[:8], groups[:8])


@pytest.mark.parametrize(
    "make",
    [
        *(comparison, description, explanation, pair, metric),
        *(summary, orders, one_pair, levels, pairs_of_lists),
    ],
)
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
    computed = metric()
    frame = computed.to_frame()
    total = computed.first_value + frame["change"].sum()
    assert total == pytest.approx(computed.second_value)
    np.testing.assert_allclose(frame["value"].iloc[-1], computed.second_value)


def test_probabilities_keep_the_rows_and_lists_of_the_user():
    pd = pytest.importorskip("pandas")
    X, y, groups = load_mode_choice()
    order = np.random.default_rng(0).permutation(len(y))
    X, y, groups = X[order], y[order], groups[order]
    names = [f"row {number}" for number in order]
    frame = pd.DataFrame(X, index=names).add_prefix("f")
    orders = ListMLERanker().fit(frame, y, groups)
    top = orders.top_k_proba(frame, groups, 1)
    probability, _ = top  # still a tuple of two
    table = top.to_frame()
    assert table.index.tolist() == names
    assert table.columns.tolist() == ["groups", "probability", "standard_error"]
    assert table["groups"].tolist() == groups.tolist()
    assert table["probability"].tolist() == probability.tolist()
    assert "row" in top._repr_html_()
    assert "828 more rows" in top._repr_html_()
    partitions = PMOPRanker().fit(frame, y, groups)
    pairs = partitions.pairwise_proba(frame, groups)
    table = pairs.to_frame()
    assert table["first"].tolist() == [names[row] for row in pairs.first]
    assert table["groups"].tolist() == groups[pairs.first].tolist()
    sums = table[["win", "tie", "lose"]].sum(axis=1)
    np.testing.assert_allclose(sums, 1.0)


def test_results_survive_pickling_with_their_labels():
    import pickle

    result = orders()
    again = pickle.loads(pickle.dumps(result))
    assert type(again) is type(result)
    assert again.to_frame().equals(result.to_frame())


def test_the_summary_shows_what_it_prints():
    result = summary()
    html = re.sub(r"<[^>]+>", " ", result._repr_html_())
    printed = re.findall(r"-?\d+\.\d+", str(result))
    assert set(printed) <= set(re.findall(r"-?\d+\.\d+", html))
    assert "clustered" in html

"""The README's code runs as pasted and prints what is shown; its links work."""

import re
from pathlib import Path

import pytest
import sklearn
from sklearn.dummy import DummyRegressor

from skrank.datasets import make_ranking
from skrank.metrics import ndcg_score

README = Path(__file__).resolve().parents[1] / "README.md"
# A block of Python, and the block of text behind it that shows what it prints.
BLOCKS = re.findall(
    r"```python\n(.*?)```\n\n```text\n(.*?)```", README.read_text("utf-8"), re.DOTALL
)
ALL_BLOCKS = re.findall(r"```python\n", README.read_text("utf-8"))


@pytest.mark.parametrize(("code", "shown"), BLOCKS)
def test_an_example_runs_as_pasted_and_prints_what_is_shown(
    code, shown, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)  # an empty folder, as a reader's
    with sklearn.config_context(enable_metadata_routing=False):
        exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out == shown


def test_every_example_shows_its_output():
    assert len(BLOCKS) == len(ALL_BLOCKS) == 4


def test_the_rankings_shown_are_far_better_than_chance():
    shown = dict(
        re.findall(r"^(NDCG[a-z ]*):? (0\.\d+)$", README.read_text("utf-8"), re.M)
    )
    assert len(shown) == 2
    X, y, groups = make_ranking(n_lists=100, random_state=0)
    # Of equal scores NDCG is the mean over all orders: what chance gives.
    chance = ndcg_score(y, DummyRegressor().fit(X, y).predict(X), groups)
    for value in shown.values():
        assert chance + (1 - chance) / 2 < float(value) < 1


def test_the_picture_is_there_and_small():
    (picture,) = re.findall(r"!\[.+\]\((.+)\)", README.read_text("utf-8"))
    assert 0 < (README.parent / picture).stat().st_size < 100_000


def test_linked_files_exist():
    links = re.findall(r"\]\(([^)#:]+)\)", README.read_text("utf-8"))
    assert "doc/benchmarks.md" in links
    for link in links:
        assert (README.parent / link).is_file(), link


def test_limits_name_what_takes_much_time_or_memory():
    text = README.read_text("utf-8")
    limits = text[text.rindex("\n## ") :]
    for name in ("max_tie_size", '"arithmetic"', "chains", "2 GiB", "features="):
        assert name in limits

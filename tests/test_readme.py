"""The README's code runs as it stands, and its commands are where CI looks."""

import re
from pathlib import Path

import pytest
import sklearn
from sklearn.datasets import dump_svmlight_file
from sklearn.dummy import DummyRegressor

import skrank
from skrank.datasets import make_ranking
from skrank.metrics import err_score, ndcg_score

README = Path(__file__).resolve().parents[1] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), flags=re.DOTALL)


@pytest.fixture
def in_folder_with_data(tmp_path, monkeypatch):
    """Stand in a folder with train.txt.gz, routing off before and after."""
    import gzip

    X, y, groups = make_ranking(n_lists=40, random_state=0)
    with gzip.open(tmp_path / "train.txt.gz", "wb") as file:
        dump_svmlight_file(X, y, file, query_id=groups, zero_based=False)
    monkeypatch.chdir(tmp_path)
    with sklearn.config_context(enable_metadata_routing=False):
        yield


def test_there_are_examples():
    assert len(BLOCKS) == 3
    assert "GridSearchCV" in BLOCKS[0]


@pytest.mark.parametrize("block", BLOCKS, ids=["search", "with_groups", "loss"])
def test_an_example_runs(block, in_folder_with_data, capsys):
    names = {}
    exec(compile(block, "README.md", "exec"), names)
    X, y, groups = names["X"], names["y"], names["groups"]
    # Of equal scores measures are the mean over all orders: what chance gives.
    equal = DummyRegressor().fit(X, y)
    if "search" in names:
        found = names["search"].best_score_
        chance = names["search"].scorer_(equal, X, y, groups)
    else:
        found = float(capsys.readouterr().out.removeprefix("NDCG "))
        chance = ndcg_score(y, equal.predict(X), groups)
    # At least half of the way from chance to the best order, whose NDCG is 1.
    best = 1.0 if "ndcg" in block.lower() else err_score(y, y, groups)
    assert chance + (best - chance) / 2 < found < 1


def test_the_version_is_stated_alike():
    root = README.parent
    pyproject = (root / "pyproject.toml").read_text("utf-8")
    assert f'\nversion = "{skrank.__version__}"\n' in pyproject
    assert f"version: '{skrank.__version__}'" in (root / "meson.build").read_text()


def test_linked_files_exist():
    links = re.findall(r"\]\(([^)#:]+)\)", README.read_text("utf-8"))
    assert "doc/benchmarks.md" in links
    for link in links:
        assert (README.parent / link).is_file(), link

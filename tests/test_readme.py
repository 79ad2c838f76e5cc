"""The README's code runs as it stands, and its commands are where CI looks."""

import re
from pathlib import Path

import pytest
import sklearn
from sklearn.datasets import dump_svmlight_file

import skrank
from skrank.datasets import make_ranking

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
    if "search" in names:
        assert names["search"].best_score_ > 0.2
    else:
        assert capsys.readouterr().out.startswith("NDCG 0.")


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

"""What is shipped: versions, metadata, workflows, and types seen from outside."""

import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import skrank

ROOT = Path(__file__).parents[1]
VERSION = importlib.metadata.version("skrank")


def test_the_version_stands_in_one_place():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["dynamic"] == ["version"]
    stands_in = re.search(r"  version: '(.+)',", (ROOT / "meson.build").read_text())
    assert stands_in[1] == VERSION
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"version: {VERSION}\n" in citation


def test_the_changelog_has_this_version():
    assert f"## {VERSION}" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize(
    ("schema", "pattern"),
    [
        ("vendor.github-workflows", ".github/workflows/*.yml"),
        ("vendor.citation-file-format", "CITATION.cff"),
    ],
)
def test_files_for_other_services_are_valid(schema, pattern):
    if importlib.util.find_spec("check_jsonschema") is None:
        pytest.skip("check-jsonschema is not installed (extra lint)")
    files = sorted(map(str, ROOT.glob(pattern)))
    assert files
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema]
    done = subprocess.run([*check, *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_optional_packages_of_the_table_are_extras():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(project["optional-dependencies"]) >= {
        *("plot", "test", "lint", "doc", "neural"),
        *("peers", "test-peers", "onnx", "dask"),
    }


SCRIPT = """
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import skrank
from skrank import ListMLERanker, PMOPRanker, rank_within, with_groups
from skrank import ranking_pipeline
from skrank.datasets import make_ranking
from skrank.ensemble import FusionRanker
from skrank.export import linear_formula
from skrank.interop import from_pairs
from skrank.metrics import compare_scores, ndcg_score, ndcg_scorer
from skrank.model_selection import QueryKFold, RankerCV, compare_rankers
from skrank.preprocessing import QueryScaler, SecondOrderFeatures

X, y, groups = make_ranking(30, random_state=0)
ranker = ListMLERanker(alpha=0.1).fit(X, y, groups)
reveal_type(ranker)
scores = ranker.predict(X)
reveal_type(scores)
reveal_type(ranker.score(X, y, groups))
reveal_type(ranker.predict_rank(X, groups))
reveal_type(ranker.summary(X, y, groups))
reveal_type(ranker.deviance(X, y, groups))
reveal_type(skrank.PMOPRanker(max_tie_size=4).fit(X, y, groups))
reveal_type(rank_within(scores, groups))
reveal_type(linear_formula(ranker, ["a"]).constant)
reveal_type(compare_rankers({"a": ranker}, X, y, groups, cv=QueryKFold(5)))
chosen = RankerCV(ranker, cv=QueryKFold(5), rule="best").fit(X, y, groups)
reveal_type(chosen)
reveal_type(chosen.predict(X))
reveal_type(FusionRanker([("a", ranker)]).fit(X, y, groups))
reveal_type(QueryScaler().fit(X, groups=groups))
reveal_type(SecondOrderFeatures().fit(X, y))
reveal_type(ndcg_scorer(k=10))
search = GridSearchCV(
    make_pipeline(QueryScaler(), ranker),
    {"listmleranker__alpha": [0.1, 1.0]},
    scoring=ndcg_scorer(k=10),
    cv=QueryKFold(3),
)
search.fit(X, with_groups(y, groups))
ranking_pipeline(per_list=False).fit(X, with_groups(y, groups))
names = from_pairs(["a"], ["b"]).items
"""
TYPES = [
    "skrank.linear_model._listmle.ListMLERanker",
    "numpy.ndarray[*float64*",
    "float",
    "numpy.ndarray[*",
    "skrank._probability.fit_summary.FitSummary",
    "float",
    "skrank.linear_model._pmop.PMOPRanker",
    "numpy.ndarray[*",
    "float",
    "skrank.model_selection.*RankerComparison",
    "skrank.model_selection._ranker_cv.RankerCV",
    "numpy.ndarray[*float64*",
    "skrank.ensemble._fusion.FusionRanker",
    "skrank.preprocessing._query_scaler.QueryScaler",
    "skrank.preprocessing._second_order.SecondOrderFeatures",
    "skrank.metrics._scorers.RankingScorer",
]
# Four mistakes of a user, which a checker finds only where the types reach it.
MISTAKES = """
from skrank import ListMLERanker, no_such_name
from skrank.metrics import ndcg_score

ListMLERanker(alfa=0.1)
ListMLERanker(max_iter="many")
ListMLERanker().fit([[0.0]], [1], [1]).predict([[0.0]], 1, 2)
"""


@pytest.fixture(scope="module")
def what_mypy_says(tmp_path_factory):
    """What mypy prints of the two scripts, in a folder away from the sources."""
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed (extra lint)")
    folder = tmp_path_factory.mktemp("user")
    (folder / "script.py").write_text(SCRIPT)
    (folder / "mistakes.py").write_text(MISTAKES)
    options = ["--disallow-untyped-calls", "--no-error-summary", "--cache-dir", "cache"]
    # mypy does not follow the import hook of an editable install.
    parent = Path(skrank.__file__).parents[1]
    path = {} if parent.name == "site-packages" else {"MYPYPATH": str(parent)}
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "script.py", "mistakes.py"],
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | path,
    )
    assert done.stderr == ""
    return done.stdout


def test_types_reach_a_users_script(what_mypy_says):
    assert (Path(skrank.__file__).parent / "py.typed").is_file()
    errors = re.findall(r"^script\.py:.+: error: (.+)", what_mypy_says, re.M)
    assert [error for error in errors if '"sklearn' not in error] == []
    revealed = re.findall(r'Revealed type is "(.+)"', what_mypy_says)
    for shown, expected in zip(revealed, TYPES, strict=True):
        pattern = re.escape(expected).replace(r"\*", ".*")
        assert re.fullmatch(pattern, shown), (shown, expected)


def test_types_show_mistakes_of_a_user(what_mypy_says):
    lines = re.findall(r"^mistakes\.py:(\d+): error:", what_mypy_says, re.M)
    assert lines == ["2", "5", "6", "7"], what_mypy_says

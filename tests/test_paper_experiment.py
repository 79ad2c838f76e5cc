"""The script of the PMOP paper's experiment: its readings, fits and tables."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.preprocessing import StandardScaler

from skrank import (
    DavidsonRanker,
    ListMLERanker,
    PMOPRanker,
    RankNetRanker,
    RankRegressionRanker,
)
from skrank.datasets import load_letor, make_ranking
from skrank.metrics import compare_scores, err_score, ndcg_score
from skrank.model_selection import QueryShuffleSplit

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def script():
    """Return the module of the script, whose neighbours are beside it."""
    if not (BENCHMARKS / "paper_experiment.py").exists():
        pytest.skip("the benchmarks are not beside the tests")
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import paper_experiment

        yield paper_experiment
    finally:
        sys.path.remove(str(BENCHMARKS))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return two files of 30 lists."""
    folder = tmp_path_factory.mktemp("files")
    X, y, groups = make_ranking(
        60, list_size=(2, 9), n_features=4, n_informative=2, random_state=1
    )
    paths = []
    for number in range(2):
        rows = groups // 30 == number
        paths.append(str(folder / f"S{number}.txt"))
        dump_svmlight_file(
            np.round(X[rows], 3), y[rows], paths[-1], query_id=groups[rows],
            zero_based=False,
        )  # fmt: skip
    return paths


@pytest.fixture
def do(script, capsys):
    def do(*arguments):
        script.main(["-q", *map(str, arguments)])
        printed = capsys.readouterr()
        assert max(map(len, printed.out.splitlines())) <= 88
        return printed.out

    return do


def test_the_script_uses_public_names_alone():
    for path in BENCHMARKS.glob("paper_*.py"):
        imports = re.findall(r"^\s*(?:from|import) (skrank\S*)", path.read_text(), re.M)
        assert imports or path.name == "paper_tables.py"
        assert not [name for name in imports if "._" in name]


def test_the_names_of_the_paper_follow_its_words(script):
    of_paper = script.OF_PAPER
    for name in ("Rank Regress", "RankNet", "Ranking SVM", "PairTies-D", "PairTies-RK"):
        assert of_paper[name].normalize is None
    assert of_paper["Rank Regress"].differences == "margin"
    for name in ("PMOP-Gibbs", "PMOP-MH"):
        chain = of_paper[name]
        assert (chain.batch_size, chain.max_updates, chain.average) == (1, 1000, 0.0)
    args = script.options().parse_args([])
    for ranker in script.rankers_of(args).values():
        ranker = getattr(ranker, "ranker", ranker)
        assert ranker.alpha == 0.0
    assert args.ftol_of == "loss"


@pytest.mark.parametrize(
    "ranker",
    [
        RankNetRanker(normalize=None),
        RankNetRanker(normalize="size"),
        RankRegressionRanker("labels", normalize=None),
        DavidsonRanker(normalize=None),
        ListMLERanker("efron"),
        PMOPRanker("geometric"),
    ],
    ids=str,
)
def test_the_paper_s_rule_for_stopping_leads_to_the_same_optimum(script, ranker):
    X, y, groups = make_ranking(40, n_features=3, n_informative=2, random_state=0)
    expected = ranker.set_params(alpha=0.3, tol=1e-9).fit(X, y, groups).coef_
    ranker = ranker.set_params(ftol=0.0, max_iter=500)
    fitted = script.PaperFit(ranker).fit(X, y, groups)
    # SciPy's own tolerance is 1e-5 of a sum over 40 lists with a penalty of 0.3 each.
    np.testing.assert_allclose(fitted.coef_, expected, atol=1e-6)
    np.testing.assert_allclose(fitted.predict(X), X @ expected, atol=1e-4)


def test_a_larger_share_of_the_loss_stops_earlier(script):
    X, y, groups = make_ranking(40, n_features=10, random_state=0)
    steps = [
        script.PaperFit(RankNetRanker(ftol=ftol, max_iter=100))
        .fit(X, y, groups)
        .n_iter_
        for ftol in (1e-1, 1e-3, 1e-5)
    ]
    assert steps == sorted(steps)
    assert steps[0] < steps[-1]


def test_numbers_equal_a_loop_by_hand(script, do, files):
    out = do(
        *files[:1], "--test", files[1], "--only", "RankNet", "--ftol-of", "decrease"
    )
    (X, y, groups), (X_test, y_test, groups_test) = load_letor(files)
    scaler = StandardScaler().fit(X)
    stop = {"alpha": 0.0, "ftol": 1e-5, "max_iter": 100}
    columns = {}
    largest = max(y.max(), y_test.max())
    for name, ranker in (
        ("RankNet", RankNetRanker(normalize=None, **stop)),
        ("ListMLE, Efron", ListMLERanker("efron", **stop)),
    ):
        scores = ranker.fit(scaler.transform(X), y, groups).predict(
            scaler.transform(X_test)
        )
        columns[name] = [
            err_score(y_test, scores, groups_test, max_grade=largest, average=None),
            *(
                ndcg_score(y_test, scores, groups_test, k=k, average=None)
                for k in (1, 5, 10)
            ),
        ]
        (line,) = re.findall(rf"^{name} +first order.* 0\.\d+.*", out, re.MULTILINE)
        means = [f"{np.nanmean(values):.4f}" for values in columns[name]]
        assert re.findall(r"0\.\d{4}", line) == means
    one = compare_scores(
        columns["RankNet"][-1], columns["ListMLE, Efron"][-1], random_state=0
    )
    (line,) = re.findall(r"^RankNet +first order +([+-].*)", out, re.MULTILINE)
    ends = [one.difference, one.low, one.high]
    digits = [1 if abs(value) < 0.1 else 0 for value in ends]
    expected = [f"{1e3 * v:+.{d}f}" for v, d in zip(ends, digits, strict=True)]
    assert re.findall(r"[+-][\d.]+", line) == expected


def test_folds_join_to_one_value_a_list_each_tested_once(script, do, files):
    out = do(*files, "--cv", "files", "--only", "RankNet", "--second-order", 0.1)
    assert "2 folds: each file by what the others taught" in out
    assert re.search(
        r'Products kept for "\+ raw", of 10, fold by fold: \d+, \d+\.', out
    )
    rows = [line for line in out.splitlines() if line.startswith("RankNet  ")]
    assert len(rows) == 3  # what it is here, means, and differences
    assert "+ centred" in out


def test_a_tenth_of_the_lists_is_ranked_on_request(script, files):
    args = script.options().parse_args([files[0], "--split", "0.9"])
    X, y, groups, folds, text = script.data_and_folds(args)
    ((_, test),) = folds
    assert text["Test"] == "10% of the lists, drawn once"
    splitter = QueryShuffleSplit(1, train_size=0.9, random_state=0)
    expected = next(splitter.split(X, y, groups))[1]
    np.testing.assert_array_equal(test, expected)
    assert len(np.unique(groups[test])) == 3


def test_warnings_that_the_protocol_causes_are_said_in_its_words(script):
    text = "RankNetRanker stopped before it converged, after 100 iterations (...)"
    assert script.neutral(text) == (
        "Ended at the limit of 100 iterations, before its rule for stopping was met."
    )
    assert script.neutral("something else") == "something else"

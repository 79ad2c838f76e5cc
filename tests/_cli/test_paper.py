"""The command on products of features and several files, and the paper's experiment."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from sklearn.preprocessing import StandardScaler

import skrank
from skrank import ListMLERanker, RankNetRanker, RankSVMRanker
from skrank._cli import paper
from skrank._cli.main import main
from skrank.datasets import load_letor, make_ranking
from skrank.metrics import compare_scores, err_score, ndcg_score
from skrank.model_selection import QueryKFold
from skrank.preprocessing import SecondOrderFeatures


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Three files of 20 lists; a product of two features matters."""
    folder = tmp_path_factory.mktemp("files")
    X, y, groups = make_ranking(
        60, list_size=(2, 12), n_features=4, n_informative=2, random_state=1
    )
    X = 3 * np.round(X, 3) + 1
    y = y + (X[:, 0] * X[:, 1] > 6)
    paths = []
    for number in range(3):
        rows = groups // 20 == number
        paths.append(str(folder / f"S{number}.txt"))
        dump_svmlight_file(
            X[rows], y[rows], paths[-1], query_id=groups[rows], zero_based=False
        )
    return paths


def tables_of(printed):
    """Return the lines of each table below its head: measures, times, differences."""
    found = []
    for block in printed.split("\n\n"):
        head, *lines = block.splitlines()
        if head.startswith("ranker "):
            assert set(lines[0]) == {"-"}
            found.append(lines[1:])
    return found


def rows_of(lines, ranker):
    """Return what stands behind a ranker's name, in as many lines as it has."""
    names = [line[:22].strip() for line in lines]
    first = names.index(ranker)
    rest = names[first + 1 :]
    last = next((i for i, name in enumerate(rest) if name), len(rest)) + first + 1
    return [line[22:] for line in lines[first:last]]


def numbers(text):
    return re.findall(r"[+-]?\d+\.\d+", re.sub(r"\[\d+\]", "", text))


def feature_sets(with_mean):
    return {
        "first order": StandardScaler(with_mean=with_mean),
        "+ centred": SecondOrderFeatures(0.1),
        "+ raw": SecondOrderFeatures(0.1, center=False),
    }


def values_by_hand(ranker, transformer, folds, metric, **options):
    """Return one value a list, over folds of (train, test) triples."""
    values = {}
    for (X, y, groups), (X_test, y_test, groups_test) in folds:
        made = transformer.fit(X, y)
        ranker.fit(made.transform(X), y, groups)
        scores = ranker.predict(made.transform(X_test))
        of_list = metric(y_test, scores, groups_test, average=None, **options)
        values |= dict(zip(np.unique(groups_test), of_list, strict=True))
    return np.array([values[group] for group in sorted(values)])


def joined(tables):
    X, y, groups = zip(*tables, strict=True)
    X = sparse.vstack(X, format="csr") if sparse.issparse(X[0]) else np.concatenate(X)
    return X, np.concatenate(y), np.concatenate(groups)


def each_file(tables):
    """Return (train, test) triples in which each file is the test once."""
    return [
        (joined(tables[:i] + tables[i + 1 :]), tables[i]) for i in range(len(tables))
    ]


@pytest.mark.parametrize(
    ("alpha", "options", "each"),
    [(0, (), True), (2, ("--alpha", 2, "--sparse"), True), (0, (), False)],
)
def test_numbers_of_the_paper_equal_a_hand_written_loop(
    run, files, alpha, options, each
):
    is_sparse = "--sparse" in options
    parts = (*files, "--cv", "files") if each else (*files[:2], "--test", files[2])
    out = run(*parts, "--paper", "--second-order", 0.1, *options)
    assert f"Fits      alpha: {alpha}; L-BFGS" in out
    text = "each file is ranked by what was learned from the others"
    assert (text in out) == each
    tables = load_letor(files, sparse=is_sparse)
    largest = max(y.max() for _, y, _ in tables)
    folds = each_file(tables) if each else each_file(tables)[2:]
    stop = {"alpha": alpha, "ftol": 1e-5, "max_iter": 100}
    measures, _, differences = tables_of(out)
    for name, ranker in (
        ("RankNet", RankNetRanker(**stop)),
        ("Ranking SVM", RankSVMRanker("linear", **stop)),
    ):
        lines = rows_of(measures, name)
        values, bases = {}, {}
        for features, transformer in feature_sets(not is_sparse).items():
            err = values_by_hand(
                ranker, transformer, folds, err_score, max_grade=largest
            )
            ndcg = {
                k: values_by_hand(ranker, transformer, folds, ndcg_score, k=k)
                for k in (1, 5, 10)
            }
            means = [err, *ndcg.values()]
            line = lines.pop(0)
            assert line.startswith(features)
            assert numbers(line) == [f"{np.nanmean(each):.4f}" for each in means]
            values[features] = ndcg[10]
            bases[features] = values_by_hand(
                ListMLERanker("efron", **stop), transformer, folds, ndcg_score, k=10
            )
        for features, line in zip(values, rows_of(differences, name), strict=True):
            others = [bases[features]]
            if features != "first order":
                others.insert(0, values["first order"])
            found = [
                compare_scores(values[features], other, random_state=0)
                for other in others
            ]
            expected = [
                f"{1e3 * value:+.1f}" if abs(value) < 0.1 else f"{1e3 * value:+.0f}"
                for one in found
                for value in (one.difference, one.low, one.high)
            ]
            assert re.findall(r"[+-]\d[\d.]*", line) == expected


def test_every_name_of_the_paper_has_its_ranker_and_rows(run, files):
    out = run(files[0], "--test", files[1], "--paper", "--second-order")
    for name, ranker in paper.paper_rankers(None, 1, 0).items():
        (text,) = re.findall(rf"^{re.escape(name)} +(\w+\(.*\))$", out, re.MULTILINE)
        settings = eval(text, vars(skrank))  # as a user would write it
        stop = {"alpha": 0.0, "n_jobs": 1}
        if "inference" not in text:
            stop |= {"ftol": 1e-5, "max_iter": 100}
        if "random_state" in ranker.get_params():
            stop["random_state"] = 0
        assert repr(settings.set_params(**stop)) == repr(ranker)
        measures, times, differences = tables_of(out)
        assert [len(numbers(row)) for row in rows_of(measures, name)] == [4] * 3
        assert [len(numbers(row)) for row in rows_of(times, name)] == [3]
        assert len(rows_of(differences, name)) == 3


def test_the_first_order_alone_has_a_row_a_ranker(run, files):
    out = run(files[0], "--paper", "--cv", 2)
    tables = tables_of(out)
    assert len(tables) == 3
    for lines in tables:
        assert len(lines) == len(paper.OF_PAPER | paper.BESIDE)
    assert "+ raw" not in out
    assert "kept" not in out
    (reference,) = [line for line in tables[2] if line.startswith("ListMLE, Efron")]
    assert reference.split()[2:] == ["-"]


def test_another_measure_has_a_column_and_the_differences(run, files):
    out = run(files[0], "--test", files[1], "--paper", "--metric", "err@3")
    assert "Differences of ERR@3 in thousandths" in out
    assert "NDCG@10   ERR@3" in out


def kept(splits, X, y, **options):
    counts = [
        len(SecondOrderFeatures(0.1, **options).fit(X[train], y[train]).pairs_)
        for train, _ in splits
    ]
    return ", ".join(map(str, counts))


def test_products_kept_are_counted_fold_by_fold(run, files):
    X, y, groups = load_letor(files[0])
    splitter = QueryKFold(3, shuffle=True, random_state=0)
    splits = list(splitter.split(X, y, groups))
    out = run(files[0], "--cv", 3, "--paper", "--second-order", 0.1)
    for features, center in (("+ centred", True), ("+ raw", False)):
        line = f'kept for "{features}", of 10, fold by fold: '
        assert f"{line}{kept(splits, X, y, center=center)}.\n" in out
    out = run(files[0], "--cv", 3, "--second-order", 0.1)
    assert f"Products kept, of 10, fold by fold: {kept(splits, X, y)}.\n" in out


@pytest.mark.parametrize("standardize", [True, False])
def test_products_stand_in_the_ordinary_comparison(run, files, standardize):
    options = () if standardize else ("--no-standardize",)
    out = run(files[0], "--test", files[1], "--second-order", 0.1, *options)
    folds = [tuple(load_letor(files[:2]))]
    transformer = SecondOrderFeatures(0.1, standardize=standardize)
    values = values_by_hand(RankNetRanker(), transformer, folds, ndcg_score, k=10)
    (line,) = re.findall(r"^RankNetRanker\(\) .*", out, flags=re.MULTILINE)
    assert numbers(line)[3] == f"{np.nanmean(values):.4f}"
    assert "products of two centred ones" in " ".join(out.split())
    assert "above 0.1\n" in out


def test_nothing_kept_is_a_count_of_0(run, files):
    out = run(files[0], "--test", files[1], "--second-order", 0.99)
    assert "Products kept, of 10: 0.\n" in out


def test_products_that_do_not_fit_into_memory_are_told(files, monkeypatch, capsys):
    def too_large(self, X):
        raise MemoryError

    monkeypatch.setattr(SecondOrderFeatures, "transform", too_large)
    with pytest.raises(SystemExit) as stop:
        main(["-q", files[0], "--second-order"])
    assert stop.value.code == 2
    assert capsys.readouterr().err == (
        "skrank: error: the products do not fit into memory; raise --second-order\n"
    )


def test_several_files_are_joined(run, files, tmp_path):
    together = tmp_path / "all.txt"
    together.write_text("".join(Path(path).read_text() for path in files))
    apart = run(*files, "--cv", 3)
    one = run(together, "--cv", 3)
    assert "60 lists" in apart
    assert without_times(apart) == without_times(one)


def without_times(out):
    table = out.split("\n\n")[2].splitlines()
    return [line.rsplit(None, 1)[0] for line in table]


def test_lists_of_more_than_one_file_are_counted(run, files):
    text = "; 20 of these lists have ids that are in several files"
    assert text in " ".join(run(files[0], *files[:2], "--cv", 2).split())
    assert "several files" not in run(*files[:2], "--cv", 2)


def test_built_in_data_and_no_budget_give_dashes_with_a_reason(run):
    out = run("--lists", 20, "--paper", "--second-order", "--budget", 0)
    assert {tuple(line[22:].split()[-4:]) for line in tables_of(out)[0]} == {("-",) * 4}
    assert "over the budget of 0 s" in " ".join(out.split())
    assert "Differences" not in out


def test_an_end_at_the_limit_is_not_called_a_failure(run, files, monkeypatch):
    monkeypatch.setattr(paper, "MAX_ITER", 2)
    out = run(files[0], "--test", files[1], "--paper")
    (mark,) = re.findall(r"^\[(\d)\] Ended at 2 iterations", out, flags=re.MULTILINE)
    (row,) = re.findall(r"^RankNet .*", out.split("ranker ")[1], flags=re.MULTILINE)
    assert f"[{mark}]" in row
    assert "Raise max_iter" not in out


def test_progress_names_the_features(files, capsys):
    assert main([files[0], "--test", files[1], "--paper", "--second-order"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "fitting 1/15: Rank Regress, first order (set 1 of 3)"
    assert lines[-1] == "fitting 15/15: ListNet, + raw (set 3 of 3)"
    assert len(lines) == 45


def test_one_set_of_features_is_not_counted(files, capsys):
    assert main([files[0], "--test", files[1], "--paper"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "fitting 1/15: Rank Regress, first order"


def test_a_set_without_products_is_one_sentence_and_no_rows(run, files):
    alone = run(files[0], "--test", files[1], "--paper")
    out = run(files[0], "--test", files[1], "--paper", "--second-order", 0.99)
    for name in ("+ centred", "+ raw"):
        said = f'"{name}" is left out: no product is kept, so it is first order.'
        assert said in out.splitlines()
    assert "Products kept" not in out
    found, expected = tables_of(out), tables_of(alone)
    assert [found[0], found[2]] == [expected[0], expected[2]]
    assert len(found[1]) == len(expected[1])
    # 0.4 leaves one kind of products, in some folds.
    out = run(files[0], "--cv", 3, "--paper", "--second-order", 0.4)
    assert '"+ centred" is left out: no product is kept in any fold, so' in out
    assert 'Products kept for "+ raw"' in out
    for lines in tables_of(out):
        assert not any("+ centred" in line for line in lines)


def test_without_folds_none_are_spoken_of(run, files, monkeypatch):
    monkeypatch.setattr(paper, "MAX_ITER", 2)
    out = run(files[0], "--test", files[1], "--paper")
    assert "Ended at 2 iterations, as the paper's do." in out
    assert "Seconds of a fit." in out
    assert "fold" not in out
    folds = run(files[0], "--cv", 2, "--paper")
    assert "Ended at 2 iterations in at least one fold, as the paper's do." in folds
    assert "Seconds of a fit, median of the folds." in folds


def test_weights_that_grow_without_end_are_one_note(run, tmp_path):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(80, 2)), 3)
    path = str(tmp_path / "ordered.txt")
    y = np.argsort(np.argsort(X[:, 0].reshape(20, 4))).ravel()
    queries = np.repeat(np.arange(20), 4)
    dump_svmlight_file(X, y, path, query_id=queries, zero_based=False)
    out = run(path, "--cv", 2, "--paper")
    note = "No finite weights are best in at least one fold: they grow until the solver"
    assert out.count(note) == 1
    assert "alpha above 0" not in out

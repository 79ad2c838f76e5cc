"""The command on products of features and several files."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from skrank import RankNetRanker
from skrank._cli.main import main
from skrank.datasets import load_letor, make_ranking
from skrank.metrics import ndcg_score
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


def numbers(text):
    return re.findall(r"[+-]?\d+\.\d+", re.sub(r"\[\d+\]", "", text))


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
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["-q", files[0], "--second-order"])
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

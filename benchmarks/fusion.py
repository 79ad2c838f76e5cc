"""Measure FusionRanker against its best member on sets of 500 lists and more.

``python benchmarks/fusion.py`` writes results/fusion.md. Members are ListNet and
RankNet on features scaled by list, LightGBM's ranker, and ridge regression that sees
one feature alone, mostly a bad member. The best member is the one with the highest mean
on the very lists that are compared, so chance favours it.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from families import FAMILIES, fishing
from lightgbm import LGBMRanker
from real_data import folds_of, join, mq2008
from scipy import stats
from sklearn import config_context
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from variants import ndcg_of

from skrank import ListNetRanker, RankNetRanker
from skrank._data.grouping import group_rows
from skrank.ensemble import FusionRanker
from skrank.ensemble._weights import N_FOLDS, bagged_weights, fold_of_rows
from skrank.interop import as_ranker
from skrank.preprocessing import QueryScaler

METHODS = ("scores", "ranks", "rrf", "scaled")
DRAWN = ("plain", "interactions", "tails of logs", "heavy tails", "list effects")
N_LISTS = 1000
FUSED = {
    "ListNet, RankNet": [0, 1],
    "RankNet, LightGBM": [1, 2],
    "ListNet, RankNet, LightGBM": [0, 1, 2],
    "RankNet, one feature": [1, 3],
    "LightGBM, one feature": [2, 3],
    "all four": [0, 1, 2, 3],
}
ALL = "all four"


def sets():
    """Yield names and folds."""
    yield "MQ2008", folds_of(join(mq2008()), 5)
    yield "Fishing", folds_of(fishing(), 5)
    for name in DRAWN:
        yield name, folds_of(FAMILIES[name](7, n_lists=N_LISTS), 2)


def first_column(X):
    """Return the first feature."""
    return X[:, :1]


def members():
    """Return what is fused."""
    return [
        ("ListNet", make_pipeline(QueryScaler(), ListNetRanker())),
        ("RankNet", make_pipeline(QueryScaler(), RankNetRanker())),
        ("LightGBM", as_ranker(LGBMRanker(n_jobs=1, random_state=0, verbose=-1))),
        ("one feature", make_pipeline(FunctionTransformer(first_column), Ridge())),
    ]


def columns_of(train, X, groups):
    """Return what members give each row, by method; they are fitted once for all."""
    fusion = FusionRanker(members(), "scaled", weights=None).fit(*train)
    return {
        method: fusion.set_params(method=method)._columns(X, groups)
        for method in METHODS
    }


def left_out_columns(X, y, groups):
    """Return what members fitted to other folds give, as ``weights="auto"`` does."""
    fold_of_row = fold_of_rows(group_rows(groups))
    out = {method: np.empty((len(y), len(members()))) for method in METHODS}
    for fold in range(N_FOLDS):
        test, train = fold_of_row == fold, fold_of_row != fold
        part = columns_of((X[train], y[train], groups[train]), X[test], groups[test])
        for method in METHODS:
            out[method][test] = part[method]
    return out


def values_of(folds):
    """Return NDCG@10 of the lists: of members by number, and of what is fused.

    The latter by method, members, and "equal" or "auto". The scores are those of a
    FusionRanker of these members, which change nothing for each other.
    """
    values: dict = {}
    for (X, y, groups), (X_test, y_test, groups_test) in folds:
        left_out, lists = left_out_columns(X, y, groups), group_rows(groups)
        columns = columns_of((X, y, groups), X_test, groups_test)
        scores = dict(enumerate(columns["scaled"].T))
        for method in METHODS:
            for name, chosen in FUSED.items():
                weights = bagged_weights(left_out[method][:, chosen], y, lists)
                part = columns[method][:, chosen]
                scores[method, name, "equal"] = part.sum(axis=1)
                scores[method, name, "auto"] = part @ weights
        for key, fused in scores.items():
            values.setdefault(key, []).append(ndcg_of(y_test, fused, groups_test))
    return {key: np.concatenate(parts) for key, parts in values.items()}


def best_of(values, name):
    """Return the number of the best member."""
    return max(FUSED[name], key=lambda number: values[number].mean())


def cell(difference):
    """Return mean and standard error in thousandths."""
    error = difference.std(ddof=1) / len(difference) ** 0.5
    return f"{1e3 * difference.mean():+.1f} ({1e3 * error:.1f})"


def row_of(cells):
    """Return a row of a table in Markdown."""
    return f"| {' | '.join(cells)} |"


def rows_of_set(data, values):
    """Yield rows of the first table."""
    names = [name for name, _ in members()]
    for name, chosen in FUSED.items():
        best = best_of(values, name)
        cells = [data, str(len(values[best])), name, names[best]]
        cells.append(f"{values[best].mean():.4f}")
        worst = min(chosen, key=lambda number: values[number].mean())
        cells.append(cell(values[worst] - values[best]))
        for weights in ("equal", "auto"):
            cells.append(cell(values["scores", name, weights] - values[best]))
        yield row_of(cells)


def row_of_methods(data, values):
    """Return a row of the second table."""
    best = values[best_of(values, ALL)]
    cells = [
        cell(values[method, ALL, weights] - best)
        for method in METHODS
        for weights in ("equal", "auto")
    ]
    return row_of([data, *cells])


def p_values(values):
    """Return two-sided p values of rows of both tables that lie below the best."""
    keys = {(method, ALL) for method in METHODS} | {("scores", n) for n in FUSED}
    gaps = [
        values[method, name, "auto"] - values[best_of(values, name)]
        for method, name in sorted(keys)
    ]
    return [
        stats.ttest_1samp(gap, 0.0).pvalue if gap.any() else 1.0
        for gap in gaps
        if gap.mean() <= 0
    ], len(gaps)


def page(results):
    """Return the lines of the page."""
    lines = [
        "# Fused rankings beside their best member",
        "",
        "`python benchmarks/fusion.py`; thousandths of NDCG@10 above or below the best "
        "member, in brackets paired standard errors. First the default method, "
        '"scores", by members, with equal weights and with `weights="auto"`, the '
        "default.",
        "",
    ]
    head = ["set", "lists", "members", "best", "NDCG@10", "worst member"]
    head += ["equal weights", 'weights="auto"']
    lines += [row_of(head), row_of(["---"] * len(head))]
    for data, values in results.items():
        lines += rows_of_set(data, values)
    head = [f"{m}, {w}" for m in METHODS for w in ("equal", "auto")]
    lines += ["", "All four members, by method:", ""]
    lines += [row_of(["set", *head]), row_of(["---"] * (len(head) + 1))]
    lines += [row_of_methods(data, values) for data, values in results.items()]
    below, n = [], 0
    for values in results.values():
        p, count = p_values(values)
        below, n = below + p, n + count
    means = [
        1e3 * np.mean(values["scores", name, "auto"] - values[best_of(values, name)])
        for values in results.values()
        for name in FUSED
    ]
    return [
        *lines,
        "",
        f'With `weights="auto"` and "scores" the mean of {len(means)} rows is '
        f"{np.mean(means):+.1f}, the least {min(means):+.1f}. Of all {n} comparisons "
        f"with the best member {sum(p < 0.05 for p in below)} are below it with a "
        f"two-sided p under 0.05; by Holm's method the smallest p is "
        f"{min(1.0, n * min(below)):.2g}.",
    ]


def main():
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parent / "results/fusion.md"
    )
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    results = {}
    with config_context(enable_metadata_routing=True):
        for data, folds in sets():
            results[data] = values_of(folds)
            print(data, flush=True)
    arguments.output.write_text("\n".join([*page(results), ""]), encoding="utf-8")


if __name__ == "__main__":
    main()

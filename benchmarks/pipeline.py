"""Measure ``ranking_pipeline()`` against tuned ridge regression on many sets.

``python benchmarks/pipeline.py`` writes results/defaults/pipeline.md. The reference is
ridge regression on features scaled by list, its alpha chosen from 1, 10, ..., 10,000 by
folds of whole lists of the training part. Real sets are cut into five folds of whole
lists, several times anew (MQ2008 keeps its own folds); a list counts once, by its mean
over the cuts. Each family of drawn lists is drawn several times and cut in two.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from defaults import holm, interval
from families import drawn_sets, fishing
from real_data import (
    folds_of,
    lightgbm_example,
    mslr_sample,
    trec_news,
    validation_folds,
)
from scipy import stats
from variants import Fold, TunedRidge, Variant

from skrank import ranking_pipeline

REFERENCE = Variant("ridge, tuned", "by list", TunedRidge())
PIPELINE = Variant("ranking_pipeline()", None, ranking_pipeline())


def by_list(folds):
    """Return the difference of each list, the mean over the folds that hold it."""
    found: dict = {}
    for number, (train, test) in enumerate(folds):
        fold = Fold(train, test)
        difference = PIPELINE.values(fold) - REFERENCE.values(fold)
        keys = np.unique(test[2]).tolist()
        for key, value in zip(keys, difference, strict=True):
            found.setdefault(key, []).append(value)
        print(f"fold {number + 1} of {len(folds)}", flush=True)
    return np.array([np.mean(values) for values in found.values()])


def of_draws(folds, n_draws):
    """Return the differences of the lists of several draws, which share labels."""
    size = len(folds) // n_draws
    return np.concatenate(
        [by_list(folds[i * size : (i + 1) * size]) for i in range(n_draws)]
    )


def main():
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cuts", type=int, default=2)
    parser.add_argument("--draws", type=int, default=2)
    arguments = parser.parse_args()
    parts = {
        "LightGBM": lightgbm_example()[0],
        "MSLR": mslr_sample()[0],
        "TREC News": trec_news()[0],
        "Fishing": fishing(),
    }
    differences = {"MQ2008": by_list(validation_folds()["MQ2008"])}
    for name, data in parts.items():
        cuts = [folds_of(data, 5, seed) for seed in range(arguments.cuts)]
        differences[name] = by_list([fold for cut in cuts for fold in cut])
    for name, folds in drawn_sets(arguments.draws).items():
        differences[name] = of_draws(folds, arguments.draws)
    lines = [
        "# ranking_pipeline() against tuned ridge regression, features scaled by list",
        "",
        f"`python benchmarks/pipeline.py --cuts {arguments.cuts} --draws "
        f"{arguments.draws}`; thousandths of NDCG@10, paired by list.",
        "",
        "| set | lists | difference | standard error | p |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, values in differences.items():
        error = 1e3 * values.std(ddof=1) / len(values) ** 0.5
        p = stats.ttest_1samp(values, 0.0).pvalue
        lines.append(
            f"| {name} | {len(values)} | {1e3 * values.mean():+.1f} | {error:.1f} | "
            f"{p:.2g} |"
        )
    every = list(differences.values())
    for label, chosen in (("all", every), ("real", every[:5]), ("drawn", every[5:])):
        low, high = 1e3 * interval(chosen, np.random.default_rng(0))
        mean = 1e3 * np.mean([values.mean() for values in chosen])
        lines.append(
            f"\nMean over {label} sets {mean:+.1f}, 90 % interval (lists resampled "
            f"inside sets) {low:+.1f} to {high:+.1f}; smallest p of a set below the "
            f"reference, by Holm: {holm(chosen):.2g}."
        )
    path = Path(__file__).parent / "results/defaults/pipeline.md"
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    print(path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()

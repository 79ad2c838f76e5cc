"""Trials behind the defaults: every variant tried, with its paired standard error.

``python benchmarks/defaults.py`` writes results/defaults.md. Each row is a variant,
each column a set: the mean of NDCG@10 (0 where no row is relevant) less that of the
reference, in thousandths, and in brackets the standard error of the paired differences
over lists. The reference is ridge regression on features scaled by list, its alpha
chosen from 1, 10, ..., 10,000 by five folds of whole lists of the training part. Parts
are those of doc/defaults.md: no test list is looked at.
"""

from __future__ import annotations

import argparse
import shlex
import time
from pathlib import Path

import numpy as np
from families import drawn_sets, real_sets
from scipy import stats
from variants import QUESTIONS, REFERENCE, Fold, TunedRidge, Variant

N_RESAMPLES = 2000


def interval(differences, rng):
    """Return a 90 % interval of the mean over sets, lists resampled inside sets."""
    means = np.zeros(N_RESAMPLES)
    for values in differences:
        draws = rng.integers(len(values), size=(N_RESAMPLES, len(values)))
        means += values[draws].mean(axis=1) / len(differences)
    return np.quantile(means, [0.05, 0.95])


def holm(differences):
    """Return the smallest p value of sets below the reference, by Holm's method."""
    p = [stats.ttest_1samp(v, 0.0).pvalue if v.any() else 1.0 for v in differences]
    return min(
        [1.0]
        + [
            min(1.0, p[j] * (len(p) - place))
            for place, j in enumerate(np.argsort(p))
            if differences[j].mean() < 0
        ]
    )


def table_of(variants, sets, reference, progress):
    """Return the rows of a table in Markdown, and how long each variant took."""
    values: dict[str, list] = {}
    for name, folds in sets.items():
        for fold in folds:
            for variant in variants:
                begun = time.process_time()
                of_lists = variant.values(fold)
                progress(variant, time.process_time() - begun)
                values.setdefault(variant.label, []).append((name, of_lists))
    rng = np.random.default_rng(0)
    header = ["variant", *sets, "mean", "90 % interval", "p of the worst set"]
    rows = [header, ["---"] * len(header)]
    for label, parts in values.items():
        differences = []
        for name in sets:
            own = np.concatenate([v for n, v in parts if n == name])
            differences.append(own - reference[name])
        cells = [
            f"{1e3 * d.mean():+.1f} ({1e3 * d.std(ddof=1) / len(d) ** 0.5:.1f})"
            for d in differences
        ]
        low, high = 1e3 * interval(differences, rng)
        mean = 1e3 * np.mean([d.mean() for d in differences])
        rows.append(
            [
                *(label.replace(" | ", ", "), *cells, f"{mean:+.1f}"),
                *(f"{low:+.1f} to {high:+.1f}", f"{holm(differences):.2g}"),
            ]
        )
    return ["| " + " | ".join(row) + " |" for row in rows]


def command(question, arguments):
    """Return the command that writes the page of a question."""
    words = ["python", "benchmarks/defaults.py", "--questions", question]
    for name, values in (("--sets", arguments.sets), ("--only", arguments.only)):
        words += [name, *values] if values else []
    return shlex.join(words)


def main():
    """Write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", nargs="*", default=list(QUESTIONS))
    parser.add_argument("--sets", nargs="*", default=None)
    parser.add_argument("--only", nargs="*", help="parts of names of variants")
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parent / "results/defaults"
    )
    arguments = parser.parse_args()
    sets = {**real_sets(), **drawn_sets()}
    chosen = arguments.sets or list(sets)
    sets = {name: [Fold(*f) for f in sets[name]] for name in chosen}
    begun = time.process_time()
    reference = {}
    for name, folds in sets.items():
        ridge = Variant("ridge, tuned", "by list", TunedRidge())
        reference[name] = np.concatenate([ridge.values(fold) for fold in folds])
    arguments.output.mkdir(parents=True, exist_ok=True)
    for question in arguments.questions:
        seconds: dict[str, float] = {}

        def progress(variant, spent, seconds=seconds):
            seconds[variant.label] = seconds.get(variant.label, 0.0) + spent

        variants = [
            one
            for one in QUESTIONS[question]()
            if not arguments.only or any(part in one.label for part in arguments.only)
        ]
        lines = [
            f"# Trials of defaults: {question}",
            "",
            f"`{command(question, arguments)}`; thousandths of NDCG@10 less those of "
            f"'{REFERENCE.replace(' | ', ', ')}', in brackets paired standard errors.",
            "",
            "| set | " + " | ".join(sets) + " |",
            "| --- |" + " --- |" * len(sets),
            "| reference | "
            + " | ".join(f"{reference[name].mean():.4f}" for name in sets)
            + " |",
            "| lists | "
            + " | ".join(str(len(reference[name])) for name in sets)
            + " |",
            "",
            *table_of(variants, sets, reference, progress),
            "",
        ]
        path = arguments.output / f"{question}.md"
        path.write_text("\n".join(lines), encoding="utf-8")
        slowest = sorted(seconds, key=seconds.get)[-3:]
        print(
            question,
            f"{time.process_time() - begun:.0f} s of processor time; slowest:",
            ", ".join(f"{label} {seconds[label]:.0f} s" for label in slowest),
            flush=True,
        )


if __name__ == "__main__":
    main()

"""Measure ``ranking_pipeline()``, and what else was tried, on sets cut many times.

``python benchmarks/pipeline.py`` writes results/defaults/pipeline.md. With ``members``
it writes members.md, trials of members and features, and with ``insurances``
insurances.md, what was tried to lose on no set. The reference is ridge regression on
features scaled by list, its alpha chosen from 1, 10, ..., 10,000 by folds of whole
lists of the training part. Real sets are cut into five folds of whole lists, several
times anew; a list counts once, by its mean over the cuts. Each family of drawn lists is
drawn several times and cut in two; a list of a draw counts once.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from defaults import holm, interval
from families import drawn_sets, fishing
from real_data import folds_of, join, lightgbm_example, mq2008, mslr_sample, trec_news
from scipy import stats
from variants import Fold, TunedRidge, Variant, of_insurances, of_members

from skrank import ranking_pipeline

REFERENCE = Variant("ridge, tuned", "by list", TunedRidge())
RESULTS = Path(__file__).parent / "results/defaults"
N_REAL = 5
N_SPLITS = 5
EXPLAINED = (
    "The interval resamples lists inside sets. p of the worst set: the smallest p "
    "value (two-sided) of a set below the reference, by Holm's method over sets."
)
MEASURES = ("mean", "90 % interval", "p of the worst set")


def real_sets():
    """Return training parts; every list of MQ2008 is in one of its folds."""
    return {
        "MQ2008": join(mq2008()),
        "LightGBM": lightgbm_example()[0],
        "MSLR": mslr_sample()[0],
        "TREC News": trec_news()[0],
        "Fishing": fishing(),
    }


def differences_of(folds, variants):
    """Return differences from the reference by variant, a pair (lists, values) a fold.

    The folds are let go one after the other, since each keeps its tables.
    """
    differences: dict[str, list] = {variant.label: [] for variant in variants}
    for train, test in folds:
        fold, keys = Fold(train, test), np.unique(test[2])
        reference = REFERENCE.values(fold)
        for variant in variants:
            differences[variant.label].append((keys, variant.values(fold) - reference))
    return differences


def by_list(parts):
    """Return the mean of each list over the folds that test it."""
    keys, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    labels, place = np.unique(keys, return_inverse=True)
    return np.bincount(place, values, len(labels)) / np.bincount(place)


def measured(arguments, variants):
    """Return the differences of lists by variant and set, and means by cut."""
    lists: dict[str, dict] = {variant.label: {} for variant in variants}
    cuts: dict[str, list] = {}
    begun = time.process_time()
    for name, data in real_sets().items():
        folds = [f for c in range(arguments.cuts) for f in folds_of(data, N_SPLITS, c)]
        for label, parts in differences_of(folds, variants).items():
            lists[label][name] = by_list(parts)
            if label == variants[0].label:
                each = [
                    by_list(parts[i : i + N_SPLITS])
                    for i in range(0, len(parts), N_SPLITS)
                ]
                cuts[name] = [values.mean() for values in each]
        print(f"{name}: {time.process_time() - begun:.0f} s", flush=True)
    for name, folds in drawn_sets(arguments.draws).items():
        size = len(folds) // arguments.draws
        for label, parts in differences_of(folds, variants).items():
            draws = [by_list(parts[i : i + size]) for i in range(0, len(parts), size)]
            lists[label][name] = np.concatenate(draws)
        print(f"{name}: {time.process_time() - begun:.0f} s", flush=True)
    return lists, cuts


def measure_of(differences):
    """Return mean, 90 % interval and the smallest p of a set below, as cells."""
    low, high = 1e3 * interval(differences, np.random.default_rng(0))
    mean = 1e3 * np.mean([values.mean() for values in differences])
    return [f"{mean:+.1f}", f"{low:+.1f} to {high:+.1f}", f"{holm(differences):.2g}"]


def with_error(values):
    """Return mean and standard error in thousandths."""
    error = values.std(ddof=1) / len(values) ** 0.5
    return f"{1e3 * values.mean():+.1f} ({1e3 * error:.1f})"


def row_of(cells):
    """Return a row of a table in Markdown."""
    return f"| {' | '.join(cells)} |"


def page(arguments, lists, cuts):
    """Return the lines of the page of the pipeline."""
    chosen, *_ = lists
    sets = lists[chosen]
    lines = [
        *head_of(
            "ranking_pipeline() against ridge regression, tuned, features by list",
            "",
            arguments,
        ),
        row_of(
            ["set", "lists", "difference (standard error)", "p", "means of the cuts"]
        ),
        row_of(["---"] * 5),
    ]
    for name, values in sets.items():
        p = stats.ttest_1samp(values, 0.0).pvalue
        means = ", ".join(f"{1e3 * mean:+.1f}" for mean in cuts.get(name, []))
        lines.append(
            row_of([name, str(len(values)), with_error(values), f"{p:.2g}", means])
        )
    kinds = {"all": slice(None), "real": slice(N_REAL), "drawn": slice(N_REAL, None)}
    lines += ["", row_of(["sets", *MEASURES]), row_of(["---"] * 4)]
    for kind, part in kinds.items():
        lines.append(row_of([kind, *measure_of(list(sets.values())[part])]))
    return [*lines, "", EXPLAINED]


def page_of_members(arguments, lists, _):
    """Return the lines of the page of members and features."""
    return [
        *head_of("Members and features of the pipeline", " members", arguments),
        "Members and weights, then the scalings of their features side by side.",
        "",
        *tried(lists),
        "",
        EXPLAINED,
    ]


def page_of_insurances(arguments, lists, _):
    """Return the lines of the page of what may help where the pipeline loses."""
    return [
        *head_of(
            "What may help where lists have scales of their own",
            " insurances",
            arguments,
        ),
        'The pipeline had the features "shrunk + shrunk logs + ranks + shared" (the '
        'first row); it now has those beside scores "by list", too (the eighth row). '
        '"ridge by list" is a fourth member that sees the latter alone.',
        "",
        *tried(lists),
        "",
        EXPLAINED,
    ]


def head_of(title, question, arguments):
    """Return the head of a page."""
    return [
        f"# {title}",
        "",
        f"`python benchmarks/pipeline.py{question} --cuts {arguments.cuts} --draws "
        f"{arguments.draws}`; thousandths of NDCG@10, paired by list. A list counts "
        "once, by its mean over the cuts; in brackets standard errors.",
        "",
    ]


def tried(lists):
    """Return the table of all variants."""
    sets = next(iter(lists.values()))
    lines = [
        row_of(["variant", *sets, *MEASURES, "mean of real"]),
        row_of(["---"] * (len(sets) + 5)),
    ]
    for label, of_sets in lists.items():
        every = list(of_sets.values())
        real = f"{1e3 * np.mean([values.mean() for values in every[:N_REAL]]):+.1f}"
        cells = [with_error(values) for values in every]
        lines.append(
            row_of([label.replace(" | ", ", "), *cells, *measure_of(every), real])
        )
    return lines


def of_pipeline():
    """Yield the pipeline."""
    yield Variant("ranking_pipeline()", None, ranking_pipeline())


PAGES = {
    "pipeline": (of_pipeline, page),
    "members": (of_members, page_of_members),
    "insurances": (of_insurances, page_of_insurances),
}


def main():
    """Write a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", nargs="?", choices=PAGES, default="pipeline")
    parser.add_argument("--cuts", type=int, default=10)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    variants, lines_of = PAGES[arguments.page]
    lines = lines_of(arguments, *measured(arguments, list(variants())))
    path = arguments.output / f"{arguments.page}.md"
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()

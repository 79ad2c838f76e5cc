"""CPU time of whole fits beside those of another version, in alternating processes.

``python benchmarks/whole_fits.py --before OTHER/bin/python`` prints the second table of
benchmarks/results/solver.md; OTHER is an environment with the version to compare with,
and the same NumPy and SciPy. Each process fits once to warm up, and its least time
counts; medians are over processes. One thread.
"""

import argparse
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse

SHARED = Path(os.environ.get("SKRANK_SHARED", Path(__file__).parents[2] / "shared"))
WIDE = "sparse 100,000 x 1,000,000"
EXAMPLE = "LightGBM's example"
SIGNAL = "100,000 x 20 with a signal"
FITS = [  # data, ranker, fits in a process
    ("300,000 x 136", "ListMLERanker", 2),
    ("300,000 x 136", "ListNetRanker", 2),
    ("300,000 x 136", "RankNetRanker", 2),
    ("300,000 x 136", "RankSVMRanker", 2),
    ("300,000 x 136", "DavidsonRanker", 1),
    ("100,000 x 20", "ListMLERanker", 6),
    ("100,000 x 20", "ListNetRanker", 6),
    ("100,000 x 20", "RankNetRanker", 6),
    ("100,000 x 20", "RankSVMRanker", 6),
    ("100,000 x 20", "RankRegressionRanker", 6),
    ("100,000 x 20", "RaoKupperRanker", 3),
    ("100,000 x 20", "DavidsonRanker", 3),
    (WIDE, "ListMLERanker", 1),
    (WIDE, "RankSVMRanker", 1),
    (EXAMPLE, "ListMLERanker", 5),
    (EXAMPLE, "RankNetRanker", 5),
    (EXAMPLE, "RankSVMRanker", 5),
    ("500 x 20", "ListMLERanker", 100),
    ("500 x 20", "RankSVMRanker", 100),
    (SIGNAL, "RankSVMRanker", 3),
]
SHARES = [0.52, 0.32, 0.13, 0.02, 0.01]  # of the labels 0 to 4


def data_of(name):
    """Return X, y and groups, drawn without a signal but for the name that says so."""
    rng = np.random.default_rng(0)
    if name == EXAMPLE:
        from skrank.datasets import load_letor

        return load_letor(SHARED / "data/lightgbm_lambdarank/train.txt.gz")
    shape = name.removeprefix("sparse ").removesuffix(" with a signal")
    n_rows, n_features = (int(part.replace(",", "")) for part in shape.split(" x "))
    if name == WIDE:
        n_stored = 50
        columns = np.sort(rng.integers(0, n_features, (n_rows, n_stored)), axis=1)
        offsets = np.arange(0, columns.size + 1, n_stored)
        X = sparse.csr_array(
            (rng.random(columns.size), columns.ravel(), offsets), (n_rows, n_features)
        )
        X.sum_duplicates()
    else:
        X = rng.standard_normal((n_rows, n_features))
    y = rng.choice(len(SHARES), size=n_rows, p=SHARES).astype(float)
    if name == SIGNAL:
        scores = X[:, :5].sum(axis=1) + 2.0 * rng.standard_normal(n_rows)
        y = np.digitize(scores, [0.0, 1.5, 3.0, 5.0]).astype(float)
    return X, y, np.arange(n_rows) // 100


def measure(name, ranker, n_fits):
    """Print the least CPU seconds of some fits, their objective and iterations."""
    import skrank.linear_model

    X, y, groups = data_of(name)
    times = []
    for _ in range(n_fits + 1):
        fitted = getattr(skrank.linear_model, ranker)(alpha=0.1)
        start = time.process_time()
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            fitted.fit(X, y, groups)
        times.append(time.process_time() - start)
    print(min(times[1:]), float(fitted.objective_), int(fitted.n_iter_))


def measured(python, name, ranker, n_fits):
    """Return what a process of another interpreter prints."""
    single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [python, __file__, "--one", name, ranker, str(n_fits)]
    output = subprocess.run(
        command, env=os.environ | single, capture_output=True, check=True, text=True
    ).stdout
    return [float(number) for number in output.splitlines()[-1].split()]


def main():
    """Print a table of all fits."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", metavar="PYTHON", help="the other interpreter")
    parser.add_argument("--pairs", type=int, default=3, help="processes of each")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        measure(*arguments.one[:2], int(arguments.one[2]))
        return
    if not arguments.before:
        parser.error("--before is needed: the interpreter of the other version")
    print("| data | ranker | before, s | now, s | ratio | iterations |")
    print("| --- | --- | --- | --- | --- | --- |")
    for fit in FITS:
        if fit[0] == EXAMPLE and not (SHARED / "data").exists():
            continue
        pythons = [arguments.before, sys.executable] * arguments.pairs
        results = np.array([measured(python, *fit) for python in pythons])
        before, now = np.median(results[::2], axis=0), np.median(results[1::2], axis=0)
        print(
            f"| {fit[0]} | {fit[1]} | {before[0]:.4f} | {now[0]:.4f} | "
            f"{now[0] / before[0]:.2f} | {before[2]:.0f} {now[2]:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()

"""Speed of `load_letor` against scikit-learn's reader, in one process."""

import io
import sys
import time

import numpy as np
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from yardstick import report

from skrank.datasets import load_letor


def letor_text(n_rows, n_features, digits, random_state=0):
    """Return a dense LETOR file with lists of 100, a third of the values 0."""
    rng = np.random.default_rng(random_state)
    X = rng.standard_normal((n_rows, n_features))
    X = X if digits is None else X.round(digits)
    X[rng.random(X.shape) < 1 / 3] = 0
    groups = np.arange(n_rows) // 100
    y = rng.choice(5, n_rows, p=[0.52, 0.32, 0.13, 0.02, 0.01])
    file = io.BytesIO()
    dump_svmlight_file(X, y, file, zero_based=False, query_id=groups)
    return file.getvalue()


def seconds(read, text, repeats):
    """Return the shortest time of a reader."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        read(io.BytesIO(text))
        times.append(time.perf_counter() - start)
    return min(times)


def rows():
    """Return (name, time over scikit-learn's, at most so much) of each measurement."""
    measured = []
    for digits in (3, 6, None):
        text = letor_text(10_000, 136, digits)
        size = len(text) / 1e6
        theirs = seconds(
            lambda file: load_svmlight_file(file, query_id=True, zero_based=False),
            text,
            3,
        )
        for sparse in (False, True):
            ours = seconds(lambda file, s=sparse: load_letor(file, sparse=s), text, 7)
            name = (
                f"load_letor {'sparse' if sparse else 'dense'}, "
                f"{'all' if digits is None else digits} digits: "
                f"{size / ours:.0f} MB/s, scikit-learn {size / theirs:.0f} MB/s"
            )
            measured.append((name, ours / theirs, 1 / 5))
    return measured


if __name__ == "__main__":
    sys.exit(report(rows()))

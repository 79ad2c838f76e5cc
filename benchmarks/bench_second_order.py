"""Choosing products of features against three products with X and forming them all.

Times are ratios in one process; memory is the peak of a process of its own. With
``--yahoo`` only the memory and the time at the size of the PMOP paper's data,
473,134 x 519 (2 GB of X).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

import numpy as np
from scipy import sparse

from skrank.preprocessing import SecondOrderFeatures

N_ROWS, N_FEATURES = 100_000, 300

# In a process of its own, without a fit before: the largest memory of a process never
# goes down again, and getrusage begins with that of the process that started it.
FIT = """
import sys, time
import numpy as np
from skrank.preprocessing import SecondOrderFeatures

def status(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(name))

n_rows, n_features = map(int, sys.argv[1:])
rng = np.random.default_rng(0)
X = np.empty((n_rows, n_features))
for start in range(0, n_rows, 10_000):
    rng.standard_normal(out=X[start : start + 10_000])
y = rng.integers(0, 5, n_rows) + 0.6 * X[:, 0] * X[:, 1]
products = SecondOrderFeatures(include_first=False)
before = status("VmRSS")
start = time.perf_counter()
products.fit(X, y)
print(time.perf_counter() - start, 1024 * (status("VmHWM") - before))
"""


def drawn(n_rows, n_features):
    """Return features and labels of which one product tells something."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    return X, rng.integers(0, 5, n_rows) + 0.6 * X[:, 0] * X[:, 1]


def three_products(X):
    """Return what the target is measured in."""
    return [X.T @ X for _ in range(3)]


def form_all(X, y):
    """Return all correlations, forming the products one row of pairs at a time."""
    Z = X - X.mean(axis=0)
    y = y - y.mean()
    correlations = []
    for a in range(X.shape[1]):
        block = Z[:, a:] * Z[:, a, None]
        block -= block.mean(axis=0)
        norm = np.sqrt(np.einsum("ij,ij->j", block, block) * (y @ y))
        correlations.append(y @ block / norm)
    return np.concatenate(correlations)


def median_ratio(function, yardstick, repeats=3):
    """Return the median time of each, taking turns, as (seconds, ratio)."""
    times = np.empty((repeats, 2))
    for turn in times:
        for number, one in enumerate((function, yardstick)):
            start = time.perf_counter()
            one()
            turn[number] = time.perf_counter() - start
    middle = np.median(times, axis=0)
    return middle[0], middle[0] / middle[1]


def peak(n_rows, n_features):
    """Return seconds of a fit, and bytes that it takes beside X."""
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FIT, str(n_rows), str(n_features)],
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
    )
    seconds, n_bytes = map(float, run.stdout.split())
    return seconds, n_bytes


def rows():
    """Return (name, time over three products, at most) of fits to dense features."""
    X, y = drawn(N_ROWS, N_FEATURES)
    measured = []
    for center in (True, False):
        products = SecondOrderFeatures(center=center)
        seconds, ratio = median_ratio(
            lambda p=products: p.fit(X, y), lambda: three_products(X)
        )
        name = f"SecondOrderFeatures(center={center}), 100,000 x 300: {seconds:.2f} s"
        measured.append((name, ratio, 2.0))
    return measured


def main():
    for name, ratio, _ in rows():
        print(f"{name}, {ratio:.2f} of three X.T @ X")
    X, y = drawn(N_ROWS, N_FEATURES)
    start = time.perf_counter()
    correlations = form_all(X, y)
    formed = time.perf_counter() - start
    n_products = len(correlations)
    print(
        f"forming all {n_products} products, a row of pairs at a time: {formed:.2f} s"
    )
    print(f"all of them at once would take {8e-9 * N_ROWS * n_products:.1f} GB")
    fitted = SecondOrderFeatures(0.0).fit(X, y)
    a, b = np.triu_indices(N_FEATURES)
    place = {pair: i for i, pair in enumerate(zip(a.tolist(), b.tolist(), strict=True))}
    chosen = [place[pair] for pair in map(tuple, fitted.pairs_.tolist())]
    error = np.abs(correlations[chosen] - fitted.correlations_).max()
    print(f"largest difference of a correlation: {error:.1e}")
    table = sparse.random_array(
        (N_ROWS, N_FEATURES), density=0.05, format="csr", rng=np.random.default_rng(0)
    )
    for center in (True, False):
        products = SecondOrderFeatures(center=center)
        seconds, ratio = median_ratio(
            lambda p=products: p.fit(table, y), lambda: three_products(table)
        )
        print(f"fit, 5% CSR, center={center}: {seconds:.2f} s, {ratio:.2f}")
    show_peak(N_ROWS, N_FEATURES)


def show_peak(n_rows, n_features):
    seconds, n_bytes = peak(n_rows, n_features)
    print(f"{n_rows} x {n_features}: fit {seconds:.1f} s, {n_bytes / 1e6:.0f} MB more")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--yahoo", action="store_true")
    if parser.parse_args().yahoo:
        show_peak(473_134, 519)
    else:
        main()

"""Peak memory of a fit above X itself, as a share of 64 MB plus 80 bytes a row."""

from __future__ import annotations

import subprocess
import sys

N_ROWS, N_FEATURES, SIZE = 1_000_000, 50, 100

# In a process of its own: the largest memory of a process never goes down again, and
# getrusage begins with that of the process that started it.
FIT = f"""
import sys
from pathlib import Path
import numpy as np
import skrank

def peak():
    fields = dict(line.split(":") for line in Path("/proc/self/status").open())
    return 1024 * int(fields["VmHWM"].split()[0])

name, kind = sys.argv[1:]
rng = np.random.default_rng(0)
X = np.empty(({N_ROWS}, {N_FEATURES}), dtype=kind)
for start in range(0, len(X), 10_000):
    X[start : start + 10_000] = rng.standard_normal((10_000, {N_FEATURES}))
y = rng.choice(5, size=len(X), p=[0.52, 0.32, 0.13, 0.02, 0.01])
groups = np.repeat(np.arange(len(X) // {SIZE}), {SIZE})
ranker = getattr(skrank, name)(max_iter=5, tol=0.1)
ranker.fit(X[:1000], y[:1000], groups[:1000])
before = peak()
ranker.fit(X, y, groups)
print(peak() - before)
"""


def rows():
    """Return (name, share of the allowance, target) of each ranker and kind of X."""
    measured = []
    for name in ("ListMLERanker", "RankNetRanker", "ListNetRanker"):
        for kind in ("float64", "float32"):
            run = subprocess.run(
                [sys.executable, "-W", "ignore", "-c", FIT, name, kind],
                capture_output=True,
                text=True,
                check=True,
                cwd="/",
            )
            share = int(run.stdout) / (64e6 + 80 * N_ROWS)
            measured.append((f"memory of a fit, {name}, {kind}", share, 1.0))
    return measured


if __name__ == "__main__":
    for name, share, target in rows():
        print(f"{name:45} {share:5.2f} of the allowance (target {target})")

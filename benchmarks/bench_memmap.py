"""A fit from a memory map: anonymous memory, and how often a pass reads each row.

`python benchmarks/bench_memmap.py --gb 8` makes a file of 8 GB, next to which a fit may
take 1.5 GB; without the option the file is small, and so is the allowance.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

N_FEATURES, SIZE, CHUNK = 136, 100, 100_000
DEFAULT_GB = 0.5
ROW_BYTES = 8 * N_FEATURES
# Of a large file: 1.5 GB of 8. What Python and its packages take counts as well.
ALLOWANCE, BASE = 1.5 / 8, 2**28

# In a process of its own, so that no memory of another benchmark is counted. Pages of
# the file are not anonymous: the system takes them back whenever it likes.
FIT = """
import sys, threading, time
from pathlib import Path
import numpy as np
import skrank
import skrank._kernels.gemv as gemv
from skrank._fit.objective import LinearObjective

path, n_features, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
n_calls, n_rows_read = 0, 0
evaluate, products = LinearObjective.__call__, gemv.gradient_then_scores

def counted(self, parameters):
    global n_calls
    n_calls += 1
    return evaluate(self, parameters)

def counted_products(*arguments):
    global n_rows_read
    X = arguments[4]
    n_rows_read += 0 if X is None else len(X)
    return products(*arguments)

def anonymous():
    for line in Path("/proc/self/status").open():
        if line.startswith("RssAnon"):
            return 1024 * int(line.split()[1])

peak, done = 0, threading.Event()

def watch():
    global peak
    while not done.wait(0.01):
        peak = max(peak, anonymous())

LinearObjective.__call__ = counted
gemv.gradient_then_scores = counted_products
X = np.memmap(path, mode="r").view(np.float64).reshape(-1, n_features)
y = np.load(path + ".labels.npy", mmap_mode="r")
groups = np.arange(len(X)) // size
watcher = threading.Thread(target=watch)
watcher.start()
began, cpu = time.perf_counter(), time.process_time()
skrank.ListMLERanker().fit(X, y, groups)
seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
done.set()
watcher.join()
print(len(X), max(peak, anonymous()), n_calls, n_rows_read, seconds, cpu)
"""


def write(path: Path, n_rows: int) -> None:
    """Write features to a file, chunk by chunk, and labels to one beside it."""
    import numpy as np

    rng = np.random.default_rng(0)
    truth = rng.standard_normal(N_FEATURES) / N_FEATURES**0.5
    y = np.empty(n_rows, dtype=np.float32)
    with path.open("wb") as file:
        for start in range(0, n_rows, CHUNK):
            X = rng.standard_normal((min(CHUNK, n_rows - start), N_FEATURES))
            noisy = X @ truth + 2.0 * rng.standard_normal(len(X))
            y[start : start + len(X)] = np.clip(np.floor(noisy), 0, 4)
            X.tofile(file)
    np.save(f"{path}.labels.npy", y)


def measured(gigabytes: float, folder: str | None = None) -> list[float]:
    """Return rows, bytes, evaluations, rows read, seconds and CPU of a fit."""
    n_rows = int(gigabytes * 1e9) // ROW_BYTES // SIZE * SIZE
    with tempfile.TemporaryDirectory(dir=folder) as made:
        free = shutil.disk_usage(made).free
        if free < 1.2 * n_rows * ROW_BYTES:
            raise SystemExit(
                f"{made} has {free / 1e9:.1f} GB left: make it a folder of a larger "
                "disk by --folder, or the file smaller by --gb."
            )
        path = Path(made) / "features"
        write(path, n_rows)
        run = subprocess.run(
            [sys.executable, "-c", FIT, str(path), str(N_FEATURES), str(SIZE)],
            capture_output=True,
            text=True,
            check=True,
            cwd="/",
        )
    return [float(number) for number in run.stdout.split()]


def as_rows(gigabytes: float, counts: list[float]) -> list[tuple]:
    """Return (name, value, target) of what was measured."""
    n_rows, peak, n_calls, n_read = counts[:4]
    allowance = max(ALLOWANCE * gigabytes * 1e9, BASE + 80 * n_rows)
    what = f"memory map of {gigabytes:g} GB"
    return [
        (f"{what}, share of the anonymous memory allowed", peak / allowance, 1.0),
        (f"{what}, reads of each row a pass", n_read / (n_rows * n_calls), 1.0),
    ]


def rows():
    """Return the rows for a file that is small enough for any machine."""
    return as_rows(DEFAULT_GB, measured(DEFAULT_GB))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gb", type=float, default=DEFAULT_GB)
    parser.add_argument("--folder", help="where to make the file")
    arguments = parser.parse_args()
    counts = measured(arguments.gb, arguments.folder)
    for name, value, target in as_rows(arguments.gb, counts):
        print(f"{name:65} {value:5.2f} (target {target})")
    n_rows, peak, n_calls, _, seconds, cpu = counts
    print(
        f"{n_rows:,.0f} rows, {peak / 1e9:.2f} GB of anonymous memory, {n_calls:.0f} "
        f"evaluations, {seconds:.0f} s, {cpu:.0f} s of CPU"
    )

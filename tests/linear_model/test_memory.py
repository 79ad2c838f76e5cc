"""Memory: maps are read where they lie, and a fit takes little beside X."""

import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

MEGABYTE = 2**20


def ranking(n_lists, size, n_features, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_lists * size, n_features)).astype(dtype)
    y = np.digitize(X[:, 0] + rng.normal(size=len(X)), [0, 1])
    return X, y, np.repeat(np.arange(n_lists), size)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("together", [True, False], ids=["together", "shuffled"])
def test_a_read_only_map_gives_the_weights_of_the_array(
    ranker, tmp_path, dtype, together
):
    X, y, groups = ranking(200, 15, 12, dtype)
    if not together:
        groups = np.random.default_rng(1).permutation(groups)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    in_memory = ranker().fit(X, y, groups)
    fitted = ranker().fit(mapped, y, groups)
    np.testing.assert_array_equal(fitted.coef_, in_memory.coef_)
    np.testing.assert_array_equal(fitted.predict(mapped), in_memory.predict(X))


# Fits cut short by a large tol end in different places.
@pytest.mark.filterwarnings("ignore:.*the objective has several optima")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("together", [True, False], ids=["together", "shuffled"])
@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_a_map_is_never_read_into_memory_whole(
    ranker, tmp_path, dtype, together, alpha
):
    X, y, groups = ranking(1500, 20, 100, dtype)
    if not together:
        groups = np.random.default_rng(1).permutation(groups)
    np.save(tmp_path / "X.npy", X)
    n_bytes = X.nbytes
    del X
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    tracemalloc.start()
    try:
        fitted = ranker(tol=1e-2, alpha=alpha).fit(mapped, y, groups)
        fitted.predict(mapped)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Vectors of 8 bytes a row, ten at once, and two blocks of at most 3 MB.
    assert peak < 80 * len(y) + 6 * MEGABYTE
    assert peak < n_bytes


FIT = """
import sys
import numpy as np
import skrank.linear_model

def status(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(name))

dtype = sys.argv[1]
rng = np.random.default_rng(0)
n_rows = 320_000 if dtype == "float64" else 640_000
X = np.empty((n_rows, 60), dtype=dtype)
rng.random(dtype=dtype, out=X)
y = rng.integers(0, 5, n_rows).astype(float)
groups = np.repeat(np.arange(n_rows // 100), 100)
shuffled = rng.permutation(groups)
def fit(ranker, groups):
    settings = {"max_iter": 2, "tol": 1.0 - 1e-9, "ftol": 1.0}
    ranker(**settings).fit(X, y, groups)
    return (status("VmHWM") - before) * 1024
before = status("VmRSS")
for name in skrank.linear_model.__all__:
    print(name, fit(getattr(skrank.linear_model, name), groups))
# What a copy of X would look like.
print("copied", fit(skrank.linear_model.ListNetRanker, shuffled))
print(n_rows, X.nbytes)
"""


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="peak memory is read from /proc"
)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_fit_takes_64_megabytes_and_80_bytes_a_row_beside_x(dtype):
    # In a process of its own: the peak of this one has been elsewhere.
    done = subprocess.run(
        [sys.executable, "-P", "-c", FIT, dtype],
        capture_output=True,
        text=True,
        check=True,
    )
    *peaks, last = (line.split() for line in done.stdout.splitlines())
    n_rows, x_bytes = map(int, last)
    allowed = 64 * MEGABYTE + 80 * n_rows
    assert x_bytes > allowed  # so that a copy is seen
    peaks = {name: int(peak) for name, peak in peaks}
    assert peaks.pop("copied") > allowed
    assert len(peaks) >= 4
    for name, peak in peaks.items():
        assert peak <= allowed, f"{name} took {peak / MEGABYTE:.0f} MB beside X"

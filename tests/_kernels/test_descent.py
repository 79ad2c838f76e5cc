"""Coordinate descent against plain loops, and against the conditions of its minimum."""

import numpy as np
import pytest
from skrank._kernels.descent import descend


def sweep(B, r, z, l1, low, high):
    """Sweep once, straight from the formula, over lists of floats."""
    n = len(z)
    for j in range(n):
        if B[j][j] <= 0:
            continue
        a = B[j][j] * z[j] - r[j]
        shrunk = max(abs(a) - l1[j], 0.0) * (1 if a > 0 else -1) / B[j][j]
        new = min(max(shrunk, low[j]), high[j])
        for k in range(n):
            r[k] += (new - z[j]) * B[j][k]
        z[j] = new


def drawn(seed, n=7):
    """Return a problem with kinks, walls, a free and a held coordinate."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n)) @ np.diag(10.0 ** rng.uniform(-1, 1, n))
    B = A.T @ A + 0.1 * np.eye(n)
    l1 = np.where(rng.random(n) < 0.7, rng.uniform(0, 5, n), 0.0)
    low = np.where(rng.random(n) < 0.4, -rng.uniform(0, 0.2, n), -np.inf)
    high = np.where(rng.random(n) < 0.4, rng.uniform(0, 0.2, n), np.inf)
    low[0], high[0] = -np.inf, np.inf
    low[1] = high[1] = 0.1
    z = np.clip(rng.normal(size=n), low, high)
    return B, 10 * rng.normal(size=n), z, l1, low, high


@pytest.mark.parametrize("seed", range(20))
def test_a_sweep_is_the_formula(seed):
    B, r, z, l1, low, high = drawn(seed)
    expected_r, expected_z = r.tolist(), z.tolist()
    sweep(B.tolist(), expected_r, expected_z, l1, low, high)
    descend(B, r, z, l1, low, high, 1, 0.0)
    np.testing.assert_allclose(z, expected_z, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(r, expected_r, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("seed", range(20))
def test_many_sweeps_end_where_no_coordinate_leads_down(seed):
    B, g, x, l1, low, high = drawn(seed)
    z, r = x.copy(), g.copy()
    fall, largest = descend(B, r, z, l1, low, high, 100_000, 1e-30)
    assert fall <= 1e-30 * largest
    np.testing.assert_allclose(r, g + B @ (z - x), rtol=1e-8, atol=1e-8)

    def value(at):
        return g @ (at - x) + (at - x) @ B @ (at - x) / 2 + l1 @ np.abs(at)

    for j in range(len(z)):  # the objective is convex and kinks are along coordinates
        for change in (1e-4, -1e-4):
            beside = z.copy()
            beside[j] = np.clip(z[j] + change, low[j], high[j])
            assert value(beside) >= value(z) - 1e-12 * abs(value(z))


def test_coordinates_without_curvature_stay():
    z = np.array([0.5, 0.5])
    zero, infinite = np.zeros(2), np.full(2, np.inf)
    descend(np.diag([0.0, 2.0]), np.ones(2), z, zero, -infinite, infinite, 10, 0.0)
    np.testing.assert_array_equal(z, [0.5, 0.0])


def test_lengths_that_do_not_fit_are_refused():
    B, r, z, l1, low, high = drawn(0)
    with pytest.raises(ValueError, match=r"must have 7 rows and columns, got \(6, 7\)"):
        descend(B[:6].copy(), r, z, l1, low, high, 1, 0.0)
    with pytest.raises(ValueError, match="must have 7 entries"):
        descend(B, r, z, l1[:6].copy(), low, high, 1, 0.0)

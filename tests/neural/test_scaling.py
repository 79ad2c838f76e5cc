"""Scales of columns: over all rows, and inside lists."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="skrank.neural needs PyTorch")

from skrank.neural._scaling import Standardizer
from skrank.preprocessing import QueryScaler


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    table = 3.0 + 10.0 * rng.standard_normal((40, 4))
    table[:, 3] = 7.0
    return table


SIZES = np.array([1, 2, 3, 4, 30])
GROUPS = np.repeat(np.arange(5), SIZES)


def test_over_all_rows_means_are_0_and_variances_1(rows):
    scaled = Standardizer("X", by_list=False).fit(rows, SIZES).transform(rows, SIZES)
    np.testing.assert_allclose(scaled[:, :3].mean(0), 0.0, atol=1e-14)
    np.testing.assert_allclose(scaled[:, :3].std(0), 1.0, rtol=1e-14)
    assert (scaled[:, 3] == 0.0).all()


def test_new_rows_are_scaled_as_those_of_the_fit(rows):
    scaler = Standardizer("X", by_list=False).fit(rows, SIZES)
    new = rows[:3] + 1.0
    expected = (new - rows.mean(0)) / np.where(rows.std(0) == 0, 1.0, rows.std(0))
    # A constant column is in units of about its size, 8 here.
    expected[:, 3] /= 8.0
    np.testing.assert_allclose(
        scaler.transform(new, np.array([3])), expected, rtol=1e-13, atol=1e-13
    )


def test_inside_lists_scales_are_those_of_query_scaler_with_shrinkage(rows):
    scaler = Standardizer("X", by_list=True).fit(rows, SIZES)
    expected = QueryScaler(shrinkage="auto").fit(rows, groups=GROUPS)
    np.testing.assert_allclose(
        scaler.transform(rows, SIZES),
        expected.transform(rows, groups=GROUPS),
        rtol=1e-9, atol=1e-12,
    )  # fmt: skip
    assert (scaler.transform(rows, SIZES)[0] == 0.0).all()  # a list of one row


def test_a_column_that_never_varied_inside_a_list_stays_0(rows):
    rows[:, 2] = GROUPS
    scaler = Standardizer("X", by_list=True).fit(rows, SIZES)
    rows[:, 2] += np.arange(40)
    assert (scaler.transform(rows, SIZES)[:, 2] == 0.0).all()


def test_no_rows_are_scaled_to_none():
    empty = np.empty((0, 3))
    scaler = Standardizer("history", by_list=False).fit(empty, np.array([0, 0]))
    assert scaler.transform(empty, np.array([0, 0])).shape == (0, 3)

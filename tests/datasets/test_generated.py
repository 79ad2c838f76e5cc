"""Generated lists follow the model that their docstring states."""

import numpy as np
import pytest
from scipy.stats import chisquare, spearmanr

from skrank import Lists
from skrank.datasets import make_ranking

SHARES = (0.52, 0.32, 0.13, 0.02, 0.01)


def test_shapes_types_and_sizes():
    X, y, groups, coef = make_ranking(
        200, list_size=(2, 6), n_features=7, n_informative=3, return_coef=True
    )
    sizes = np.bincount(groups)
    assert set(sizes) == {2, 3, 4, 5, 6}
    assert X.shape == (sizes.sum(), 7)
    assert (X.dtype, y.dtype, groups.dtype) == (np.float64, np.int64, np.int64)
    assert np.all(np.diff(groups) >= 0)
    assert len(sizes) == 200
    assert np.count_nonzero(coef) == 3
    np.testing.assert_allclose(np.linalg.norm(coef), 1)


def test_one_size_for_all_lists():
    _, _, groups = make_ranking(5, list_size=4, random_state=0)
    assert np.bincount(groups).tolist() == [4] * 5


def test_a_seed_gives_the_same_data_again():
    first, again, other = (make_ranking(9, random_state=seed) for seed in (1, 1, 2))
    for one, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(first[0][:5], other[0][:5])


def test_without_noise_labels_follow_the_scores():
    X, y, groups, coef = make_ranking(
        300, noise=0, list_effect=3.0, return_coef=True, random_state=0
    )
    order = np.lexsort((X @ coef, groups))
    same_list = np.diff(groups[order]) == 0
    assert np.all(np.diff(y[order])[same_list] >= 0)


@pytest.mark.parametrize("list_size", [1, 3, (5, 30), 100])
def test_shares_of_grades_are_as_given(list_size):
    n_lists = 4000
    _, y, groups = make_ranking(n_lists, list_size=list_size, random_state=0)
    lists = Lists(np.bincount(groups))
    for grade, share in enumerate(SHARES):
        # Lists are independent; inside a list the number of rows varies by at most 1.
        excess = lists.sum((y == grade) - share)
        bound = 5 * np.sqrt(n_lists * 0.25)
        assert abs(excess.sum()) < bound
        assert np.abs(excess).max() < 1 + 1e-9


def test_first_places_are_drawn_from_the_plackett_luce_model():
    # Two grades cut so that the best of three rows alone has label 1: its
    # probability is a softmax of the scores, checked in classes of probability.
    noise = 0.7
    X, y, _, coef = make_ranking(
        30_000,
        list_size=3,
        grade_shares=(2 / 3, 1 / 3),
        noise=noise,
        return_coef=True,
        random_state=0,
    )
    expected = np.exp(X @ coef / noise).reshape(-1, 3)
    expected /= expected.sum(axis=1, keepdims=True)
    best = y.reshape(-1, 3)
    assert np.all(best.sum(axis=1) == 1)
    classes = np.digitize(
        expected[:, 0], np.quantile(expected[:, 0], np.arange(1, 10) / 10)
    )
    for c in range(10):
        of_class = expected[classes == c].sum(axis=0)
        assert chisquare(best[classes == c].sum(axis=0), of_class).pvalue > 1e-4


def test_scores_rank_the_rows_and_noise_features_do_not():
    X, y, groups, coef = make_ranking(
        500, list_size=20, noise=0.2, return_coef=True, random_state=0
    )
    correlations = [
        spearmanr(X[groups == q] @ coef, y[groups == q]).statistic for q in range(500)
    ]
    assert np.mean(correlations) > 0.7
    means = X.reshape(500, 20, -1).mean(axis=1)
    inside = X - means[groups]
    slope = inside.T @ (y - y.reshape(500, 20).mean(axis=1)[groups]) / len(y)
    # Standard error of a covariance with labels whose standard deviation is below 1.
    assert np.abs(slope[coef == 0]).max() < 5 / np.sqrt(len(y))
    assert np.corrcoef(slope, coef)[0, 1] > 0.98


def test_shuffle_mixes_lists_and_keeps_rows_whole():
    options = {"noise": 0, "return_coef": True, "random_state": 0}
    X, y, groups, coef = make_ranking(50, shuffle=True, **options)
    assert np.any(np.diff(groups) < 0)
    order = np.lexsort((X @ coef, groups))
    assert np.all(np.diff(y[order])[np.diff(groups[order]) == 0] >= 0)


def test_list_effect_moves_the_mean_of_each_list():
    X, _, _ = make_ranking(400, list_size=50, list_effect=3.0, random_state=0)
    means = X.reshape(400, 50, -1).mean(axis=1)
    # Variance 9 + 1/50, estimated from 8000 means: standard error 0.14.
    assert abs(means.var() - 9.02) < 0.7


def test_more_informative_features_than_features_means_all():
    coef = make_ranking(2, n_features=3, return_coef=True)[3]
    assert np.count_nonzero(coef) == 3
    assert make_ranking(2, n_informative=0, return_coef=True)[3].any() == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_lists": 0}, "n_lists"),
        ({"list_size": 0}, "list_size"),
        ({"list_size": (3, 2)}, "smallest and a largest"),
        ({"list_size": (1, 2, 3)}, "smallest and a largest"),
        ({"list_size": (1.5, 2)}, "smallest and a largest"),
        ({"grade_shares": (0.5, 0.4)}, "sum 1"),
        ({"grade_shares": (1.5, -0.5)}, "not negative"),
        ({"grade_shares": ()}, "sum 1"),
        ({"noise": -1}, "noise"),
        ({"random_state": "x"}, "random_state"),
    ],
)
def test_wrong_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        make_ranking(**options)

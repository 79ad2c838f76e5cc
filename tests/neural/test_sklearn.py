"""scikit-learn's common checks of the networks, with one list."""

import numpy as np
import pytest
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import _num_samples

torch = pytest.importorskip("torch", reason="skrank.neural needs PyTorch")

from skrank.neural import MLPRanker, STARanker  # noqa: E402


class OneList:
    """Takes all rows as one list where groups are missing."""

    def fit(self, X, y, groups=None, history=None, profile=None, *, sample_weight=None):
        groups = np.zeros(_num_samples(X)) if groups is None else groups
        return super().fit(X, y, groups, history, profile, sample_weight=sample_weight)

    def predict(self, X, groups=None, history=None, profile=None):
        groups = np.zeros(_num_samples(X)) if groups is None else groups
        return super().predict(X, groups, history, profile)

    def score(self, X, y, groups=None, sample_weight=None):
        groups = np.zeros(_num_samples(X)) if groups is None else groups
        return super().score(X, y, groups, sample_weight)


class OneListSTARanker(OneList, STARanker):
    """STARanker with one list."""


class OneListMLPRanker(OneList, MLPRanker):
    """MLPRanker with one list."""


WEIGHT = "sample_weight is the weight of a list and must be constant inside it"
WHOLE = "what is predicted of a row depends on the whole list"
EXCUSED = {
    "check_sample_weights_not_overwritten": WEIGHT,
    "check_sample_weight_equivalence_on_dense_data": WEIGHT,
    "check_methods_subset_invariance": WHOLE,
}


@parametrize_with_checks(
    [
        OneListSTARanker(max_epochs=2, hidden_size=4, n_networks=1),
        OneListMLPRanker(max_epochs=2, hidden_size=4, n_networks=1),
    ],
    expected_failed_checks=lambda estimator: EXCUSED,
)
def test_scikit_learns_checks_pass_with_one_list(estimator, check):
    check(estimator)


@pytest.mark.parametrize("ranker", [STARanker, MLPRanker])
def test_tags_say_ranker_of_dense_tables(ranker):
    tags = get_tags(ranker())
    assert tags.estimator_type == "ranker"
    assert tags.target_tags.required
    assert not tags.input_tags.sparse

"""A fit that raises leaves the ranker exactly as it was."""

import numpy as np
import pandas as pd
import pytest

import skrank.linear_model
from skrank import ListMLERanker
from skrank.datasets import make_ranking

RANKERS = [getattr(skrank.linear_model, name) for name in skrank.linear_model.__all__]
FAULTS = {
    "groups has .* entries for": lambda y, groups: (y, groups[:-1], None),
    "needs to know which rows form a list": lambda y, groups: (y, None, None),
    "y contains NaN": lambda y, groups: (np.where(y > 3, np.nan, y), groups, None),
    "sample_weight must not be neg": lambda y, groups: (y, groups, np.full(len(y), -1)),
    "y must hold real numbers": lambda y, groups: (y.astype(str), groups, None),
}


@pytest.fixture(scope="module")
def data():
    X, y, groups = make_ranking(20, n_features=3, n_informative=3, random_state=0)
    return pd.DataFrame(X, columns=list("abc")), y, groups


def state(ranker):
    """Return all attributes with the bytes of arrays, to be compared."""
    return {
        name: value.tobytes() if isinstance(value, np.ndarray) else value
        for name, value in vars(ranker).items()
    }


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: ranker.__name__)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_failed_refit_on_other_columns_changes_nothing(ranker, fault, data):
    X, y, groups = data
    fitted = ranker().fit(X, y, groups)
    before, scores = state(fitted), fitted.predict(X)
    labels, of_rows, weights = FAULTS[fault](y, groups)
    with pytest.raises(ValueError, match=fault):
        fitted.fit(X[["b", "a"]], labels, of_rows, sample_weight=weights)
    assert state(fitted) == before
    np.testing.assert_array_equal(fitted.predict(X), scores)


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: ranker.__name__)
def test_a_first_fit_that_fails_leaves_no_attributes(ranker, data):
    X, y, groups = data
    unfitted = ranker()
    before = state(unfitted)
    with pytest.raises(ValueError, match=r"groups has .* entries for"):
        unfitted.fit(X, y, groups[:-1])
    assert state(unfitted) == before


def test_a_warning_made_an_error_and_an_interrupt_change_nothing(data, monkeypatch):
    X, y, groups = data
    fitted = ListMLERanker().fit(X, y, groups)
    before = state(fitted)
    with pytest.raises(UserWarning, match="no order to learn"):  # warnings are errors
        fitted.fit(X[["b", "a"]], 0 * y, groups)
    assert state(fitted) == before

    def interrupted(self, objective, start):
        raise KeyboardInterrupt("in the fit")

    monkeypatch.setattr(ListMLERanker, "_solve", interrupted)
    with pytest.raises(KeyboardInterrupt, match="in the fit"):
        fitted.fit(X[["b", "a"]], y, groups)
    assert state(fitted) == before

"""A fit that raises leaves every kind of estimator exactly as it was.

The linear and the neural rankers have tests of their own beside theirs.
"""

import joblib
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from skrank import ListMLERanker
from skrank.datasets import make_ranking
from skrank.ensemble import FusionRanker
from skrank.model_selection import RankerCV
from skrank.preprocessing import QueryScaler, SecondOrderFeatures

MEMBERS = [("mle", ListMLERanker()), ("ridge", Ridge())]
ESTIMATORS = {
    "QueryScaler": (QueryScaler(), ("groups",)),
    "QueryScaler, learns": (QueryScaler(shrinkage="auto"), ("groups",)),
    "SecondOrderFeatures": (SecondOrderFeatures(), ("y",)),
    "FusionRanker": (FusionRanker(MEMBERS), ("groups", "weights")),
    "FusionRanker, scaled": (FusionRanker(MEMBERS, method="scaled"), ("groups",)),
    "RankerCV": (RankerCV(ListMLERanker(), alphas=[0.1, 1.0], cv=3), ("groups", "y")),
}
CASES = [(name, fault) for name, (_, faults) in ESTIMATORS.items() for fault in faults]


@pytest.mark.parametrize(("name", "fault"), CASES)
def test_a_failed_refit_on_other_columns_changes_nothing(name, fault):
    X, y, groups = make_ranking(12, n_features=3, n_informative=3, random_state=0)
    X = pd.DataFrame(X, columns=list("abc"))
    estimator = ESTIMATORS[name][0]
    suggests_groups = not isinstance(estimator, SecondOrderFeatures)
    estimator.fit(X, y, **({"groups": groups} if suggests_groups else {}))
    assert list(estimator.feature_names_in_) == ["a", "b", "c"]
    if fault == "weights":
        estimator.set_params(weights=[1.0, 2.0, 3.0])
    before = joblib.hash(vars(estimator))
    of_rows = groups[:-1] if fault == "groups" else groups
    labels = y[:-1] if fault == "y" else y
    message = {
        "groups": "groups has .* entries for",
        "y": "inconsistent numbers of samples|entries",
        "weights": "weights must be 2 numbers",
    }[fault]
    with pytest.raises(ValueError, match=message):
        estimator.fit(
            X[["b", "a"]], labels, **({"groups": of_rows} if suggests_groups else {})
        )
    assert joblib.hash(vars(estimator)) == before
    assert list(estimator.feature_names_in_) == ["a", "b", "c"]

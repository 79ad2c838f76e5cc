"""Fitted rankers come back from joblib's and skops' files as they went in."""

import inspect

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import clone

from skrank import linear_model, ranking_pipeline
from skrank.datasets import make_ranking
from skrank.model_selection import RankerCV

RANKERS = [
    one
    for one in (getattr(linear_model, name) for name in linear_model.__all__)
    if inspect.isclass(one) and hasattr(one, "fit")
]
MODELS = {
    **{ranker.__name__: ranker for ranker in RANKERS},
    "RankerCV": lambda: RankerCV(alphas=[0.01, 1.0], cv=2),
    "ranking_pipeline": ranking_pipeline,
    "ranking_pipeline, all lists": lambda: ranking_pipeline(per_list=False),
}


@pytest.fixture(autouse=True)
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="module")
def data():
    return make_ranking(30, n_features=4, random_state=0)


def through_joblib(model, path):
    joblib.dump(model, path)
    return joblib.load(path)


def through_skops(model, path):
    skops = pytest.importorskip("skops.io", reason="skops is not installed")
    skops.dump(model, path)
    kinds = skops.get_untrusted_types(file=path)
    # A user can judge what to trust: classes of skrank, a dictionary, a data type.
    unknown = {kind for kind in kinds if not kind.startswith("skrank.")}
    assert unknown <= {"sklearn.utils._bunch.Bunch", "numpy.dtype"}
    return skops.load(path, trusted=kinds)


def scores_of(model, X, groups):
    if hasattr(model, "steps"):
        return model.predict(X, groups=groups)
    return model.predict(X)


def test_all_linear_rankers_are_tried():
    assert len(RANKERS) >= 9


@pytest.mark.parametrize("through", [through_joblib, through_skops])
@pytest.mark.parametrize("name", MODELS)
def test_a_fitted_model_comes_back_and_fits_again(name, through, data, tmp_path):
    X, y, groups = data
    model = MODELS[name]()
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    model.fit(X, y, groups=groups)
    again = through(model, tmp_path / "model")
    assert type(again) is type(model)
    assert repr(again) == repr(model)
    scores = scores_of(model, X, groups)
    assert np.ptp(scores) > 0
    np.testing.assert_array_equal(scores_of(again, X, groups), scores)
    assert again.score(X, y, groups=groups) == model.score(X, y, groups=groups)
    fitted_again = clone(again).fit(X, y, groups=groups)
    np.testing.assert_array_equal(scores_of(fitted_again, X, groups), scores)

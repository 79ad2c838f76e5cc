"""How few evaluations fits to real data take, and how near they end."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from skrank import Lists
from skrank._data.grouping import group_rows
from skrank._fit.data import FitData
from skrank._fit.features import constant_features
from skrank._fit.lbfgs import LAST_DIGITS, minimize_lbfgs
from skrank._fit.objective import LinearObjective
from skrank.datasets import load_letor
from skrank.losses import (
    Davidson,
    ListMLE,
    ListNet,
    RankNet,
    RankRegression,
    RankSVM,
    RaoKupper,
)

NEWTON = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks/newton.py"))
LOSSES = [
    (ListMLE(), None),
    (ListMLE("breslow"), None),
    (ListMLE("marginal"), None),
    (ListNet(), None),
    (RankNet(), "size"),
    (RankSVM(), "size"),
    (RankRegression(), "size"),
    (Davidson(), "size"),
    (RaoKupper(), "size"),
]
FILES = {
    "MQ2008": [f"mq2008/S{number}.txt.gz" for number in range(1, 6)],
    "LightGBM": ["lightgbm_lambdarank/train.txt.gz"],
    "MSLR": ["mslr_web10k_fold1_train5k/train.5k.txt.gz"],
}
# Most evaluations, but for squared hinges on raw scales.
MOST = {"MQ2008": 20, "LightGBM": 20, "MSLR raw": 40, "MSLR standardised": 40}
MOST_RAW_HINGE = 50


@pytest.fixture(scope="module")
def loaded(shared):
    """Return a function that returns X, y and lists of a data set, read once."""
    known = {}

    def load(name):
        if name not in known:
            paths = [shared / "data" / path for path in FILES[name.split()[0]]]
            parts = [load_letor(path) for path in paths]
            X, y, groups = (np.concatenate(part) for part in zip(*parts, strict=True))
            if name.endswith("standardised"):
                X = StandardScaler().fit_transform(X)
            grouping = group_rows(groups, len(y))
            if grouping.rows is not None:
                X = X[grouping.rows]
            y, lists = grouping.gather(y.astype(float)), grouping.lists
            constant = constant_features(X, lists)
            known[name] = FitData(X, y, lists, constant=constant)
        return known[name]

    return load


@pytest.mark.parametrize("name", MOST)
@pytest.mark.parametrize(("loss", "normalize"), LOSSES, ids=str)
@pytest.mark.parametrize("alpha", [0.1, 1e-4])
def test_fits_stop_by_themselves_after_few_evaluations(
    loaded, name, loss, normalize, alpha
):
    objective = LinearObjective(loaded(name), loss, alpha=alpha, normalize=normalize)
    solution = minimize_lbfgs(
        objective, objective.start, tol=1e-6, ftol=LAST_DIGITS, max_iter=1000
    )
    assert solution.problem is None
    is_raw_hinge = name == "MSLR raw" and isinstance(loss, RankSVM)
    assert solution.n_evaluations <= (MOST_RAW_HINGE if is_raw_hinge else MOST[name])


def assert_newton_finds_nothing_lower(objective):
    """Check a fit against Newton's method with exact second derivatives."""
    solution = minimize_lbfgs(
        objective, objective.start, tol=1e-6, ftol=LAST_DIGITS, max_iter=1000
    )
    least, left = NEWTON["least_by_newton"](objective, solution.parameters)
    assert left <= 1e-12 * abs(least)  # Newton's own gap
    assert solution.value - least <= 1e-9 * abs(least)


@pytest.mark.parametrize("name", MOST)
@pytest.mark.parametrize(("loss", "normalize"), LOSSES, ids=str)
@pytest.mark.parametrize("alpha", [0.1, 1e-4])
def test_fits_end_where_newton_finds_nothing_lower(
    loaded, name, loss, normalize, alpha
):
    assert_newton_finds_nothing_lower(
        LinearObjective(loaded(name), loss, alpha=alpha, normalize=normalize)
    )


@pytest.mark.parametrize(("loss", "normalize"), LOSSES, ids=str)
@pytest.mark.parametrize("alpha", [0.1, 1e-2, 1e-3, 1e-4])
@pytest.mark.parametrize("scales", [0.0, 7.0])
def test_fits_to_drawn_lists_end_where_newton_does(loss, normalize, alpha, scales):
    """Correlated features of scales up to 10^7: public data are not needed for it."""
    rng = np.random.default_rng(3)
    lists = Lists(rng.integers(5, 40, size=60))
    X = rng.standard_normal((lists.n_rows, 12)) @ rng.standard_normal((12, 12))
    y = np.digitize(X[:, 0] + 3.0 * rng.standard_normal(len(X)), [-3.0, 0.0, 4.0])
    X *= 10.0 ** np.linspace(0.0, scales, 12)
    data = FitData(X, y.astype(float), lists, constant=constant_features(X, lists))
    assert_newton_finds_nothing_lower(
        LinearObjective(data, loss, alpha=alpha, normalize=normalize)
    )

"""Each warning points at the line of the user's own code that led to it."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank import (
    DavidsonLuceRanker,
    DavidsonRanker,
    ListMLERanker,
    PMOPRanker,
    RankNetRanker,
    with_groups,
)
from skrank.losses import ListMLE
from skrank.metrics import ndcg_score, ndcg_scorer
from skrank.model_selection import QueryKFold, learning_curve
from skrank.preprocessing import SecondOrderFeatures

rng = np.random.default_rng(0)
GROUPS = np.repeat(np.arange(60), 4)
X = rng.normal(size=(240, 2))
GRADES = np.digitize(X[:, 0] + rng.normal(size=240), [-0.5, 0.5])
RANKS = np.tile([3, 2, 1, 0], 60)
Y = with_groups(GRADES, GROUPS)
SEARCH = GridSearchCV(
    make_pipeline(StandardScaler(), RankNetRanker(tol=0, max_iter=1)),
    {"ranknetranker__alpha": [0.1, 1.0]},
    cv=QueryKFold(2),
)
PERFECT = RANKS[:, None].astype(float)
RARE = DavidsonLuceRanker().fit(X, RANKS, GROUPS)
NEAR = RankNetRanker(alpha=0).fit(X, GRADES, GROUPS)


def two_optima():
    """Return lists for which the arithmetic model has several optima."""
    draw = np.random.default_rng(0)
    rows = 3.0 * draw.standard_normal((18, 2))
    return rows, draw.integers(0, 2, size=18), np.repeat([0, 1, 2], 6)


CASES = {
    "ties by order": lambda: ListMLERanker("order").fit(X, GRADES, GROUPS),
    "ties by order, in the loss": lambda: ListMLE("order")(X[:, 0], GRADES, GROUPS),
    "ties by order, in a pipeline": lambda: make_pipeline(
        StandardScaler(), ListMLERanker("order")
    ).fit(X, Y),
    "lists of one row": lambda: RankNetRanker().fit(X[:5], GRADES[:5], range(5)),
    "constant": lambda: RankNetRanker().fit(X * [1, 0], GRADES, GROUPS),
    "not converged": lambda: RankNetRanker(max_iter=1).fit(X, GRADES, GROUPS),
    "not converged, in a search": lambda: SEARCH.fit(X, Y),
    "separated": lambda: RankNetRanker(alpha=0).fit(PERFECT, RANKS, GROUPS),
    "separated, in a pipeline": lambda: make_pipeline(
        StandardScaler(), RankNetRanker(alpha=0)
    ).fit(PERFECT, with_groups(RANKS, GROUPS)),
    "ties at a limit": lambda: DavidsonRanker().fit(X, RANKS, GROUPS),
    "two optima": lambda: PMOPRanker(alpha=0.001).fit(*two_optima()),
    "chains": lambda: PMOPRanker(
        "geometric", "gibbs", max_iter=100, alpha=0.0, random_state=0
    ).fit(100 * X, GRADES, GROUPS),
    "impossible ties": lambda: RARE.log_likelihood(X, GRADES, GROUPS),
    "impossible ties, in a deviance": lambda: RARE.deviance(X, GRADES, GROUPS),
    "summary": lambda: NEAR.summary(X[:40], GRADES[:40], GROUPS[:40]),
    "metric": lambda: ndcg_score([0, 0], [1, 2], [7, 7]),
    "scorer": lambda: ndcg_scorer(k=3)(NEAR, X[:2], [0, 0], [7, 7]),
    "score": lambda: NEAR.score(X[:2], [0, 0], [7, 7]),
    "learning curve": lambda: learning_curve(
        RankNetRanker(max_iter=1), X, Y, train_sizes=[0.5], cv=2, random_state=0
    ),
    "products": lambda: SecondOrderFeatures(threshold=0.99).fit(X, GRADES),
    "products, in a pipeline": lambda: make_pipeline(
        SecondOrderFeatures(threshold=0.99), RankNetRanker()
    ).fit(X, Y),
}


@pytest.mark.parametrize("case", CASES)
def test_a_warning_points_at_the_users_line(case):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        CASES[case]()
    assert told
    lines = {line for *_, line in CASES[case].__code__.co_lines()}
    for warning in told:
        assert (warning.filename, warning.lineno in lines) == (__file__, True)


def test_a_subclass_of_ones_own_counts_as_ones_own_code():
    class Mine(RankNetRanker):
        def fit(self, X, y, groups=None):
            return super().fit(X, y, groups)

    with pytest.warns(ConvergenceWarning) as told:
        Mine(max_iter=1).fit(X, GRADES, GROUPS)
    lines, first = inspect.getsourcelines(Mine)
    assert told[0].filename == __file__
    assert first < told[0].lineno < first + len(lines)

"""Each warning points at the line of the user's own code that led to it."""

import inspect
import multiprocessing
import sys
import threading
import warnings

import numpy as np
import pytest
from joblib import Parallel, delayed
from joblib.externals.loky import get_reusable_executor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_validate
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
    draw = np.random.default_rng(262)
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
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CASES[case]()
    assert caught
    lines = {line for *_, line in CASES[case].__code__.co_lines()}
    for warning in caught:
        assert (warning.filename, warning.lineno in lines) == (__file__, True)


def test_a_subclass_of_ones_own_counts_as_ones_own_code():
    class Mine(RankNetRanker):
        def fit(self, X, y, groups=None):
            return super().fit(X, y, groups)

    with pytest.warns(
        ConvergenceWarning, match="stopped before it converged"
    ) as caught:
        Mine(max_iter=1).fit(X, GRADES, GROUPS)
    lines, first = inspect.getsourcelines(Mine)
    assert caught[0].filename == __file__
    assert first < caught[0].lineno < first + len(lines)


def shown_on_stderr(message, category, filename, lineno, *_):
    print(f"{filename}:{lineno}: {category.__name__}: {message}", file=sys.stderr)


def in_a_thread(method, *args):
    thread = threading.Thread(target=method, args=args)
    thread.start()
    thread.join()


def in_a_process(method, *args):
    process = multiprocessing.get_context("spawn").Process(target=method, args=args)
    process.start()
    process.join()
    assert process.exitcode == 0


def in_workers(method, *args):
    get_reusable_executor().shutdown()  # those that are left write elsewhere
    Parallel(2, backend="loky")(delayed(method)(*args) for _ in range(2))


STARTERS = {
    "a thread": in_a_thread,
    "a pool of threads": lambda method, *args: Parallel(2, backend="threading")(
        delayed(method)(*args) for _ in range(2)
    ),
    "a spawned process": in_a_process,
    "workers of joblib": in_workers,
}


@pytest.mark.parametrize("starter", STARTERS)
def test_without_a_line_of_the_user_a_warning_points_at_fit(
    starter, monkeypatch, capfd
):
    # Threads tell this process, whose warnings pytest keeps for itself.
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", shown_on_stderr)
        STARTERS[starter](RankNetRanker(max_iter=1).fit, X, GRADES, GROUPS)
    places = [
        line for line in capfd.readouterr().err.splitlines() if "Warning: " in line
    ]
    assert places
    source = inspect.getsourcefile(inspect.unwrap(RankNetRanker.fit))
    assert all(line.startswith(f"{source}:") for line in places), places


def constant_told(caught):
    return sum("constant inside every list" in str(one.message) for one in caught)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_search_tells_once_that_some_features_are_constant(n_jobs):
    search = GridSearchCV(
        RankNetRanker(), {"alpha": [0.1, 1.0]}, cv=QueryKFold(2), n_jobs=n_jobs
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X * [1, 0], Y)
    assert constant_told(caught) == 1


def test_each_part_tells_that_all_features_are_constant():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cross_validate(RankNetRanker(), 0 * X, Y, cv=QueryKFold(2))
    assert constant_told(caught) == 2

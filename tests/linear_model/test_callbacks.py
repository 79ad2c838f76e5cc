"""scikit-learn's callbacks hear of a fit's begin, iterations and end."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank import ListMLERanker, RankNetRanker, RankSVMRanker, with_groups
from skrank.datasets import make_ranking
from skrank.model_selection import QueryKFold

pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9")

X, Y, GROUPS = make_ranking(30, n_features=4, n_informative=4, random_state=0)


class Recorder:
    """Note what a fit calls."""

    def __init__(self):
        self.events = []

    def setup(self, estimator, context):
        self.events.append(("setup", context.task_name))

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context):
        self.events.append(("end", context.task_name))

    def teardown(self, estimator, context):
        self.events.append(("teardown", context.task_name))


@pytest.mark.parametrize("ranker", [ListMLERanker(), RankNetRanker(), RankSVMRanker()])
def test_callbacks_hear_of_each_iteration(ranker):
    recorder = Recorder()
    ranker.set_callbacks(recorder).fit(X, Y, GROUPS)
    events = recorder.events
    assert events[:2] == [("setup", "fit"), ("begin", "fit")]
    assert events[-2:] == [("end", "fit"), ("teardown", "fit")]
    middle = events[2:-2]
    assert middle[::2] == [("begin", "iteration")] * (len(middle) // 2)
    assert middle[1::2] == [("end", "iteration")] * (len(middle) // 2)
    assert len(middle) // 2 >= ranker.n_iter_ > 1


def test_a_fit_with_callbacks_gives_the_same_weights():
    plain = ListMLERanker().fit(X, Y, GROUPS)
    heard = ListMLERanker().set_callbacks(Recorder()).fit(X, Y, GROUPS)
    assert np.array_equal(plain.coef_, heard.coef_)


def test_callbacks_end_and_old_weights_stay_where_a_fit_fails():
    recorder = Recorder()
    ranker = ListMLERanker().fit(X, Y, GROUPS)
    before = ranker.coef_
    ranker.set_callbacks(recorder)
    with pytest.raises(ValueError, match="y contains NaN"):
        ranker.fit(X, np.append(Y[1:], np.nan), GROUPS)
    assert recorder.events[-1] == ("teardown", "fit")
    assert ranker.coef_ is before
    assert not hasattr(ranker, "_callback_fit_ctx")


def test_copies_in_searches_and_pipelines_hear_too():
    recorder = Recorder()
    ranker = ListMLERanker().set_callbacks(recorder)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), clone(ranker)),
        {"listmleranker__alpha": [0.1, 1.0]},
        cv=QueryKFold(2),
    )
    search.fit(X, with_groups(Y, GROUPS))
    assert recorder.events.count(("end", "fit")) == 5


def test_a_progress_bar_shows_itself(capsys):
    pytest.importorskip("rich", reason="scikit-learn's bar is drawn by rich")
    from sklearn.callback import ProgressBar

    ListMLERanker().set_callbacks(ProgressBar()).fit(X, Y, GROUPS)
    assert "ListMLERanker - fit" in capsys.readouterr().out

"""A loss says what model it is; every linear ranker of that loss tells the same."""

import inspect

import numpy as np
import pytest

import skrank.linear_model
from skrank import LinearRanker, ListMLERanker, Lists, PMOPRanker, RankSVMRanker
from skrank.datasets import make_ranking
from skrank.losses import DavidsonLuce, ListMLE, Loss, RankNet, RankSVM

NAMED = [
    getattr(skrank.linear_model, name)
    for name in skrank.linear_model.__all__
    if name != "LinearRanker"
]
SUMMARY = ("coef", "clustered", "model", "fit_name", "fit_value", "criterion", "notes")


def told(ranker, X, y, groups):
    """Return what a fitted ranker tells, by method, as arrays or text."""
    half = len(X) // 2
    calls = {
        "summary": (X, y, groups),
        "log_likelihood": (X, y, groups),
        "deviance": (X, y, groups),
        "aic": (X, y, groups),
        "composite_log_likelihood": (X, y, groups),
        "stage_proba": (X, y, groups),
        "partition_proba": (X, y, groups),
        "sample_rankings": (X, groups, 2, 0),
        "top_k_proba": (X, groups, 2),
        "sample_partitions": (X, groups, 2, 0),
        "expected_level": (X, groups, 20, 0),
        "pairwise_proba": (X[:half], X[half : 2 * half]),
    }
    if hasattr(ranker, "partition_proba"):
        calls["pairwise_proba"] = (X, groups, 20, 0)
    answers = {}
    for name, arguments in calls.items():
        if not hasattr(ranker, name):
            continue
        answer = getattr(ranker, name)(*arguments)
        if name == "summary":
            answer = tuple(getattr(answer, part) for part in SUMMARY)
        answers[name] = answer if isinstance(answer, tuple) else (answer,)
    return answers


@pytest.mark.parametrize("named", NAMED, ids=lambda ranker: ranker.__name__)
def test_the_generic_ranker_tells_what_the_named_one_of_its_loss_tells(named):
    X, y, groups = make_ranking(50, n_features=3, n_informative=3, random_state=0)
    one = named(alpha=0.1, normalize=None).fit(X, y, groups)
    other = LinearRanker(one._loss(), alpha=0.1).fit(X, y, groups)
    # PMOPRanker starts twice, so that the two need not end at the same last digit.
    other.coef_, other.extra_ = one.coef_, one.extra_
    expected, answers = (told(ranker, X, y, groups) for ranker in (one, other))
    assert answers.keys() == expected.keys()
    for name, parts in expected.items():
        for part, same in zip(parts, answers[name], strict=True):
            np.testing.assert_array_equal(same, part, err_msg=name)


@pytest.mark.parametrize(
    ("ranker", "methods"),
    [
        (ListMLERanker(), ["top_k_proba", "sample_rankings"]),
        (PMOPRanker(), ["sample_partitions", "expected_level", "pairwise_proba"]),
    ],
)
def test_methods_of_lists_take_groups_from_the_index_of_a_frame(ranker, methods):
    pd = pytest.importorskip("pandas")
    X, y, groups = make_ranking(6, n_features=3, n_informative=2, random_state=0)
    frame = pd.DataFrame(X, index=pd.Index(groups, name="groups"), columns=list("abc"))
    ranker.fit(frame, y, groups)
    for name in methods:
        method = getattr(ranker, name)
        seed = {} if name == "top_k_proba" else {"random_state": 0}
        known, given = method(frame, **seed), method(frame, groups, **seed)
        for one, other in zip(known, given, strict=True):
            np.testing.assert_array_equal(one, other)
    if isinstance(ranker, ListMLERanker):
        best = ranker.top_k_proba(frame, k=1).probability
        of_lists = pd.Series(best, frame.index).groupby("groups").sum()
        np.testing.assert_allclose(of_lists, 1.0, rtol=1e-12)


def test_what_is_missing_says_which_loss_would_have_it():
    with pytest.raises(AttributeError, match=r"'pairs' or 'orders' or 'partitions'"):
        _ = RankSVMRanker().summary
    with pytest.raises(AttributeError, match=r"RankSVM\(\) is no probability model"):
        _ = LinearRanker(RankSVM()).log_likelihood
    assert not hasattr(LinearRanker(RankNet()), "log_likelihood")


def test_signatures_are_those_of_the_model():
    pairs = inspect.signature(ListMLERanker().pairwise_proba)
    assert list(pairs.parameters) == ["X_a", "X_b"]
    by_list = inspect.signature(LinearRanker(DavidsonLuce()).pairwise_proba)
    names = ["X", "groups", "n_samples", "random_state", "offset"]
    assert list(by_list.parameters) == names


class BestAgainstRest(Loss):
    """The loss of README: written without extra parameters in its signature."""

    def prepare(self, y, lists):
        best = y == lists.expand(lists.max(y))
        return best / lists.expand(lists.sum(best.astype(float)))

    def value_and_gradient(self, scores, prepared, lists):
        softmax, log_sum_exp = lists.softmax(scores)
        return log_sum_exp - lists.sum(prepared * scores), softmax - prepared


def test_a_loss_without_extra_parameters_in_its_signature_takes_none_or_empty_ones():
    loss, lists = BestAgainstRest(), Lists([3])
    scores = np.array([0.5, 0.0, 1.0])
    prepared = loss.prepare(np.array([1.0, 0.0, 2.0]), lists)
    plain = loss.value_and_gradient(scores, prepared, lists)
    for extra_arguments in ((np.empty(0),), ()):
        named = {} if extra_arguments else {"extra": np.empty(0)}
        result = loss.value_and_gradient(
            scores, prepared, lists, *extra_arguments, **named
        )
        np.testing.assert_array_equal(result[1], plain[1])
    # softmax - [last is best]
    share = np.exp(scores) / np.exp(scores).sum()
    np.testing.assert_allclose(plain[1], share - [0, 0, 1], rtol=1e-15)


def test_a_loss_may_take_arguments_in_any_number_or_call_the_one_it_replaces():
    class Passed(ListMLE):
        def value_and_gradient(self, *arguments):
            return super().value_and_gradient(*arguments)

    class Halved(ListMLE):
        def value_and_gradient(self, scores, prepared, lists):
            value, gradient = super().value_and_gradient(scores, prepared, lists)
            return value / 2, gradient / 2

    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 2)), rng.integers(0, 3, 30)
    groups = np.repeat(np.arange(6), 5)
    expected = LinearRanker(alpha=0.2).fit(X, y, groups)
    passed = LinearRanker(Passed(), alpha=0.2).fit(X, y, groups)
    np.testing.assert_array_equal(passed.coef_, expected.coef_)
    halved = LinearRanker(Halved(), alpha=0.1).fit(X, y, groups)
    np.testing.assert_allclose(halved.coef_, expected.coef_, rtol=1e-5)

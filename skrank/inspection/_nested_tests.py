"""Tests of nested models, of rankers and of pipelines that end in one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from skrank._data.checks import listing
from skrank._data.groups import find_groups, suggests_groups
from skrank._data.lists import Floats
from skrank._data.pipelines import without_search
from skrank._probability.fit_summary import FitSummary
from skrank._probability.likelihood import objective_on
from skrank._probability.nested import Maximum, NestedTest, likelihood_ratio, wald
from skrank._probability.restraints import why_no_tests
from skrank._probability.summary import summarize_fit
from skrank.inspection._models import Transformed, transformed


@suggests_groups
def likelihood_ratio_test(
    small: Any,
    large: Any,
    X: Any,
    y: Any,
    groups: Any = None,
    *,
    X_small: Any = None,
    sample_weight: Any = None,
    offset: Any = None,
) -> NestedTest:
    r"""Test whether the features that a smaller model lacks matter.

    With :math:`\ell` the log-likelihoods at their maxima, the statistic is

    .. math::

        2 (\ell_\mathrm{large} - \ell_\mathrm{small}),

    which is about chi-squared where the smaller model holds and lists are many, with
    one degree of freedom for each coefficient that the larger has more. It rests on
    the model, as model-based errors do; where that is in doubt, or lists depend on each
    other, use :func:`wald_test` with clustered errors.

    Models of pairs have no such test unless all lists are of two rows: pairs of a list
    depend on each other, and twice the difference of composite likelihoods is not
    chi-squared [1]_. It is refused, rather than adjusted: what the adjusted statistic
    needs is the clustered covariance, of which Wald's is the simpler test.

    Parameters
    ----------
    small : estimator or None
        The fitted ranker without the features in question, a pipeline that ends in
        one, or a fitted search over such; None is the model without any feature.
    large : estimator
        The same ranker, fitted with these features to the same rows.
    X : {array-like, sparse matrix, dataframe} of shape (n_rows, n_features)
        Features of the fit of ``large``. Where it has names of columns, ``small`` takes
        those that it was fitted to.
    y : array-like of shape (n_rows,)
        Labels of the fit.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``y``.
    X_small : {array-like, sparse matrix, dataframe}, default=None
        Features of the fit of ``small``, where ``X`` has no names.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the fits, as numbers of equal lists.
    offset : array-like of shape (n_rows,), default=None
        Offset of both fits.

    Returns
    -------
    test : NestedTest
        Statistic, degrees of freedom and p value; prints, and has ``to_frame``.

    Raises
    ------
    TypeError
        If an estimator has no probability model.
    ValueError
        If ``small`` is not nested in ``large``; if the fits have penalties or bounds,
        ended elsewhere than at the maximum for these data, or have no likelihood.

    See Also
    --------
    wald_test : The same question from one fit, also with clustered errors.

    References
    ----------
    .. [1] C. Varin, N. Reid, D. Firth, "An overview of composite likelihood
       methods", Statistica Sinica 21 (2011), section 2.3.

    Examples
    --------
    >>> from skrank import ListMLERanker
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import likelihood_ratio_test
    >>> X, y, groups = make_ranking(
    ...     60, n_features=3, n_informative=2, random_state=0
    ... )
    >>> large = ListMLERanker(alpha=0).fit(X, y, groups)
    >>> small = ListMLERanker(alpha=0).fit(X[:, :2], y, groups)
    >>> test = likelihood_ratio_test(small, large, X, y, groups, X_small=X[:, :2])
    >>> test.df
    1
    """
    groups = find_groups(y, groups, "likelihood_ratio_test", "y")
    labels = np.asanyarray(y)  # groups are known, and rows may have lost their index
    of_large = transformed(large, X, groups)
    known = {"sample_weight": sample_weight, "offset": offset}
    larger = _maximum(of_large, labels, groups, known, "large")
    names = of_large.names
    if small is None:
        hypothesis = "no feature at all"
        return likelihood_ratio(None, larger, hypothesis)
    small_columns = _columns_of(small, X) if X_small is None else X_small
    of_small = transformed(small, small_columns, groups)
    smaller = _maximum(of_small, labels, groups, known, "small")
    kept = set(of_small.names)
    named = X_small is None or hasattr(X_small, "columns")
    dropped = [name for name in names if name not in kept] if named else []
    hypothesis = f"{len(kept)} of {len(names)} features"
    if dropped and len(kept) + len(dropped) == len(names):
        hypothesis = f"coefficients 0: {listing(dropped)}"
    return likelihood_ratio(smaller, larger, hypothesis)


@suggests_groups
def wald_test(
    estimator: Any,
    X: Any,
    y: Any,
    groups: Any = None,
    *,
    features: Any = None,
    R: Any = None,
    r: Any = None,
    covariance: str = "clustered",
    clusters: Any = None,
    sample_weight: Any = None,
    offset: Any = None,
) -> NestedTest:
    r"""Test several coefficients, or sums of coefficients, at once.

    With C the covariance of the coefficients w, the statistic of the hypothesis
    :math:`R w = r` is

    .. math::

        (R w - r)^T (R C R^T)^{-1} (R w - r),

    which is about chi-squared where it holds and lists are many, with one degree of
    freedom for each row of R.

    Parameters
    ----------
    estimator : estimator
        A fitted ranker that has ``summary``, a pipeline that ends in one, or a fitted
        search over such.
    X, y, groups : array-like
        The data of the fit.
    features : list of str or int, default=None
        Names or numbers of the features whose coefficients are 0 by the hypothesis, or
        ``r``; None, without ``R``, means all.
    R : array-like of shape (n_sums, n_features), default=None
        Sums of coefficients, instead of ``features``. With as many columns as
        ``summary`` has rows they may be of the loss's own parameters, too.
    r : float or array-like of shape (n_sums,), default=0
        What the sums are by the hypothesis; one number for ``features``.
    covariance : {"clustered", "model"}, default="clustered"
        Which covariance; see the ranker's ``summary``. The clustered one holds for
        models of pairs, too, even if the model is wrong.
    clusters : array-like of shape (n_rows,), default=None
        Label of each row's cluster, constant inside a list; None makes each list one.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the fit.
    offset : array-like of shape (n_rows,), default=None
        Offset of the fit.

    Returns
    -------
    test : NestedTest
        Statistic, degrees of freedom and p value; prints, and has ``to_frame``.

    Raises
    ------
    TypeError
        If the estimator has no probability model.
    ValueError
        If the fit has a penalty or bounds; if something that is tested has no standard
        error; if sums depend on each other or are more than clusters; if shapes differ.

    Warns
    -----
    UserWarning
        As ``summary`` of the ranker.

    See Also
    --------
    likelihood_ratio_test : The same question from two fits.

    Examples
    --------
    >>> from skrank import ListMLERanker
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import wald_test
    >>> X, y, groups = make_ranking(
    ...     60, n_features=3, n_informative=2, random_state=0
    ... )
    >>> ranker = ListMLERanker(alpha=0).fit(X, y, groups)
    >>> wald_test(ranker, X, y, groups, features=["x0", "x1"]).df
    2

    Whether two coefficients are equal:

    >>> wald_test(ranker, X, y, groups, R=[[1, -1, 0]]).hypothesis
    'R w = r with R of 1 row'
    """
    groups = find_groups(y, groups, "wald_test", "y")
    of = transformed(estimator, X, groups)
    _refuse_other_models(of.model, "wald_test")
    names = of.names
    reason = why_no_tests(of.model, names)
    if reason is not None:
        raise ValueError(f"{type(of.model).__name__} has no Wald test: {reason}")
    if R is not None and features is not None:
        raise ValueError("features and R say the same in two ways; pass one of them.")
    if R is None and np.ndim(r):
        raise ValueError("r with several numbers goes with R, whose rows they are of.")
    summary = summarize_fit(
        of.model,
        of.X,
        np.asanyarray(y),
        groups,
        sample_weight=sample_weight,
        covariance=covariance,
        clusters=clusters,
        features=features,
        feature_names=names,
        offset=offset,
    )
    n_features = len(summary.coef) - summary.n_extra
    if R is None:
        sums = np.eye(n_features, len(summary.coef))
        hypothesis = f"coefficients {_value(r)}: {listing(summary.names[:n_features])}"
    else:
        sums = _sums(R, n_features, summary)
        hypothesis = f"R w = r with R of {len(sums)} row{'s' * (len(sums) != 1)}"
    return wald(summary, sums, _right(r, len(sums)), hypothesis, covariance)


def _maximum(
    of: Transformed, y: Any, groups: Any, known: dict[str, Any], name: str
) -> Maximum:
    """Return a model at the maximum of its likelihood, or say why it is not there."""
    _refuse_other_models(of.model, "likelihood_ratio_test")
    check_is_fitted(of.model)
    objective = objective_on(
        of.model, of.X, y, groups, method="likelihood_ratio_test", **known
    )
    return Maximum(of.model, objective, name)


def _refuse_other_models(model: Any, function: str) -> None:
    """Raise TypeError for what is not a linear ranker with a model of probabilities."""
    if not hasattr(model, "summary"):
        raise TypeError(
            f"{function} needs a ranker that is a model of probabilities, such as "
            f"ListMLERanker, RankNetRanker or PMOPRanker; {type(model).__name__} is "
            "none."
        )


def _columns_of(small: Any, X: Any) -> Any:
    """Return the columns of X that a model was fitted to."""
    small = without_search(small)
    names = getattr(small, "feature_names_in_", None)
    if names is not None and hasattr(X, "columns"):
        missing = [name for name in names if name not in list(X.columns)]
        if missing:
            raise ValueError(
                f"small was fitted to columns that X has not: {listing(missing)}. "
                "Features of small must be among those of large."
            )
        return X[list(names)]
    n_features = getattr(small, "n_features_in_", np.shape(X)[1])
    if n_features != np.shape(X)[1]:
        raise ValueError(
            f"small was fitted to {n_features} features and X has {np.shape(X)[1]} "
            "without names: pass X_small=, the features of small, or frames."
        )
    return X


def _sums(R: Any, n_features: int, summary: FitSummary) -> Floats:
    """Return the matrix of sums, a column a parameter."""
    matrix = np.atleast_2d(np.asarray(R, dtype=np.float64))
    n_parameters = len(summary.coef)
    if matrix.ndim != 2 or matrix.shape[1] not in (n_features, n_parameters):
        raise ValueError(
            f"R has shape {np.shape(R)}; it needs a row a sum, and {n_features} "
            "columns, one a feature"
            + ("." if n_parameters == n_features else f", or {n_parameters}.")
        )
    if not np.isfinite(matrix).all() or not matrix.any(axis=1).all():
        raise ValueError("R must hold finite numbers, and no row of zeros alone.")
    return np.pad(matrix, ((0, 0), (0, n_parameters - matrix.shape[1])))


def _right(r: Any, n_sums: int) -> NDArray[np.float64]:
    """Return what sums are by the hypothesis."""
    values = np.asarray(0.0 if r is None else r, dtype=np.float64)
    if values.shape not in ((), (n_sums,)) or not np.isfinite(values).all():
        raise ValueError(
            f"r must be a finite number or one a sum ({n_sums}), got {r!r}."
        )
    return np.broadcast_to(values, n_sums)


def _value(r: Any) -> str:
    return "0" if r is None else str(r)

"""A pipeline of scalers and linear rankers that ranks well without tuning."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skrank.ensemble._columns import (
    Categories,
    Columns,
    Imputer,
    Others,
    check_columns,
)
from skrank.ensemble._fusion import FusionRanker
from skrank.linear_model import ListMLERanker
from skrank.preprocessing import QueryScaler

UNIT_RANKS = 12.0**0.5  # ranks from 0 to 1 then have variance 1
# A common variance that counts as 10,000 rows outweighs the variance of any list, so
# that all lists share one unit.
SHARED = 1e4
# At a quarter of the scale the penalty on these columns is 16 times as strong. They
# help where a difference means the same in every list, and lose where each list has its
# own scale or a few rows have very large values; this keeps part of the gain and little
# of the loss.
QUARTER = 0.25
MOST_CATEGORIES = 20  # of a column; rarer ones share one
RIDGE_ALPHAS = np.logspace(0, 4, 9)
# Weights of the gain-weighted ListMLE, the plain ListMLE and ridge regression. The
# plain likelihood loses on long graded lists, since it gives their many lowest rows as
# much weight as the best ones, but wins with few lists or many noise features; so it
# counts half. See doc/defaults.md.
WEIGHTS = (2.0, 1.0, 2.0)


def ranking_pipeline(
    *, per_list: bool = True, categorical: Any = "auto", n_jobs: int | None = None
) -> Pipeline:
    """Return an unfitted pipeline that ranks well without tuning.

    Its steps are scikit-learn's and skrank's own, to see and to change:

    - "columns": missing numbers become the median of the training rows; columns of a
      frame that hold no numbers are one-hot encoded, with at most 20 categories each;
    - "features": every feature five times, scaled inside its list: its standard score
      by the list's own variance, the same and that of its signed log with variances of
      short lists shrunk, its rank, and its difference from the list's mean in units
      that all lists share;
    - "ranker": three linear rankers fused into one, with ``coef_``: the ListMLE whose
      stages weigh their gain, the ListMLE of the plain likelihood, and ridge
      regression. Their penalties follow from the data (``alpha="auto"``, and
      leave-one-out for ridge regression). Labels may be 0 and 1, grades, real or
      negative.

    It gives no probabilities: for these, for races and for choices use
    ``ListMLERanker()`` or another likelihood.

    Parameters
    ----------
    per_list : bool, default=True
        Scale inside each list, so that ``predict`` needs groups too. With False,
        features are standardised over all training rows: 0.014 of NDCG@10 worse in the
        mean of 14 sets, but single rows get scores of their own, and
        :mod:`skrank.export` takes the pipeline out.
    categorical : "auto", None or list of columns, default="auto"
        Columns to encode one-hot: their names, their numbers (from the end where
        negative), or one truth value a column. "auto" takes those of a pandas or
        polars ``X`` that hold no numbers (with ``per_list=False`` none, since an export
        has no encoder); None takes none.
    n_jobs : int, default=None
        Number of processes that fit the three rankers.

    Returns
    -------
    pipeline : sklearn.pipeline.Pipeline
        Needs metadata routing, or groups on the index of a pandas ``X`` and ``y``, as
        :class:`~skrank.preprocessing.QueryScaler` says.

    Raises
    ------
    ValueError
        If ``categorical`` is another string or no list; in ``fit``, if it has columns
        that ``X`` has not.

    Notes
    -----
    A search's ``predict`` and ``cross_val_predict`` do not pass groups on. There put
    them on the index of a pandas ``X`` as a level named "groups" (with pandas
    installed), or use ``search.best_estimator_.predict(X, groups=groups)``. Without
    groups it raises.

    A new list is scaled by its own rows: all of its candidates must be there, and a
    list of one row always gets the same score. Lists much shorter than those of
    the training set are scored from less evidence; there is a warning.

    Sparse ``X`` is refused, since standard scores would fill its zeros; take
    ``make_pipeline(QueryScaler("deviation", shrinkage="auto"),
    ListMLERanker(alpha="auto"))``, whose likelihood ranks best where most features say
    nothing.

    Examples
    --------
    >>> import sklearn
    >>> from skrank import ranking_pipeline
    >>> from skrank.datasets import make_ranking
    >>> X, y, groups = make_ranking(n_lists=30, random_state=0)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     pipeline = ranking_pipeline().fit(X, y, groups=groups)
    ...     scores = pipeline.predict(X, groups=groups)
    >>> scores.shape == y.shape
    True
    >>> [name for name, _ in pipeline.steps]
    ['columns', 'features', 'ranker']
    """
    if categorical is not None:
        check_columns(categorical)
    if not per_list and isinstance(categorical, str):
        categorical = None
    return Pipeline(
        [
            ("columns", _columns(categorical)),
            ("features", _features_by_list() if per_list else StandardScaler()),
            ("ranker", _ranker(n_jobs)),
        ]
    )


def _columns(categorical):
    """Return the step that makes a table of numbers."""
    how = {"strategy": "median", "keep_empty_features": True}
    if categorical is None:
        step = Imputer(**how)
    else:
        chosen = Categories(categorical)
        encode = OneHotEncoder(
            handle_unknown="infrequent_if_exist",
            max_categories=MOST_CATEGORIES,
            sparse_output=False,
        )
        step = Columns(
            [
                ("numbers", SimpleImputer(**how), Others(categorical)),
                ("categories", encode, chosen),
            ],
            verbose_feature_names_out=False,
        )
    # So that groups on the index reach the next steps.
    return step.set_output(transform="pandas") if find_spec("pandas") else step


def _features_by_list():
    """Return the step that scales features inside each list, in five ways.

    Where lists have scales of their own, only the first helps, and the others are
    noise. Beside its shrunk twin it counts twice: the penalty holds it half as hard.
    """
    return FeatureUnion(
        [
            ("own", QueryScaler()),
            ("scores", QueryScaler(shrinkage="auto")),
            ("logs", QueryScaler(shrinkage="auto", signed_log=True)),
            ("ranks", QueryScaler("rank", scale=UNIT_RANKS)),
            ("shared", QueryScaler(shrinkage=SHARED, scale=QUARTER)),
        ]
    )


def _ranker(n_jobs):
    """Return the three rankers as one."""
    return FusionRanker(
        [
            ("gain", ListMLERanker(stage_weights="auto", alpha="auto")),
            ("likelihood", ListMLERanker(alpha="auto")),
            ("regression", RidgeCV(alphas=RIDGE_ALPHAS)),
        ],
        method="scaled",
        weights=WEIGHTS,
        n_jobs=n_jobs,
    )

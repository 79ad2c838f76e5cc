"""Binary preference (bpref), which leaves out rows that nobody judged."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank._data.checks import finite_column
from skrank._data.groups import suggests_groups
from skrank._kernels.binary import binary_preference
from skrank.metrics._average import check_average, flags
from skrank.metrics._registry import registered
from skrank.metrics._relevant import relevant_lists

__all__ = ["bpref_score", "bpref_scorer"]


@suggests_groups
def bpref_score(
    y_true: Any,
    y_score: Any,
    groups: Any = None,
    *,
    relevance_level: float = 1,
    ties: str = "average",
    empty: str | float = "skip",
    average: str | None = "mean",
    sample_weight: Any = None,
    convention: Any = None,
    doc_ids: Any = None,
    retrieved: Any = None,
    judged: Any = None,
) -> Any:
    r"""Return the binary preference, averaged over lists.

    .. math::

        \mathrm{bpref} = \frac1R \sum_{i \text{ relevant}}
            \left( 1 - \frac{\min(n_i, R)}{\min(N, R)} \right)

    where a list has R relevant and N other judged rows, n_i of which are ranked above
    row i [1]_, in the form of trec_eval. It is undefined for a list without a
    relevant row.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Labels, higher is better. Under the convention "trec_eval" rows with less than
        0 count as not judged, as by ``judged``.
    y_score : array-like of shape (n_rows,)
        Scores; the largest of a list is ranked first.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``y_true``.
    relevance_level : float, default=1
        The least label that is relevant.
    ties : {"average", "worst", "best", "order"}, default="average"
        How equal scores count: by the exact mean over their orders, by their worst
        or best order, or in row order.
    empty : "skip" or float, default="skip"
        What an undefined list counts as in the mean. If all are skipped the mean
        is 0.0, with a warning.
    average : {"mean", "geometric", None}, default="mean"
        None returns one value a list, NaN where undefined, in the order of
        ``list_labels(groups)``. "geometric" is the geometric mean, in which values
        below 1e-5 count as 1e-5, as in trec_eval's gm_bpref.
    sample_weight : array-like of shape (n_rows,), default=None
        Weight of each row's list, constant inside a list.
    convention : str, default=None
        Compute the number of this tool: "trec_eval". It sets gain, ties, empty lists,
        divisor and cut-off as the tool does; :func:`explain_metric` shows them.
    doc_ids : array-like of shape (n_rows,), default=None
        Ids of the rows, needed where the convention breaks ties by them.
    retrieved : array-like of bool of shape (n_rows,), default=None
        Which rows are ranked; the others are only there to be found. None means all.
    judged : array-like of bool of shape (n_rows,), default=None
        Which rows somebody labelled; the others are left out. None means all.

    Returns
    -------
    score : float or ndarray of shape (n_lists,)
        Between 0 and 1, higher is better.

    Raises
    ------
    ValueError
        If groups are missing, lengths differ or values are not finite, or if a
        convention contradicts another argument or needs ``doc_ids``.

    Warns
    -----
    UndefinedMetricWarning
        If no list has a relevant row.

    References
    ----------
    .. [1] C. Buckley, E. Voorhees, "Retrieval evaluation with incomplete
       information", SIGIR 2004; the form with the least of N and R is that of
       trec_eval 8 and later.

    Examples
    --------
    >>> from skrank.metrics import bpref_score
    >>> y, scores, groups = [1, 0, 0, 1], [4.0, 3.0, 2.0, 1.0], [7, 7, 7, 7]
    >>> bpref_score(y, scores, groups)
    0.5
    >>> bpref_score(y, scores, groups, judged=[True, True, False, True])
    0.5
    """
    check_average(average, empty, geometric=True)
    options = {"relevance_level": relevance_level, "ties": ties, "empty": empty}
    rows = (y_true, y_score, groups, sample_weight)
    lists = relevant_lists("bpref_score", rows, options, convention, doc_ids, retrieved)
    data = lists.data
    judged_rows = np.ones(len(data.y), dtype=bool)
    if judged is not None:
        judged_rows = data.grouping.gather(flags(judged, "judged", len(data.y)))
    if lists.rule.negative == "unjudged":
        judged_rows &= data.grouping.gather(finite_column(y_true, "y_true")) >= 0
    relevant = judged_rows & (data.y >= lists.rule.relevance_level)
    # Judged rows that were not retrieved count in the divisors, not in the ranking.
    ranked = judged_rows if data.retrieved is None else judged_rows & data.retrieved
    n_relevant = data.grouping.lists.sum(relevant.astype(np.float64))
    values = binary_preference(
        np.where(ranked, relevant.astype(np.float64), -1.0),
        data.scores,
        lists.offsets,
        n_relevant,
        data.grouping.lists.sum(judged_rows.astype(np.float64)) - n_relevant,
        lists.rule.tie,
    )
    return lists.data.average(values, average, lists.rule.empty)


bpref_scorer = registered(bpref_score, empty=0.0)

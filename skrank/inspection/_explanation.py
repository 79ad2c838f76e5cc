"""Explain scores of a linear ranker by what each feature adds to each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skrank._data.checks import as_written, count_of
from skrank._data.grouping import group_rows
from skrank._data.groups import find_groups, suggests_groups
from skrank._data.html import Table, number_text, page_html, paragraph_html, table_html
from skrank._data.lists import Floats, Lists
from skrank._data.ranks import ranks_in_order
from skrank.inspection._models import row_labels, transformed
from skrank.inspection._pair_explanation import PairExplanation

PRINTED = 12  # rows on a page
REASONS = 3  # features named a row
EXACT = 1e-6  # of the spread of scores: float32 keeps about seven digits


@dataclass(frozen=True, eq=False)
class ScoreExplanation:
    """What each feature adds to the scores of rows, relative to their list's mean.

    :func:`explain_scores` returns it.

    Attributes
    ----------
    contributions : ndarray of shape (n_rows, n_features)
        Weight times the feature's distance from its mean in the list, in units of
        score. The sum over features is ``scores - baseline``.
    scores, baseline : ndarray of shape (n_rows,)
        Score of each row, and the mean score of its list.
    ranks : ndarray of int of shape (n_rows,)
        Rank of each row in its list, 1 the best.
    feature_names : list of str
        The features that the ranker itself sees, after the pipeline's other steps.
    groups : ndarray of shape (n_rows,)
        Group label of each row.
    rows : ndarray or Index of shape (n_rows,)
        Label of each row: the index of ``X`` where it has one, else numbers from 0.

    Examples
    --------
    >>> from skrank import ListMLERanker
    >>> from skrank.datasets import load_mode_choice
    >>> from skrank.inspection import explain_scores
    >>> X, y, groups = load_mode_choice()
    >>> ranker = ListMLERanker(alpha=0).fit(X, y, groups)
    >>> explanation = explain_scores(ranker, X[:4], groups[:4])
    >>> explanation.contributions.shape
    (4, 8)
    >>> explanation.ranks
    array([4, 2, 3, 1])
    """

    contributions: Floats
    scores: Floats
    baseline: Floats
    ranks: NDArray[np.intp]
    feature_names: list[str]
    groups: NDArray
    rows: Any

    def to_frame(self) -> Any:
        """Return group, rank, score and contributions as a pandas frame, a row a row.

        Returns
        -------
        frame : DataFrame
            Indexed as ``X``; columns "groups", "rank", "score", "list_mean", and one
            a feature, in units of score.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        import pandas as pd

        facts = pd.DataFrame(
            {
                "groups": self.groups,
                "rank": self.ranks,
                "score": self.scores,
                "list_mean": self.baseline,
            },
            index=self.rows,
        )
        parts = pd.DataFrame(
            self.contributions, index=self.rows, columns=self.feature_names
        )
        return pd.concat([facts, parts], axis=1)

    def of_list(self, list_label: Any) -> ScoreExplanation:
        """Return the rows of one list, best first.

        Parameters
        ----------
        list_label : hashable
            Its group label.

        Returns
        -------
        explanation : ScoreExplanation
            Of these rows alone.

        Raises
        ------
        ValueError
            If there is no such list.
        """
        rows = np.flatnonzero([label == list_label for label in self.groups.tolist()])
        if not len(rows):
            raise ValueError(
                f"there is no list {list_label!r} among groups, which has "
                f"{as_written(self.groups[0])} and so on."
            )
        return self._take(rows[np.argsort(self.ranks[rows], kind="stable")])

    def why(self, first: Any, second: Any) -> PairExplanation:
        """Return what puts one row above another of the same list.

        Parameters
        ----------
        first, second : hashable
            Labels of two rows, as in ``rows``.

        Returns
        -------
        explanation : PairExplanation
            What each feature adds to the difference of their scores.

        Raises
        ------
        ValueError
            If a label is not that of one row, or the rows are of different lists.
        """
        a, b = self._place(first), self._place(second)
        if self.groups[a] != self.groups[b]:
            raise ValueError(
                f"rows {first!r} and {second!r} are of different lists "
                f"({as_written(self.groups[a])} and {as_written(self.groups[b])}), "
                "whose scores do not compare."
            )
        return PairExplanation(
            first,
            second,
            self.contributions[a] - self.contributions[b],
            float(self.scores[a] - self.scores[b]),
            self.feature_names,
        )

    def _place(self, label: Any) -> int:
        """Return the number of the row with this label."""
        at = [number for number, row in enumerate(self.rows) if row == label]
        if len(at) != 1:
            raise ValueError(
                f"{label!r} is the label of {count_of(len(at), 'row')}; it must be "
                "that of one."
            )
        return at[0]

    def _take(self, rows: NDArray) -> ScoreExplanation:
        """Return some rows."""
        return ScoreExplanation(
            self.contributions[rows],
            self.scores[rows],
            self.baseline[rows],
            self.ranks[rows],
            self.feature_names,
            self.groups[rows],
            self.rows[rows],
        )

    def _table(self, all_features: bool) -> Table:
        """Return the first rows as a table: all contributions, or the largest."""
        shown = slice(0, PRINTED)
        heads = ["row", "list", "rank", "score", "list mean"]
        heads += self.feature_names if all_features else ["largest contributions"]
        rows = []
        for place in range(len(self.scores))[shown]:
            cells = [str(self.rows[place]), str(self.groups[place])]
            cells += [str(self.ranks[place]), number_text(self.scores[place])]
            cells.append(number_text(self.baseline[place]))
            parts = self.contributions[place]
            if all_features:
                cells += [number_text(part, 3) for part in parts]
            else:
                cells.append(", ".join(self._reasons(parts)))
            rows.append(cells)
        return Table(heads, rows, 2)

    def _reasons(self, parts: Floats) -> list[str]:
        """Return the features that change the score most, with their contributions."""
        largest = np.argsort(-np.abs(parts), kind="stable")[:REASONS]
        return [f"{self.feature_names[j]} {parts[j]:+.3g}" for j in largest if parts[j]]

    def _more(self) -> str:
        """Return a text on the number of hidden rows; empty if all are shown."""
        more = len(self.scores) - PRINTED
        return f"{count_of(more, 'more row')}: to_frame() has all." if more > 0 else ""

    def __str__(self) -> str:
        heads, rows, *_ = self._table(all_features=False)
        columns = list(zip(heads, *rows, strict=True))
        widths = [max(map(len, column)) for column in columns[:-1]]
        lines = []
        for cells in (heads, *rows):
            start = [
                cell.ljust(width) if number < 2 else cell.rjust(width)
                for number, (cell, width) in enumerate(
                    zip(cells[:-1], widths, strict=True)
                )
            ]
            lines.append("  ".join([*start, cells[-1]]))
        more = self._more()
        return "\n".join([*lines, *([more] if more else [])])

    def __repr__(self) -> str:
        return (
            f"<ScoreExplanation: {count_of(len(self.scores), 'row')}, "
            f"{count_of(len(self.feature_names), 'feature')}; print it for the table>"
        )

    def _repr_html_(self) -> str:
        few = len(self.feature_names) <= PRINTED
        table = self._table(all_features=few)
        table = table._replace(n_text=2, caption="Contributions to scores")
        return page_html(table_html(table), paragraph_html(self._more()))


@suggests_groups
def explain_scores(estimator: Any, X: Any, groups: Any = None) -> ScoreExplanation:
    r"""Explain the scores of rows by what each feature adds.

    Only differences of scores inside a list matter, so a row is compared to the mean
    of its list: feature j adds

    .. math:: w_j \, (x_{ij} - \bar x_{q(i)\, j})

    to row i of list q(i). For a linear model these numbers are exact and are its
    Shapley values with the list as background; :meth:`ScoreExplanation.why` compares
    two rows instead.

    Parameters
    ----------
    estimator : estimator
        A fitted linear ranker or regressor (one with ``coef_``), a pipeline that ends
        in one, or a search over either. Features are then those that the pipeline
        makes.
    X : {array-like, sparse matrix, dataframe} of shape (n_rows, n_features)
        Whole lists: the mean is taken over the rows given.
    groups : array-like of shape (n_rows,), default=None
        One group label a row; None takes the index level "groups" of ``X``.

    Returns
    -------
    explanation : ScoreExplanation
        Prints the largest contributions; ``to_frame()`` has all.

    Raises
    ------
    TypeError
        If the estimator is not linear.
    ValueError
        If groups are missing or have another length than ``X``.

    See Also
    --------
    ContributionDisplay : A picture of one list.

    References
    ----------
    .. [1] S. M. Lundberg, S.-I. Lee, "A unified approach to interpreting model
       predictions", NeurIPS 2017, section 4: linear models.

    Examples
    --------
    >>> from skrank import ListMLERanker
    >>> from skrank.inspection import explain_scores
    >>> X = [[2.0, 1.0], [1.0, 3.0], [0.0, 2.0]]
    >>> ranker = ListMLERanker().fit(X, [2, 1, 0], [7, 7, 7])
    >>> print(explain_scores(ranker, X, [7, 7, 7]))
    row  list  rank    score  list mean  largest contributions
    0    7        1    4.087      1.716  x0 +2.15, x1 +0.219
    1    7        2    1.497      1.716  x1 -0.219
    2    7        3  -0.4372      1.716  x0 -2.15
    """
    groups = find_groups(X, groups, "explain_scores", "X")
    rows = row_labels(X)
    final, X, names = transformed(estimator, X, groups)
    coef = getattr(final, "coef_", None)
    if coef is None:
        raise TypeError(
            f"{type(final).__name__} has no coef_: explain_scores is for linear "
            "models. SHAP's explainers take the others, or sklearn.inspection's "
            "permutation_importance."
        )
    features = X.toarray() if sparse.issparse(X) else np.asarray(X)
    features = features.astype(np.float64)
    scores = np.asarray(final.predict(X), dtype=np.float64)
    grouping = group_rows(groups, len(scores))
    contributions, baseline = _contributions(
        grouping.gather(features),
        np.ravel(coef),
        grouping.gather(scores),
        grouping.lists,
    )
    _refuse_nonlinear(final, contributions, grouping.gather(scores), baseline)
    ranks = ranks_in_order(grouping.gather(scores), grouping.lists, "min")
    of_row = grouping.lists.expand(np.arange(grouping.lists.n_lists))
    return ScoreExplanation(
        grouping.scatter(contributions),
        scores,
        grouping.scatter(baseline),
        grouping.scatter(ranks),
        names,
        grouping.labels[grouping.scatter(of_row)],
        np.arange(len(scores)) if rows is None else rows,
    )


def _contributions(
    features: Floats, coef: Floats, scores: Floats, lists: Lists
) -> tuple[Floats, Floats]:
    """Return contributions and each row's list mean, the rows of lists together."""
    # Subtract the first row before the mean, so that features that are constant in a
    # list add exactly 0.
    centred = features - lists.expand(features[lists.starts])
    means = np.add.reduceat(centred, lists.starts, axis=0) / lists.sizes[:, None]
    baseline = lists.expand(lists.sum(scores) / lists.sizes)
    return (centred - lists.expand(means)) * coef, baseline


def _refuse_nonlinear(
    model: Any, contributions: Floats, scores: Floats, baseline: Floats
) -> None:
    """Raise TypeError if contributions do not add up to the scores."""
    off = contributions.sum(axis=1) - (scores - baseline)
    size = np.max(np.abs(contributions).sum(axis=1) + np.abs(scores), initial=0.0)
    if np.max(np.abs(off), initial=0.0) > EXACT * size:
        raise TypeError(
            f"scores of {type(model).__name__} are no weighted sums of its features "
            "with the weights in coef_, so contributions would not add up."
        )

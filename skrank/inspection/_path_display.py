"""Draw how coefficients change with the strength of the penalty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sklearn
from numpy.typing import ArrayLike
from sklearn.base import clone

from skrank._data.checks import check_count
from skrank._data.groups import find_groups, suggests_groups
from skrank._data.lists import Indices
from skrank.inspection._drawing import (
    COLORS,
    GREY,
    add_legend,
    new_axes,
    room_for_legend,
    style_of,
)
from skrank.inspection._models import transformed


class RegularizationPathDisplay:
    """Coefficients against the strength of the penalty.

    Use :meth:`from_estimator`, or :meth:`from_path` for a computed path.

    Parameters
    ----------
    alphas : ndarray of shape (n_alphas,)
        Strengths of the penalty, above 0.
    coefs : ndarray of shape (n_alphas, n_features)
        Coefficients at each.
    names : sequence of str
        Names of the features.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of the axes.
    lines_ : list of Line2D
        One line a feature, the largest first.

    Examples
    --------
    >>> from skrank import ListMLERanker
    >>> from skrank.datasets import make_ranking
    >>> from skrank.inspection import RegularizationPathDisplay
    >>> X, y, groups = make_ranking(40, n_features=4, random_state=0, n_informative=2)
    >>> display = RegularizationPathDisplay.from_estimator(
    ...     ListMLERanker(), X, y, groups, alphas=[0.01, 1.0, 100.0]
    ... )
    >>> display.coefs.shape
    (3, 4)
    """

    def __init__(
        self, alphas: Any, coefs: Any, names: Sequence[str] | None = None
    ) -> None:
        self.alphas = np.asarray(alphas, dtype=np.float64)
        self.coefs = np.asarray(coefs, dtype=np.float64)
        if self.coefs.ndim != 2 or len(self.coefs) != len(self.alphas):
            raise ValueError(
                "coefs must be of shape (n_alphas, n_features), got "
                f"{self.coefs.shape} for {len(self.alphas)} alphas."
            )
        n_features = self.coefs.shape[1]
        self.names = [f"x{j}" for j in range(n_features)]
        if names is not None:
            self.names = [str(name) for name in names]
        if len(self.names) != n_features:
            raise ValueError(
                f"names has {len(self.names)} entries for {n_features} features."
            )

    @classmethod
    @suggests_groups
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        groups: Any = None,
        *,
        alphas: ArrayLike | None = None,
        chosen: float | None = None,
        ax: Any = None,
        max_labels: int = 10,
    ) -> RegularizationPathDisplay:
        """Fit a linear ranker at each strength of the penalty, and draw the path.

        Parameters
        ----------
        estimator : estimator
            A linear ranker with ``alpha``, or a pipeline that ends in one. Not
            changed: copies are fitted, each from the coefficients of the one before.
        X : {array-like, sparse matrix, dataframe} of shape (n_rows, n_features)
            Features.
        y : array-like of shape (n_rows,)
            Labels, higher is better.
        groups : array-like of shape (n_rows,), default=None
            One group label a row; None takes the index level "groups" of ``y``.
        alphas : array-like of shape (n_alphas,), default=None
            Strengths above 0; None takes 20 from 1e-4 to 100.
        chosen, ax, max_labels
            See :meth:`plot`.

        Returns
        -------
        display : RegularizationPathDisplay
            Drawn.

        Raises
        ------
        ValueError
            If groups are missing, or an alpha is not above 0.
        """
        groups = find_groups(y, groups, "RegularizationPathDisplay.from_estimator", "y")
        values = np.geomspace(1e-4, 100.0, 20) if alphas is None else np.asarray(alphas)
        values = np.sort(values.astype(np.float64))[::-1]
        if not (values > 0).all():
            raise ValueError(f"alphas must be above 0, got {values.min():g}.")
        model = clone(estimator)
        names = None
        if hasattr(model, "steps"):
            # The other steps do not depend on the penalty, so they are fitted once.
            steps_before = model[:-1]
            with sklearn.config_context(enable_metadata_routing=True):
                requests = sklearn.utils.metadata_routing.get_routing_for_object(
                    steps_before
                )
                requested = requests.consumes("fit", ["groups"])
                steps_before.fit(X, y, **dict.fromkeys(requested, groups))
            last = model.steps[-1]
            fitted = type(model)([*steps_before.steps, last])
            _, X, names = transformed(fitted, X, groups)
            model = last[1]
        if "warm_start" in model.get_params():
            model.set_params(warm_start=True)
        coefs = []
        for alpha in values:
            model.set_params(alpha=float(alpha)).fit(X, y, groups)
            coefs.append(model.coef_.copy())
        if names is None:
            names = transformed(model, X, groups).names
        display = cls(values[::-1], np.array(coefs)[::-1], names)
        return display.plot(ax, chosen=chosen, max_labels=max_labels)

    @classmethod
    def from_path(
        cls,
        alphas: Any,
        coefs: Any,
        names: Sequence[str] | None = None,
        *,
        chosen: float | None = None,
        ax: Any = None,
        max_labels: int = 10,
    ) -> RegularizationPathDisplay:
        """Draw a path that was computed before.

        Parameters
        ----------
        alphas : array-like of shape (n_alphas,)
            Strengths of the penalty, above 0.
        coefs : array-like of shape (n_alphas, n_features)
            Coefficients at each.
        names : sequence of str, default=None
            Names of the features; None takes x0, x1, ...
        chosen, ax, max_labels
            See :meth:`plot`.

        Returns
        -------
        display : RegularizationPathDisplay
            Drawn.
        """
        display = cls(alphas, coefs, names)
        return display.plot(ax, chosen=chosen, max_labels=max_labels)

    def plot(
        self, ax: Any = None, *, chosen: float | None = None, max_labels: int = 10
    ) -> RegularizationPathDisplay:
        """Draw the path.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        chosen : float, default=None
            A strength to mark, as a search found it.
        max_labels : int, default=10
            So many features, the largest at the weakest penalty, have a colour and a
            name; the others are grey.

        Returns
        -------
        display : RegularizationPathDisplay
            This display.
        """
        check_count(max_labels, "max_labels")
        weakest = self.coefs[np.argmin(self.alphas)]
        order: Indices = np.argsort(-np.abs(weakest), kind="stable")
        n_named = min(max_labels, len(order))
        width, height = room_for_legend([str(self.names[j]) for j in order[:n_named]])
        size = (6.0 + width, max(4.4, height))
        self.figure_, (self.ax_,) = new_axes(ax, 1, size)
        self.lines_ = []
        for place, j in enumerate(order):
            if place < n_named:
                style = {**style_of(place), "label": self.names[j], "linewidth": 1.5}
                style["linestyle"] = "-" if place < len(COLORS) else "--"
            else:
                style = {"color": GREY, "linewidth": 0.6, "zorder": 0}
                style["label"] = f"{len(order) - n_named} others"
                if place > n_named:
                    style["label"] = "_" + str(self.names[j])
            self.lines_ += self.ax_.plot(
                self.alphas, self.coefs[:, j], markersize=3, **style
            )
        if chosen is not None:
            self.ax_.axvline(
                chosen, color="black", linestyle=":", label=f"alpha = {chosen:g}"
            )
        self.ax_.set_xscale("log")
        self.ax_.axhline(0.0, color=GREY, linewidth=1)
        self.ax_.set_xlabel("alpha (strength of the penalty)")
        self.ax_.set_ylabel("coefficient (score per unit of the feature)")
        self.ax_.grid(alpha=0.3)
        add_legend(self.ax_)
        return self

"""Fits that stop by the rule of the PMOP paper, on the public losses of skrank."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning

from skrank import Lists
from skrank import losses as all_losses


class PaperFit(RegressorMixin, BaseEstimator):
    """Minimise a ranker's loss until an iteration improves it by a share of itself.

    skrank's rankers compare the improvement to the decrease since zero weights, which
    does not change if a constant is added to the loss. The paper compares it to the
    loss, and so does SciPy's L-BFGS-B if it is left alone: that is done here. The
    objective is the sum over lists and its scale is the number of lists.

    Parameters
    ----------
    ranker : estimator
        Names the loss, ``normalize``, ``alpha``, ``ftol`` and ``max_iter``.
    """

    __metadata_request__fit = {"groups": True}  # noqa: RUF012

    def __init__(self, ranker):
        self.ranker = ranker

    @staticmethod
    def takes(ranker):
        """Return whether a ranker's loss is smooth and its solver L-BFGS."""
        settings = ranker.get_params()
        smooth = settings.get("hinge") != "linear"
        return smooth and settings.get("inference", "exact") == "exact"

    def _loss(self):
        """Return the loss that the ranker's own parameters describe."""
        settings = self.ranker.get_params()
        made = getattr(all_losses, LOSS_OF[type(self.ranker).__name__])
        known = made().get_params()
        return made(**{name: settings[name] for name in known if name in settings})

    def fit(self, X, y, groups):
        """Minimise from zero weights."""
        settings = self.ranker.get_params()
        codes = np.unique(groups, return_inverse=True)[1]
        order = np.argsort(codes, kind="stable")
        X, y = X[order], np.asarray(y, dtype=float)[order]
        lists = Lists(np.bincount(codes))
        loss = self._loss()
        y = loss.check_labels(y, lists)
        prepared = loss.prepare(y, lists)
        extra = loss.extra_parameters(y, lists)
        share = np.ones(lists.n_lists)
        if settings["normalize"] == "size":
            share = 1.0 / lists.sizes
        n_features = X.shape[1]

        def objective(parameters):
            coef, extra_values = parameters[:n_features], parameters[n_features:]
            parts = loss.value_and_gradient(
                X @ coef,
                prepared,
                lists,
                *([extra_values] if len(extra_values) else []),
            )
            gradient = X.T @ (parts[1] * lists.expand(share))
            if len(extra_values):
                gradient = np.append(gradient, share @ parts[2])
            gradient[:n_features] += settings["alpha"] * lists.n_lists * coef
            penalty = 0.5 * settings["alpha"] * lists.n_lists * (coef @ coef)
            return share @ parts[0] + penalty, gradient

        self.result_ = minimize(
            objective,
            np.append(np.zeros(n_features), extra),
            jac=True,
            method="L-BFGS-B",
            options={"ftol": settings["ftol"], "maxiter": settings["max_iter"]},
        )
        if self.result_.status == 1:
            warnings.warn(
                "PaperFit stopped before it converged, at its limit of iterations.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.coef_ = self.result_.x[:n_features]
        self.n_iter_ = self.result_.nit
        return self

    def predict(self, X):
        """Return the scores."""
        return X @ self.coef_


LOSS_OF = {
    "RankRegressionRanker": "RankRegression",
    "RankNetRanker": "RankNet",
    "RankSVMRanker": "RankSVM",
    "ListMLERanker": "ListMLE",
    "ListNetRanker": "ListNet",
    "DavidsonRanker": "Davidson",
    "RaoKupperRanker": "RaoKupper",
    "PMOPRanker": "PMOP",
}

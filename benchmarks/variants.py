"""What the trials of defaults try: rankers on features scaled in several ways."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
)
from sklearn.utils.metadata_routing import get_routing_for_object

from skrank import (
    DavidsonLuceRanker,
    DavidsonRanker,
    ListMLERanker,
    ListNetRanker,
    PMOPRanker,
    RankNetRanker,
    RankRegressionRanker,
    RankSVMRanker,
    RaoKupperRanker,
    ranking_pipeline,
)
from skrank.metrics import ndcg_score
from skrank.model_selection import QueryKFold
from skrank.preprocessing import QueryScaler, SecondOrderFeatures

REFERENCE = "ridge, tuned | by list"
RIDGE_ALPHAS = 10.0 ** np.arange(5)
ALPHAS = 10.0 ** np.arange(-2, 2)

TABLES: dict[str, Any] = {
    "standard": StandardScaler(),
    "by list": QueryScaler(),
    "shrunk 1": QueryScaler(shrinkage=1.0),
    "shrunk 5": QueryScaler(shrinkage=5.0),
    "shrunk": QueryScaler(shrinkage="auto"),
    "logs": QueryScaler(signed_log=True),
    "shared": QueryScaler(shrinkage=1e4, scale=0.25),
    "shared, unit scale": QueryScaler(shrinkage=1e4),
    "shrunk logs": QueryScaler(shrinkage="auto", signed_log=True),
    "ranks": QueryScaler("rank", scale=12**0.5),
    "bins": make_pipeline(
        QueryScaler(), KBinsDiscretizer(6, encode="onehot-dense", subsample=None)
    ),
    "splines": make_pipeline(
        QueryScaler(), SplineTransformer(4, knots="quantile", extrapolation="linear")
    ),
    "quantiles": make_pipeline(
        QuantileTransformer(n_quantiles=100, output_distribution="normal"),
        QueryScaler("center"),
    ),
    "products": make_pipeline(QueryScaler(), SecondOrderFeatures(0.05)),
}


class TunedRidge(RegressorMixin, BaseEstimator):
    """Ridge regression, its alpha chosen by folds of whole lists."""

    def fit(self, X, y, groups):
        """Choose alpha and fit."""
        scores = np.zeros(len(RIDGE_ALPHAS))
        splitter = QueryKFold(5, shuffle=True, random_state=0)
        for train, test in splitter.split(X, y, groups):
            for i, coef in enumerate(ridge_path(X[train], y[train], RIDGE_ALPHAS)):
                values = ndcg_of(y[test], X[test] @ coef, groups[test])
                scores[i] += values.sum()
        self.alpha_ = RIDGE_ALPHAS[np.argmax(scores)]
        self.coef_ = ridge_path(X, y, [self.alpha_])[0]
        return self

    def predict(self, X):
        """Return scores."""
        return X @ self.coef_


def ridge_path(X, y, alphas):
    """Return the weights of ridge regression with an intercept, one row an alpha."""
    Z = X - X.mean(axis=0)
    values, vectors = np.linalg.eigh(Z.T @ Z)
    moments = vectors.T @ (Z.T @ (y - y.mean()))
    return [vectors @ (moments / (np.maximum(values, 0) + a)) for a in alphas]


class ByRule(BaseEstimator):
    """A ranker whose alpha is a multiple of the rule, or of another count."""

    def __init__(self, ranker, factor=1.0, rule="effective"):
        self.ranker, self.factor, self.rule = ranker, factor, rule

    def fit(self, X, y, groups):
        """Fit the ranker at its alpha."""
        labels = np.unique(groups, return_inverse=True)[1]
        high, low = (
            np.full(labels.max() + 1, -np.inf),
            np.full(labels.max() + 1, np.inf),
        )
        np.maximum.at(high, labels, y)
        np.minimum.at(low, labels, y)
        varies = X.std(axis=0) > 0
        ranker = clone(self.ranker)
        if self.rule == "features":
            alpha = varies.sum() / np.sum(high > low)
        else:
            alpha = clone(ranker).set_params(alpha="auto", max_iter=1)
            alpha = alpha.fit(X, y, groups).alpha_
        if self.rule == "all lists":
            alpha *= np.mean(high > low)
        self.ranker_ = ranker.set_params(alpha=self.factor * alpha).fit(X, y, groups)
        return self

    def predict(self, X):
        """Return scores."""
        return self.ranker_.predict(X)


class Fold:
    """A training and a validation part, and their features scaled in several ways."""

    def __init__(self, train, test):
        self.train, self.test, self.kept = train, test, {}

    def table(self, kinds):
        """Return training and validation features; several kinds side by side."""
        parts = [self.one(kind) for kind in kinds.split(" + ")]
        return tuple(np.hstack(tables) for tables in zip(*parts, strict=True))

    def one(self, kind):
        """Return training and validation features of one kind."""
        if kind not in self.kept:
            scaler, routed = clone(TABLES[kind]), [{}, {}]
            if get_routing_for_object(scaler).consumes("transform", ["groups"]):
                routed = [{"groups": part[2]} for part in (self.train, self.test)]
            with (
                warnings.catch_warnings(),
                config_context(enable_metadata_routing=True),
            ):
                warnings.simplefilter("ignore")
                scaler.fit(*self.train[:2], **routed[0])
                self.kept[kind] = tuple(
                    scaler.transform(part[0], **groups)
                    for part, groups in zip(
                        (self.train, self.test), routed, strict=True
                    )
                )
        return self.kept[kind]


def ndcg_of(y, scores, groups):
    values = ndcg_score(y - min(0.0, y.min()), scores, groups, k=10, average=None)
    return np.nan_to_num(values, nan=0.0)


class Variant(NamedTuple):
    """A name, the features, and the estimator; a pipeline makes its own features."""

    name: str
    table: str | None
    estimator: Any

    @property
    def label(self):
        """Return the name of the row."""
        return self.name if self.table is None else f"{self.name} | {self.table}"

    def values(self, fold):
        """Return NDCG@10 of the validation lists."""
        X, y, groups = fold.train
        estimator = clone(self.estimator)
        with warnings.catch_warnings(), config_context(enable_metadata_routing=True):
            warnings.simplefilter("ignore")
            if self.table is None:
                scores = estimator.fit(X, y, groups=groups)
                scores = scores.predict(fold.test[0], groups=fold.test[2])
            else:
                A, B = fold.table(self.table)
                plain = isinstance(estimator, Ridge | RidgeCV)
                scores = estimator.fit(A, y, *([] if plain else [groups])).predict(B)
        return ndcg_of(fold.test[1], scores, fold.test[2])


class Fused(NamedTuple):
    """Members fused by "scaled", each fitted once a fold for all variants.

    The scores are those of ``FusionRanker(members, "scaled", weights=weights)``.
    """

    table: str
    weights: dict[str, float]
    own: float = 0.0  # weight of ridge regression on scores by list alone

    @property
    def label(self):
        """Return the name of the row."""
        parts = [f"{w:g} {k}" if w != 1 else k for k, w in self.weights.items()]
        if self.own:
            parts.append(f"{self.own:g} ridge by list")
        return f"{' + '.join(parts)} | {self.table}"

    def values(self, fold):
        """Return NDCG@10 of the validation lists."""
        scores = sum(
            w * self.scaled(self.table, k, fold) for k, w in self.weights.items()
        )
        if self.own:
            scores = scores + self.own * self.scaled("by list", "ridge", fold)
        return ndcg_of(fold.test[1], scores, fold.test[2])

    @staticmethod
    def scaled(table, name, fold):
        """Return a member's scores over their deviation inside training lists."""
        kept = fold.kept.setdefault("members", {})
        if (table, name) not in kept:
            (A, B), member = fold.table(table), clone(MEMBERS[name])
            groups = [] if isinstance(member, RidgeCV) else [fold.train[2]]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                member.fit(A, fold.train[1], *groups)
            own = QueryScaler("center").fit_transform(
                member.predict(A)[:, None], groups=fold.train[2]
            )
            deviation = own.std()
            kept[table, name] = member.predict(B) / (deviation or np.inf)
        return kept[table, name]


def of_rankers():
    """Yield the simple rankers beside ridge regression, on both scalings."""
    yield Variant("ridge, tuned", "by list", TunedRidge())
    for table in ("standard", "by list"):
        yield Variant("ridge(1)", table, Ridge())
        if table == "standard":
            yield Variant("ridge, tuned", table, TunedRidge())
        for ranker in (
            ListMLERanker(),
            ListMLERanker(stage_weights="auto"),
            RankNetRanker(),
            RankNetRanker("gain"),
            ListNetRanker(),
        ):
            yield Variant(repr(ranker), table, ranker)
    yield Variant("ranking_pipeline()", None, ranking_pipeline())
    yield Variant("ranking_pipeline(per_list=False)", None, WithoutGroups())
    try:
        from lightgbm import LGBMRanker  # noqa: F401
    except ImportError:
        return
    yield Variant("LightGBM lambdarank", None, Lambdarank())


class WithoutGroups(BaseEstimator):
    """The pipeline that needs no groups to predict."""

    def fit(self, X, y, groups):
        """Fit the pipeline."""
        self.pipeline_ = ranking_pipeline(per_list=False).fit(X, y, groups=groups)
        return self

    def predict(self, X, groups=None):
        """Return scores."""
        return self.pipeline_.predict(X)


class Lambdarank(BaseEstimator):
    """LightGBM's ranker with its defaults, on raw features."""

    def fit(self, X, y, groups):
        """Fit the booster."""
        from lightgbm import LGBMRanker

        order = np.argsort(np.unique(groups, return_inverse=True)[1], kind="stable")
        sizes = np.unique(groups, return_counts=True)[1]
        labels = np.rint(y[order] - min(0.0, y.min())).astype(int)
        self.ranker_ = LGBMRanker(n_jobs=1, verbose=-1)
        self.ranker_.fit(X[order], labels, group=sizes)
        return self

    def predict(self, X, groups=None):
        """Return scores."""
        return self.ranker_.predict(X)


def of_stages():
    """Yield stage weights and rules of alpha."""
    gain = ListMLERanker(stage_weights="auto")
    for rule in ("effective", "features", "all lists"):
        yield Variant(f"gain stages, alpha by {rule}", "by list", ByRule(gain, 1, rule))
    for factor in (0.1, 0.3, 3.0, 10.0):
        yield Variant(
            f"gain stages, {factor:g} times the rule",
            "by list",
            ByRule(gain, factor),
        )
    for weights in ("uniform", "position", "discount"):
        ranker = ListMLERanker(stage_weights=weights, alpha="auto")
        yield Variant(f"{weights} stages, rule", "by list", ranker)
    for ties in ("breslow", "marginal"):
        ranker = ListMLERanker(ties, stage_weights="auto", alpha="auto")
        yield Variant(f"gain stages {ties}, rule", "by list", ranker)
    for ranker in (RankNetRanker("gain", alpha="auto"), ListNetRanker(alpha="auto")):
        yield Variant(repr(ranker), "by list", ranker)


def of_scalers():
    """Yield ways to scale, under tuned ridge regression."""
    for table in [*list(TABLES)[2:10], "shrunk + ranks", "shrunk + shrunk logs"]:
        yield Variant("ridge, tuned", table, TunedRidge())


MEMBERS = {
    "gain": ListMLERanker(stage_weights="auto", alpha="auto"),
    "likelihood": ListMLERanker(alpha="auto"),
    "ridge": RidgeCV(np.logspace(0, 4, 9)),
    "ListNet": ListNetRanker(alpha="auto"),
    "RankNet": RankNetRanker(alpha="auto"),
    "RankNet by gain": RankNetRanker("gain", alpha="auto"),
    "label differences": RankRegressionRanker("labels", alpha="auto"),
}


CHOSEN = {"gain": 2.0, "likelihood": 1.0, "ridge": 2.0}  # as in the pipeline
THREE = "shrunk + shrunk logs + ranks"
FOUR = f"{THREE} + shared"


def of_members():
    """Yield members and features of the pipeline."""
    chosen, three, every = CHOSEN, THREE, FOUR
    for table in (
        *("by list", "shrunk", "shrunk + ranks", "shrunk + shrunk logs", three),
        *(f"{three} + shared, unit scale", every),
    ):
        yield Fused(table, chosen)
    for weights in (
        {"gain": 1.0, "likelihood": 1.0, "ridge": 1.0},
        {"gain": 1.0, "ridge": 1.0},
        {"likelihood": 1.0, "ridge": 1.0},
        {"gain": 1.0, "likelihood": 1.0},
        *({name: 1.0} for name in MEMBERS),
        chosen | {"ListNet": 2.0},
        chosen | {"RankNet by gain": 2.0},
        {"gain": 2.0, "RankNet": 1.0, "ridge": 2.0},
        {"gain": 2.0, "likelihood": 1.0, "label differences": 2.0},
    ):
        yield Fused(every, weights)
    yield Variant("ridge, tuned", every, TunedRidge())


def of_insurances():
    """Yield what may help the pipeline where lists have scales of their own.

    A scaling by each list alone beside the shrunk ones, or in their place, and ridge
    regression that sees it alone as a member.
    """
    alike = dict.fromkeys(CHOSEN, 1.0)
    for table in (FOUR, f"by list + {FOUR}", FOUR.replace("shrunk +", "by list +")):
        for own in (0.0, 1.0, 2.0, 3.0, 5.0):
            yield Fused(table, CHOSEN, own)
        yield Fused(table, alike, 1.0)
        yield Fused(table, alike | {"gain": 2.0}, 1.0)
    yield Fused(FOUR, {"ridge": 1.0})
    yield Fused(FOUR, {"ridge": 1.0}, 1.0)
    yield Fused("by list", {"ridge": 1.0})


def of_alphas():
    """Yield the alphas of the other rankers."""
    for ranker in (
        RankRegressionRanker(),
        RankRegressionRanker("labels"),
        RankSVMRanker(),
        RaoKupperRanker(),
        DavidsonRanker(),
        DavidsonLuceRanker(),
        PMOPRanker(),
        PMOPRanker("geometric"),
    ):
        for alpha in (*ALPHAS.tolist(), "auto"):
            one = clone(ranker).set_params(alpha=alpha)
            yield Variant(repr(one), "by list", one)


def of_features():
    """Yield makers of features, under a tuned and an untuned ranker."""
    gain = ListMLERanker(stage_weights="auto", alpha="auto")
    for table in (
        "by list",
        "logs",
        "ranks",
        "quantiles",
        "splines",
        "bins",
        "products",
    ):
        both = table if table in ("by list", "products") else f"by list + {table}"
        yield Variant("ridge, tuned", both, TunedRidge())
        yield Variant("ListMLE by gain", both, gain)
    for table in ("by list", "logs"):
        yield Variant("LightGBM lambdarank", table, Lambdarank())


QUESTIONS: dict[str, Callable] = {
    "rankers": of_rankers,
    "stages": of_stages,
    "scalers": of_scalers,
    "pipelines": of_members,
    "alphas": of_alphas,
    "features": of_features,
}

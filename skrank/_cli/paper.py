"""The experiment of the paper on ordered partitions: rankers, features, and the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sklearn.preprocessing import StandardScaler

from skrank import linear_model as lm
from skrank._cli.rankers import made
from skrank.model_selection._comparison import Fold, compare
from skrank.model_selection._named_metrics import Metric
from skrank.model_selection._ranker_comparison import RankerComparison
from skrank.model_selection._result import RankerResult
from skrank.preprocessing import SecondOrderFeatures

TITLE = "the experiment of Truyen, Phung and Venkatesh (SDM 2011)"
# The name in the paper, and what it is here.
OF_PAPER: dict[str, tuple[type, dict[str, Any]]] = {
    "Rank Regress": (lm.RankRegressionRanker, {"differences": "labels"}),
    "RankNet": (lm.RankNetRanker, {}),
    "Ranking SVM": (lm.RankSVMRanker, {"hinge": "linear"}),
    "ListMLE, file order": (lm.ListMLERanker, {"ties": "order"}),
    "ListMLE, random order": (lm.ListMLERanker, {"ties": "random"}),
    "PairTies-D": (lm.DavidsonRanker, {}),
    "PairTies-RK": (lm.RaoKupperRanker, {}),
    "PMOP-FD": (lm.PMOPRanker, {"potential": "arithmetic"}),
    "PMOP-Gibbs": (lm.PMOPRanker, {"potential": "geometric", "inference": "gibbs"}),
    "PMOP-MH": (lm.PMOPRanker, {"potential": "geometric", "inference": "metropolis"}),
}
BASE = "ListMLE, Efron"  # what others are compared to
BESIDE: dict[str, tuple[type, dict[str, Any]]] = {
    BASE: (lm.ListMLERanker, {"ties": "efron"}),
    "PMOP, exact": (lm.PMOPRanker, {"potential": "geometric"}),
    "Rank Regress, margin": (lm.RankRegressionRanker, {"differences": "margin"}),
    "Ranking SVM, squared": (lm.RankSVMRanker, {"hinge": "squared"}),
    "ListNet": (lm.ListNetRanker, {}),
}
FIRST, CENTRED, RAW = "first order", "+ centred", "+ raw"
FTOL = 1e-5
MAX_ITER = 100


def paper_rankers(alpha: float | None, n_jobs: int, seed: int) -> dict[str, Any]:
    """Return the rankers with the paper's rules for stopping, by name."""
    common = {"alpha": alpha or 0.0, "n_jobs": n_jobs, "random_state": seed}
    rankers = {}
    for name, (ranker, settings) in (OF_PAPER | BESIDE).items():
        stop: dict[str, Any] = {"ftol": FTOL, "max_iter": MAX_ITER}
        if "inference" in settings:
            stop = {}  # the defaults of chains are the paper's
        rankers[name] = made(ranker, settings, **common, **stop)
    return rankers


def feature_sets(threshold: float | None, with_mean: bool) -> dict[str, Any]:
    """Return the transformers; without a threshold there are no products."""
    sets: dict[str, Any] = {FIRST: StandardScaler(with_mean=with_mean)}
    if threshold is not None:
        sets[CENTRED] = SecondOrderFeatures(threshold)
        sets[RAW] = SecondOrderFeatures(threshold, center=False)
    return sets


def protocol(rankers: Mapping[str, Any]) -> str:
    """Say when fits stop."""
    chain = rankers["PMOP-MH"]
    return (
        f"alpha: {chain.alpha:g}; L-BFGS stops at a relative improvement of {FTOL:g} "
        f"or after {MAX_ITER} iterations, chains after {chain.max_iter:,} passes with "
        f"steps of {chain.learning_rate:g}"
    )


def run_paper(
    rankers: Mapping[str, Any],
    sets: Mapping[str, Any],
    folds: Sequence[Fold],
    metrics: Mapping[str, Metric],
    progress: Callable[[int, str], None],
    **options: Any,
) -> tuple[dict[str, RankerComparison], dict[str, list[Any]]]:
    """Compare the rankers on each set of features.

    Returns
    -------
    found : dict of str to RankerComparison
        By set of features.
    learned : dict of str to list of transformer
        Fitted to each fold.
    """
    found: dict[str, RankerComparison] = {}
    learned: dict[str, list[Any]] = {name: [] for name in sets}
    for number, (name, transformer) in enumerate(sets.items(), start=1):
        which = f" (set {number} of {len(sets)})" if len(sets) > 1 else ""
        comparison = compare(
            rankers,
            folds,
            metrics,
            transformer=transformer,
            learned=learned[name].append,
            progress=_with_features(progress, name + which),
            **options,
        )
        results = {
            key: _as_asked(one, len(folds)) for key, one in comparison.results.items()
        }
        found[name] = replace(comparison, results=results)
    return found, learned


def _with_features(
    progress: Callable[[int, str], None], features: str
) -> Callable[[int, str], None]:
    return lambda fold, ranker: progress(fold, f"{ranker}, {features}")


def _as_asked(result: RankerResult, n_folds: int) -> RankerResult:
    """Say of what the protocol brings about the same for all, not what to do."""
    where = " in at least one fold" if n_folds > 1 else ""
    brought = {
        "stopped before it converged": (
            f"Ended at {MAX_ITER} iterations{where}, as the paper's do."
        ),
        "no finite weights are best": (
            f"No finite weights are best{where}: they grow until the solver stops."
        ),
    }
    known: dict[str, int] = {}
    for text, count in result.warnings.items():
        said = next((new for old, new in brought.items() if old in text), text)
        known[said] = known.get(said, 0) + count
    return replace(result, warnings=known)

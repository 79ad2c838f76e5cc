"""skrank beside other packages: CPU seconds, gap, memory, NDCG@10.

``pip install skrank[peers]``, then ``python benchmarks/peers.py``, some minutes: one
thread, one process, the packages take turns, medians count. What is not installed says
so. The data are drawn: 300 lists of 20 rows, 20 features, labels 0 to 4, a third of the
lists to test. Peers that minimise skrank's own objective stop by tolerances that reach
a gap of 1e-4, and the table says how far they came; the others run to their own end.
Memory is the peak of what Python and NumPy allocate; trees allocate beside that.
"""

from __future__ import annotations

import importlib.util
import time
import tracemalloc
import warnings

import numpy as np
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from skrank import ListMLERanker, RankNetRanker
from skrank.metrics import ndcg_score

N_LISTS, LENGTH, N_FEATURES, ALPHA, GAP = 300, 20, 20, 0.01, 1e-4
REPEATS = 3
TREES = 100


def data():
    """Return training and test parts: X, y and the list of each row."""
    rng = np.random.default_rng(0)
    n_rows = N_LISTS * LENGTH
    X = rng.standard_normal((n_rows, N_FEATURES))
    true = rng.standard_normal(N_FEATURES)
    noisy = X @ true + 3.0 * rng.standard_normal(n_rows)
    y = np.digitize(noisy, np.quantile(noisy, [0.52, 0.84, 0.97, 0.99])).astype(float)
    groups = np.repeat(np.arange(N_LISTS), LENGTH)
    train = groups < 2 * N_LISTS // 3
    return [(X[part], y[part], groups[part]) for part in (train, ~train)]


def pairs_of(y, groups):
    """Return the better and the worse row of each pair, as arrays."""
    better, worse = [], []
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        first, second = np.nonzero(y[rows][:, np.newaxis] > y[rows])
        better.append(rows[first])
        worse.append(rows[second])
    return np.concatenate(better), np.concatenate(worse)


def ranknet_value(w, X, y, groups):
    """Return skrank's RankNet objective, from explicit pairs."""
    better, worse = pairs_of(y, groups)
    margin = (X[better] - X[worse]) @ w
    n_lists = len(np.unique(groups))
    loss = np.logaddexp(0.0, -margin).sum() / LENGTH / n_lists
    return loss + 0.5 * ALPHA * w @ w


def skrank_ranknet(X, y, groups):
    return RankNetRanker(alpha=ALPHA, tol=1e-3).fit(X, y, groups).coef_


def sklearn_pairs(X, y, groups):
    """Logistic regression on explicit differences, by newton-cholesky."""
    better, worse = pairs_of(y, groups)
    differences = X[better] - X[worse]
    signs = np.where(np.arange(len(differences)) % 2, 1.0, -1.0)
    n_lists = len(np.unique(groups))
    model = LogisticRegression(
        C=1.0 / (ALPHA * LENGTH * n_lists),
        fit_intercept=False,
        solver="newton-cholesky",
        tol=1e-3,
    )
    return model.fit(differences * signs[:, np.newaxis], signs).coef_[0]


def torch_pairs(X, y, groups):
    """SciPy's L-BFGS with gradients of explicit pairs by PyTorch."""
    import torch

    better, worse = map(torch.as_tensor, pairs_of(y, groups))
    features = torch.as_tensor(X)
    n_lists = len(np.unique(groups))

    def value_and_gradient(w):
        weights = torch.tensor(w, requires_grad=True)
        scores = features @ weights
        margin = scores[better] - scores[worse]
        loss = torch.nn.functional.softplus(-margin).sum() / LENGTH / n_lists
        value = loss + 0.5 * ALPHA * weights @ weights
        value.backward()
        return value.item(), weights.grad.numpy()

    start = np.zeros(X.shape[1])
    options = {"gtol": 1e-4}
    return minimize(value_and_gradient, start, jac=True, options=options).x


def rax_pairs(X, y, groups):
    """SciPy's L-BFGS with Rax's pairwise logistic loss, a row of a matrix a list."""
    import jax
    import rax

    jax.config.update("jax_enable_x64", True)
    n_lists = len(np.unique(groups))
    features = X.reshape(n_lists, LENGTH, -1)
    labels = y.reshape(n_lists, LENGTH)

    def objective(w):
        loss = rax.pairwise_logistic_loss(features @ w, labels, reduce_fn=jax.numpy.sum)
        return loss / LENGTH / n_lists + 0.5 * ALPHA * w @ w

    both = jax.jit(jax.value_and_grad(objective))

    def value_and_gradient(w):
        value, gradient = both(w)
        return float(value), np.asarray(gradient)

    start = np.zeros(X.shape[1])
    return minimize(value_and_gradient, start, jac=True, options={"gtol": 1e-4}).x


def skrank_breslow(X, y, groups):
    return ListMLERanker("breslow", alpha=0.0, tol=1e-3).fit(X, y, groups).coef_


def statsmodels_cox(X, y, groups):
    """Cox regression, a stratum a list: the best rows are the first to fail."""
    from statsmodels.duration.hazard_regression import PHReg

    last = np.array([y[groups == group].min() for group in groups])
    status = (y > last).astype(int)
    model = PHReg(y.max() - y + 1, X, status=status, strata=groups, ties="breslow")
    return model.fit().params


def lifelines_cox(X, y, groups):
    """Fit the same by lifelines, whose ties are Efron's."""
    import pandas as pd
    from lifelines import CoxPHFitter

    last = np.array([y[groups == group].min() for group in groups])
    frame = pd.DataFrame(X).assign(time=y.max() - y + 1, event=y > last, list=groups)
    frame.columns = frame.columns.map(str)
    fitted = CoxPHFitter().fit(frame, "time", "event", strata=["list"])
    return fitted.params_.to_numpy()


def lightgbm_trees(X, y, groups):
    from lightgbm import LGBMRanker

    model = LGBMRanker(n_estimators=TREES, n_jobs=1, verbose=-1)
    return model.fit(X, y, group=np.unique(groups, return_counts=True)[1]).predict


def xgboost_trees(X, y, groups):
    from xgboost import XGBRanker

    return XGBRanker(n_estimators=TREES, n_jobs=1).fit(X, y, qid=groups).predict


def catboost_trees(X, y, groups):
    from catboost import CatBoostRanker

    model = CatBoostRanker(
        iterations=TREES, thread_count=1, verbose=False, allow_writing_files=False
    )
    return model.fit(X, y, group_id=groups).predict


# Name, the package that it needs, what fits it, and whose objective it minimises.
PEERS = [
    ("skrank RankNet", None, skrank_ranknet, "RankNet"),
    ("scikit-learn on pairs", None, sklearn_pairs, "RankNet"),
    ("PyTorch on pairs", "torch", torch_pairs, "RankNet"),
    ("Rax", "rax", rax_pairs, "RankNet"),
    ("skrank ListMLE, Breslow", None, skrank_breslow, "Cox"),
    ("statsmodels PHReg", "statsmodels", statsmodels_cox, "Cox"),
    ("lifelines (Efron)", "lifelines", lifelines_cox, None),
    ("LightGBM", "lightgbm", lightgbm_trees, None),
    ("XGBoost", "xgboost", xgboost_trees, None),
    ("CatBoost", "catboost", catboost_trees, None),
]


def main():
    """Print a row for each peer."""
    train, (X, y, groups) = data()
    installed = [
        peer
        for peer in PEERS
        if peer[1] is None or importlib.util.find_spec(peer[1]) is not None
    ]
    times = {name: [] for name, *_ in installed}
    fitted, memory = {}, {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for turn in range(REPEATS + 1):  # the first loads and compiles
            for name, _, fit, _ in installed:
                start = time.process_time()
                fitted[name] = fit(*train)
                if turn:
                    times[name].append(time.process_time() - start)
        for name, _, fit, _ in installed:
            tracemalloc.start()
            fit(*train)
            memory[name] = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
    ours = np.median(times["skrank RankNet"])
    best = ranknet_value(RankNetRanker(alpha=ALPHA).fit(*train).coef_, *train)
    print("| peer | CPU seconds | times skrank | gap | MB | NDCG@10 |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, _, _, objective in installed:
        model, seconds = fitted[name], np.median(times[name])
        scores = model(X) if callable(model) else X @ model
        gap = "" if objective != "RankNet" else ranknet_value(model, *train) - best
        shown = gap if gap == "" else f"{max(gap, 0.0):.0e}"
        if gap != "" and gap > GAP:
            shown += " (above 1e-4)"
        print(
            f"| {name} | {seconds:.4f} | {seconds / ours:.1f} | {shown} | "
            f"{memory[name] / 1e6:.1f} | {ndcg_score(y, scores, groups, k=10):.4f} |"
        )
    for name in sorted({peer[0] for peer in PEERS} - set(times)):
        print(f"| {name} | not installed | | | | |")


if __name__ == "__main__":
    main()

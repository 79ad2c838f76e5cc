"""Measure FusionRanker against its best member on sets of 500 lists and more.

``python benchmarks/fusion.py`` writes results/fusion.md. Members are ListNet and
RankNet on features scaled by list, and LightGBM's ranker. The best member is the one
with the highest mean on the very lists that are compared, so chance favours it.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from families import FAMILIES, fishing
from lightgbm import LGBMRanker
from real_data import folds_of, join, mq2008
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from variants import ndcg_of

from skrank import ListNetRanker, RankNetRanker
from skrank.ensemble import FusionRanker
from skrank.interop import as_ranker
from skrank.preprocessing import QueryScaler

METHODS = ("scores", "ranks", "rrf", "scaled")
CHOSEN = 'scores, weights="auto"'
DRAWN = ("plain", "interactions", "tails of logs", "heavy tails", "list effects")
N_LISTS = 1000


def sets():
    """Yield names and folds."""
    yield "MQ2008", folds_of(join(mq2008()), 5)
    yield "Fishing", folds_of(fishing(), 5)
    for name in DRAWN:
        yield name, folds_of(FAMILIES[name](7, n_lists=N_LISTS), 2)


def members():
    """Return what is fused."""
    return [
        ("ListNet", make_pipeline(QueryScaler(), ListNetRanker())),
        ("RankNet", make_pipeline(QueryScaler(), RankNetRanker())),
        ("LightGBM", as_ranker(LGBMRanker(n_jobs=1, random_state=0, verbose=-1))),
    ]


def values_of(folds):
    """Return NDCG@10 of the lists, by member and by method."""
    found: dict[str, list] = {}
    for train, (X, y, groups) in folds:
        fusion = FusionRanker(members(), "scaled").fit(*train)
        for name, member in fusion.named_estimators_.items():
            given = {} if name == "LightGBM" else {"groups": groups}
            found.setdefault(name, []).append(
                ndcg_of(y, member.predict(X, **given), groups)
            )
        for method in METHODS:  # members are fitted once for all
            scores = fusion.set_params(method=method).predict(X, groups)
            found.setdefault(method, []).append(ndcg_of(y, scores, groups))
        fusion = FusionRanker(members(), weights="auto").fit(*train)
        scores = fusion.predict(X, groups)
        found.setdefault(CHOSEN, []).append(ndcg_of(y, scores, groups))
    return {name: np.concatenate(parts) for name, parts in found.items()}


def cell(difference):
    """Return mean and standard error in thousandths."""
    error = difference.std(ddof=1) / len(difference) ** 0.5
    return f"{1e3 * difference.mean():+.1f} ({1e3 * error:.1f})"


def main():
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parent / "results/fusion.md"
    )
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    names = [name for name, _ in members()]
    head = ["set", "lists", "best member", "NDCG@10", *names, *METHODS, CHOSEN]
    lines = [
        "# Fused rankings beside their best member",
        "",
        "`python benchmarks/fusion.py`; members, then methods of FusionRanker: "
        "thousandths of NDCG@10 above or below the best member, in brackets paired "
        "standard errors.",
        "",
        f"| {' | '.join(head)} |",
        f"| {' | '.join(['---'] * len(head))} |",
    ]
    with config_context(enable_metadata_routing=True):
        for data, folds in sets():
            values = values_of(folds)
            best = max(names, key=lambda name: values[name].mean())
            cells = [data, str(len(values[best])), best, f"{values[best].mean():.4f}"]
            cells += [
                cell(values[name] - values[best]) for name in [*names, *METHODS, CHOSEN]
            ]
            lines.append(f"| {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    arguments.output.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()

"""Conventions of other tools: a table with a row per tool and metric.

``tests/metrics/test_peers.py`` compares every entry with the tool itself. A row names
the settings in which the tool differs from skrank's defaults, or which it fixes:

gain
    Worth of a label: 2**y - 1 ("exponential"), y ("linear"); "chance" takes labels as
    chances to stop the user (ERR).
relevance_level
    The least label that is relevant.
normalizer
    What average precision divides by: "all" relevant rows, the "min" of them and k,
    or those "found" within k.
cutoff
    What precision divides by: "k", or the "shorter" of k and the list.
ties
    "average", "worst", "best", "order" (of rows), "doc_ids" (descending), or "level":
    each relevant row counts at the end of its tied rows.
empty
    What a list without a relevant row counts as.
empty_weight
    Whether such a list counts by its weight ("list"), or with weight one in the sum
    and its own weight in the divisor ("one").
scores
    The type that scores are rounded to, which makes ties.
negative
    What a label below 0 is: as "given" (metrics of gains refuse it), or that of a row
    that is "unjudged": 0, and left out by bpref.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from skrank._kernels.binary import LEVEL_TIES
from skrank._kernels.metrics import TIES

HALF = float(np.nextafter(0.5, 1.0))  # the least label above one half


@dataclass(frozen=True, slots=True)
class Rule:
    """What a metric does where tools differ; see the module for each field."""

    gain: Any = "exponential"
    discount: Any = "log2"
    relevance_level: float = 1
    max_grade: float = 4
    normalizer: str = "all"
    cutoff: str = "k"
    ties: str = "average"
    empty: str | float = "skip"
    empty_weight: str = "list"
    scores: str = "float64"
    negative: str = "given"

    @property
    def tie(self) -> int:
        """The kernels' code for ties; document ids become an order of rows."""
        if self.ties == "level":
            return int(LEVEL_TIES)
        return int(TIES["order" if self.ties == "doc_ids" else self.ties])


# Metrics that are 0 for a list without a relevant row, and have no option ``empty``.
NATIVE: dict[str, dict[str, Any]] = {
    name: {"empty": 0.0}
    for name in (
        "dcg_score",
        "err_score",
        "reciprocal_rank_score",
        "precision_at_k_score",
        "hit_rate_score",
        "rank_biased_precision_score",
    )
}

# sim is a float in trec_eval's struct; form_res_rels.c sorts by it, then by docno.
# Judgments below 0 say that a document was not judged.
_TREC = {"ties": "doc_ids", "scores": "float32", "negative": "unjudged"}
_CATBOOST = {"ties": "worst", "relevance_level": HALF}
_XGBOOST = {"ties": "order", "scores": "float32"}

CONVENTIONS: dict[str, dict[str, dict[str, Any]]] = {
    # usnistgov/trec_eval f425365 (10.0): form_res_rels.c and m_*.c.
    "trec_eval": {
        "ndcg_score": {**_TREC, "gain": "linear", "discount": "log2", "empty": 0.0},
        "average_precision_score": {**_TREC, "normalizer": "all", "empty": 0.0},
        "reciprocal_rank_score": _TREC,
        "precision_at_k_score": {**_TREC, "cutoff": "k"},
        "recall_at_k_score": {**_TREC, "empty": 0.0},
        "hit_rate_score": _TREC,
        "r_precision_score": {**_TREC, "empty": 0.0},
        "bpref_score": {**_TREC, "empty": 0.0},
    },
    # LightGBM 4.7: src/metric/rank_metric.hpp, map_metric.hpp, dcg_calculator.cpp.
    "lightgbm": {
        "ndcg_score": {
            "gain": "exponential",
            "discount": "log2",
            "ties": "order",
            "empty": 1.0,
            "empty_weight": "one",
        },
        "average_precision_score": {
            "relevance_level": HALF,
            "normalizer": "min",
            "ties": "order",
            "empty": 1.0,
        },
    },
    # XGBoost 3.2: src/metric/rank_metric.cc, with the default ndcg_exp_gain. It aborts
    # where the weights of empty lists bring NDCG above 1.
    "xgboost": {
        "ndcg_score": {
            **_XGBOOST,
            "gain": "exponential",
            "discount": "log2",
            "empty": 1.0,
            "empty_weight": "one",
        },
        "average_precision_score": {**_XGBOOST, "normalizer": "min", "empty": 1.0},
        "precision_at_k_score": {**_XGBOOST, "cutoff": "shorter"},
    },
    # scikit-learn 1.9: metrics/_ranking.py; it refuses lists of one row for NDCG.
    "sklearn": {
        "ndcg_score": {
            "gain": "linear",
            "discount": "log2",
            "ties": "average",
            "empty": 0.0,
        },
        "dcg_score": {"gain": "linear", "discount": "log2", "ties": "average"},
        "average_precision_score": {"normalizer": "all", "ties": "level", "empty": 0.0},
    },
    # CatBoost 1.2: catboost/libs/metrics/metric.cpp and dcg.cpp, default parameters.
    "catboost": {
        "ndcg_score": {
            "gain": "linear",
            "discount": "log2",
            "ties": "worst",
            "empty": 1.0,
        },
        "dcg_score": {"gain": "linear", "discount": "log2", "ties": "worst"},
        "average_precision_score": {**_CATBOOST, "normalizer": "min", "empty": 0.0},
        "reciprocal_rank_score": _CATBOOST,
        "precision_at_k_score": {**_CATBOOST, "cutoff": "shorter"},
        "recall_at_k_score": {**_CATBOOST, "empty": 1.0},
        "err_score": {"gain": "chance", "ties": "worst"},
    },
    # gdeval.pl 1.2a of the TREC web track: runOrder, dcg, err, topicDone.
    "gdeval": {
        "ndcg_score": {
            "gain": "exponential",
            "discount": "log2",
            "ties": "doc_ids",
            "empty": "skip",
            "negative": "unjudged",
        },
        "err_score": {
            "max_grade": 4,
            "ties": "doc_ids",
            "empty": "skip",
            "negative": "unjudged",
        },
    },
}


def rule_of(metric: str, convention: Any, options: Mapping[str, Any]) -> Rule:
    """Return the rule of a metric under its options and a convention.

    Parameters
    ----------
    metric : str
        Name of the metric's function.
    convention : {"trec_eval", "lightgbm", "xgboost", "sklearn", "catboost", \
"gdeval"}, Rule or None
        None takes all options; a rule is returned as it is.
    options : mapping
        The options of the metric that are fields of ``Rule``.

    Raises
    ------
    ValueError
        If the tool does not have the metric, or an option contradicts the tool.
    """
    if isinstance(convention, Rule):
        return convention
    rule = Rule(**{**NATIVE.get(metric, {}), **options})
    fixed = fixed_by(metric, convention)
    defaults = Rule()
    for name in fixed:
        value = options.get(name, fixed[name])
        if value not in (getattr(defaults, name), fixed[name]):
            raise ValueError(
                f"convention={convention!r} sets {name}={fixed[name]!r}, but "
                f"{name}={value!r} was given. Leave one of them out."
            )
    return replace(rule, **fixed) if fixed else rule


def fixed_by(metric: str, convention: Any) -> Mapping[str, Any]:
    """Return the settings that a tool fixes for a metric; none for None."""
    if convention is None:
        return {}
    tools = [tool for tool, metrics in CONVENTIONS.items() if metric in metrics]
    if not isinstance(convention, str) or convention not in tools:
        raise ValueError(
            f"{metric} has no convention {convention!r}; it has "
            f"{', '.join(map(repr, tools))}."
        )
    return CONVENTIONS[convention][metric]


def differences(first: Rule, second: Rule) -> list[str]:
    """Return the names of the fields in which two rules differ, scores first."""
    names = [field.name for field in fields(Rule)]
    # Rounding of scores makes ties, so it comes before the rule for ties.
    names.sort(key=lambda name: name != "scores")
    return [name for name in names if getattr(first, name) != getattr(second, name)]

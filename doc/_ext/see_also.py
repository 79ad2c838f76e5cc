"""What to look at besides: neighbours of public objects, for their section See Also.

Docstrings that have such a section keep it. The words behind a name are the first
sentence of its own docstring.
"""

import importlib
import inspect
import re

import public_api

RANKERS = ["ListMLERanker", "RankNetRanker", "ranking_pipeline"]
TIES = ["DavidsonLuceRanker", "PMOPRanker", "DavidsonRanker", "RaoKupperRanker"]
CLICKS = ["click_score", "best_order", "simulate_clicks"]
MODELS = ["PositionBased", "Cascade", "DynamicBayesian", "UserBrowsing"]
ITEMS = ["from_orderings", "from_rankings", "from_pairs", "ItemRows"]
EXPORTS = ["to_elasticsearch", "to_solr", "to_sql", "to_onnx", "linear_formula"]
RUNS = ["from_run", "read_run", "read_qrels", "to_run", "write_run", "write_qrels"]
DASK = ["fit", "predict", "evaluate", "summary", "letor_to_parquet"]

RELATED = {
    # skrank
    "with_groups": ["list_labels", "QueryKFold", "group_train_test_split"],
    "rank_within": ["from_ranks", "RankNetRanker"],
    "Lists": ["Loss"],
    "ranking_pipeline": ["FusionRanker", "QueryScaler", "ListMLERanker"],
    "LinearRanker": ["Loss", *RANKERS[:2]],
    "ListMLERanker": ["ListMLE", "DavidsonLuceRanker", "RankNetRanker", "summarize"],
    "ListNetRanker": ["ListNet", *RANKERS],
    "PMOPRanker": ["PMOP", "DavidsonLuceRanker", "ListMLERanker"],
    "DavidsonLuceRanker": ["DavidsonLuce", "PMOPRanker", "ListMLERanker"],
    "RankNetRanker": ["RankNet", "RankSVMRanker", "RaoKupperRanker", "ListMLERanker"],
    "RankSVMRanker": ["RankSVM", "RankNetRanker"],
    "RankRegressionRanker": ["RankRegression", "RankNetRanker"],
    "RaoKupperRanker": ["RaoKupper", "DavidsonRanker", "RankNetRanker"],
    "DavidsonRanker": ["Davidson", "RaoKupperRanker", "DavidsonLuceRanker"],
    # losses
    "Loss": ["LinearRanker", "ListNet"],
    **{
        name: [f"{name}Ranker", "Loss"]
        for name in (
            *("ListMLE", "ListNet", "PMOP", "DavidsonLuce", "RankNet", "RankSVM"),
            *("RankRegression", "RaoKupper", "Davidson"),
        )
    },
    # metrics
    "list_labels": ["with_groups", "bootstrap_interval"],
    "average_precision_score": ["reciprocal_rank_score", "r_precision_score"],
    "err_score": ["ndcg_score", "Cascade"],
    "ndcg_score": ["dcg_score", "explain_metric", "pairwise_accuracy_score"],
    "dcg_score": ["ndcg_score", "click_score"],
    "kendall_tau_score": ["spearman_score", "pairwise_accuracy_score"],
    "spearman_score": ["kendall_tau_score"],
    "pairwise_accuracy_score": ["kendall_tau_score", "ndcg_score"],
    "expected_search_length_score": ["reciprocal_rank_score", "hit_rate_score"],
    "hit_rate_score": ["reciprocal_rank_score", "precision_at_k_score"],
    "reciprocal_rank_score": ["hit_rate_score", "average_precision_score"],
    "precision_at_k_score": ["recall_at_k_score", "f_measure_at_k_score"],
    "recall_at_k_score": ["precision_at_k_score", "f_measure_at_k_score"],
    "f_measure_at_k_score": ["precision_at_k_score", "recall_at_k_score"],
    "r_precision_score": ["precision_at_k_score", "average_precision_score"],
    "bpref_score": ["average_precision_score", "from_run"],
    "rank_biased_precision_score": ["dcg_score", "PositionBased"],
    "click_score": [*MODELS, "best_order"],
    "best_order": ["click_score", "STARanker"],
    "BestOrder": ["best_order"],
    "simulate_clicks": ["click_score", "make_browsing"],
    **{name: CLICKS for name in MODELS},
    "explain_metric": ["ndcg_score", "MetricExplanation"],
    "MetricExplanation": ["explain_metric", "MetricStep"],
    "MetricStep": ["MetricExplanation"],
    "make_ranking_scorer": ["RankingScorer", "ndcg_scorer", "metric_names"],
    "metric_names": ["make_ranking_scorer", "compare_rankers"],
    "RankingScorer": ["make_ranking_scorer"],
    "bootstrap_interval": ["compare_scores", "Interval", "MetricAtKDisplay"],
    "Interval": ["bootstrap_interval"],
    "compare_scores": ["holm", "bootstrap_interval", "compare_rankers"],
    "ScoreComparison": ["compare_scores"],
    "holm": ["compare_scores"],
    # model selection
    "compare_rankers": ["RankerComparisonDisplay", "learning_curve", "compare_scores"],
    "learning_curve": ["compare_rankers"],
    "RankerComparison": ["compare_rankers", "RankerComparisonDisplay"],
    "log_likelihood_scorer": ["make_ranking_scorer", "LogLikelihoodScorer", "RankerCV"],
    "LogLikelihoodScorer": ["log_likelihood_scorer", "RankingScorer"],
    "RankerResult": ["RankerComparison"],
    "RankerStatistics": ["RankerComparison"],
    "QueryKFold": ["QueryShuffleSplit", "with_groups"],
    "QueryShuffleSplit": ["QueryKFold", "group_train_test_split"],
    "group_train_test_split": ["QueryShuffleSplit"],
    # preprocessing, ensemble
    "QueryScaler": ["SecondOrderFeatures", "ranking_pipeline"],
    "SecondOrderFeatures": ["QueryScaler"],
    "FusionRanker": ["ranking_pipeline", "as_ranker"],
    # inspection
    "describe_lists": ["ListsDescription", "Finding", "ListsDisplay"],
    "explain_scores": ["ContributionDisplay", "ScoreExplanation"],
    "summarize": ["FitSummary", "CoefficientDisplay", "wald_test"],
    "likelihood_ratio_test": ["wald_test", "NestedTest"],
    "wald_test": ["likelihood_ratio_test", "NestedTest", "summarize"],
    "top_k_proba": ["top_k_intervals", "ListMLERanker", "summarize"],
    "stage_proba": ["StageProbaDisplay", "top_k_proba"],
    "pairwise_proba": ["pairwise_intervals", "RankNetRanker"],
    "top_k_intervals": ["summarize", "top_k_proba", "TopKIntervals"],
    "pairwise_intervals": ["summarize", "pairwise_proba", "PairIntervals"],
    "TopKIntervals": ["top_k_intervals", "TopKProba"],
    "ListPairIntervals": ["pairwise_intervals", "ListPairProba"],
    "PairIntervals": ["pairwise_intervals", "PairProba"],
    "NestedTest": ["likelihood_ratio_test", "wald_test"],
    "quasi_standard_errors": ["CoefficientDisplay", "from_orderings"],
    "CoefficientDisplay": ["summarize", "quasi_standard_errors"],
    "ContributionDisplay": ["explain_scores"],
    "ListsDisplay": ["describe_lists"],
    "MetricAtKDisplay": ["bootstrap_interval", "RankerComparisonDisplay"],
    "RankCalibrationDisplay": ["ListMLERanker", "StageProbaDisplay"],
    "RankerComparisonDisplay": ["compare_rankers", "MetricAtKDisplay"],
    "RegularizationPathDisplay": ["CoefficientDisplay"],
    "StageProbaDisplay": ["ListMLERanker", "RankCalibrationDisplay"],
    "Finding": ["describe_lists"],
    "ListsDescription": ["describe_lists", "ListsDisplay"],
    "ScoreExplanation": ["explain_scores", "PairExplanation"],
    "PairExplanation": ["explain_scores", "ContributionDisplay"],
    "FitSummary": ["CoefficientDisplay", "summarize"],
    "TopKProba": ["ListMLERanker", "StageProbaDisplay"],
    "PairProba": ["RankNetRanker", "RankCalibrationDisplay"],
    "ListPairProba": ["PMOPRanker", "PairProba"],
    "ExpectedLevel": ["PMOPRanker"],
    # interop, export
    "BoosterRanker": ["as_ranker", "FusionRanker"],
    "make_booster_objective": ["as_ranker", "Loss"],
    "as_ranker": ["BoosterRanker", "compare_rankers"],
    **{name: ITEMS for name in ("from_best_worst", "from_pair_counts", "ItemWorths")},
    **{name: ITEMS for name in (*ITEMS, "read_preflib")},
    "from_ranks": ["rank_within", "from_orderings"],
    "groups_from_sizes": ["sizes_from_groups", "as_ranker"],
    "sizes_from_groups": ["groups_from_sizes", "as_ranker"],
    "RunRows": ["from_run"],
    **{name: RUNS for name in RUNS},
    **{name: EXPORTS for name in (*EXPORTS, "LinearFormula", "smallest_offset")},
    **{name: DASK for name in DASK},
    # data, neural
    "load_letor": ["load_mode_choice", "make_ranking", "describe_lists"],
    "load_mode_choice": ["load_letor", "make_ranking"],
    "make_ranking": ["load_mode_choice", "make_browsing"],
    "STARanker": ["MLPRanker", "ListData", "best_order"],
    "MLPRanker": ["STARanker", "ListMLERanker"],
    "ListData": ["STARanker", "MLPRanker"],
    "make_browsing": ["Browsing", "STARanker"],
    "Browsing": ["make_browsing"],
}


def places():
    """Return the module of each public name."""
    return {
        name: module
        for module, names in public_api.public_objects().items()
        for name in names
    }


def related(name, known):
    """Return the neighbours of a name that exist: scorers have their metric."""
    names = list(RELATED.get(name, ()))
    if name.endswith("_scorer") and not names:
        names = [name.removesuffix("r"), "make_ranking_scorer"]
    elif name.endswith("_score"):
        names.append(f"{name}r")
    return [one for one in names if one in known and one != name]


def first_sentence(module, name):
    """Return the first line of a docstring, without formulas and roles."""
    doc = inspect.getdoc(getattr(importlib.import_module(module), name)) or ""
    return re.sub(r":\w+:`[~]?([^`]*)`", r"\1", doc.splitlines()[0]) if doc else ""


def add_section(app, what, name, obj, options, lines):
    """Add a section See Also where a public object has none."""
    known = app.skrank_places
    short = name.rpartition(".")[2]
    own = known.get(short)
    if own is None or name != f"{own}.{short}" or what not in ("class", "function"):
        return
    if any(line.strip() == "See Also" for line in lines):
        return
    neighbours = related(short, known)
    if neighbours:
        lines += ["", "See Also", "--------"]
    for one in neighbours:
        lines += [f"{known[one]}.{one} : {first_sentence(known[one], one)}"]
    lines.append("")


def setup(app):
    """Run before numpydoc, whose priority is 500."""
    app.skrank_places = places()
    app.connect("autodoc-process-docstring", add_section, priority=450)
    return {"parallel_read_safe": True}

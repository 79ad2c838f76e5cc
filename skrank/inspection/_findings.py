"""Findings: what may be wrong with ranking data, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from skrank._data.checks import count_of
from skrank.inspection._description import ListsDescription
from skrank.inspection._finding import Finding, percent

NAMED = 5  # features in a sentence
FEW_LISTS = 40  # below it clustered standard errors are too small
LONG = 5_000  # rows of a list, whose pairs take long
SORTED = 0.98  # share of steps in order, from which on chance is not an explanation
LEANING = 0.7  # share of steps from which on the file's order says something
FEW_STEPS = 10  # too few to tell an order from chance
SCALES = 100.0  # ratio of deviations that one penalty cannot suit
LARGE_LABEL = 31  # 2**31 is the largest gain that other libraries take
EXPONENT = 60  # 2**60 is where other rows of the list stop to count


def find_all(data: ListsDescription) -> list[Finding]:
    """Return all findings, errors first."""
    severities = ("error", "warning", "note")
    findings = [finding for check in CHECKS for finding in check(data)]
    return sorted(findings, key=lambda finding: severities.index(finding.severity))


def named(names: Sequence[str]) -> str:
    """Return some names in words, the rest as a number."""
    shown = ", ".join(names[:NAMED])
    n_more = len(names) - NAMED
    return f"{shown} and {n_more:,} more" if n_more > 0 else shown


def _sizes(data: ListsDescription) -> Iterator[Finding]:
    n_single, n_lists = int((data.sizes == 1).sum()), len(data.sizes)
    if n_single == n_lists:
        yield Finding(
            "single rows",
            "error",
            "Every list has one row, so there is nothing to rank.",
            "Check groups: rows that compete share one label.",
        )
    elif n_single:
        yield Finding(
            "single rows",
            "note",
            f"{count_of(n_single, 'list')} of {n_lists:,} "
            f"{'has' if n_single == 1 else 'have'} a single row.",
            "They teach nothing; most metrics give them 1 or nothing.",
        )
    if n_lists == 1:
        yield Finding(
            "one list",
            "warning",
            "All rows are one list.",
            "Without a second list there are no folds and no standard errors. If rows "
            "belong to several lists, pass groups.",
        )
    elif n_lists < FEW_LISTS:
        yield Finding(
            "few lists",
            "note",
            f"There are only {n_lists} lists.",
            "Means over lists are uncertain: look at intervals (bootstrap_interval, "
            "compare_rankers), and take few features.",
        )
    if data.sizes.max() >= LONG:
        yield Finding(
            "long lists",
            "note",
            f"The longest list has {data.sizes.max():,} rows.",
            "Time of RankNet grows with its pairs; ListMLE, ListNet and RankSVM grow "
            "with the rows.",
        )


def _labels(data: ListsDescription) -> Iterator[Finding]:
    if not data.n_decided_pairs and data.sizes.max() > 1:
        yield Finding(
            "no order",
            "error",
            "In every list all rows have one label, so there is no order to learn.",
            "Check y, and that groups are lists, not their items.",
        )
        return
    flat = int(((data.n_levels == 1) & (data.sizes > 1)).sum())
    if flat:
        yield Finding(
            "all tied",
            "note",
            f"In {count_of(flat, 'list')} of {len(data.sizes):,} all rows have one "
            "label.",
            "Rankers learn nothing from them.",
        )
    smallest, largest = float(data.label_values[0]), float(data.label_values[-1])
    if smallest < 0:
        yield Finding(
            "negative labels",
            "warning",
            f"Labels go down to {smallest:g}.",
            "NDCG, ERR and ListNet's gains refuse negative labels: use "
            "pairwise_accuracy_score or kendall_tau_score, or ranks as labels.",
        )
    elif largest > EXPONENT or (largest > LARGE_LABEL and data.whole_labels):
        yield Finding(
            "large labels",
            "warning",
            f"Labels go up to {largest:g}.",
            "NDCG's gain 2**y - 1 then is about the best row alone. Use gain="
            "'linear', or grades of 0 to 4.",
        )
    if data.looks_like_ranks:
        yield Finding(
            "labels are ranks",
            "warning",
            "In every list the labels are 1, 2, 3 and so on, as places are.",
            "skrank takes larger labels as better. If 1 is the best, use "
            "skrank.interop.from_ranks(y, groups).",
        )
    elif data.one_chosen:
        yield Finding(
            "one chosen",
            "note",
            "Every list has one row labelled above all others, which are equal: a "
            "choice.",
            "ListMLERanker(alpha=0) is the conditional logit, with summary() and "
            "top_k_proba(X, groups, 1).",
        )


def _relevant(data: ListsDescription) -> Iterator[Finding]:
    without = int((data.n_relevant == 0).sum())
    if without and data.label_values[0] >= 0 and data.n_decided_pairs:
        yield Finding(
            "nothing relevant",
            "note",
            f"{count_of(without, 'list')} of {len(data.sizes):,} "
            f"{'has' if without == 1 else 'have'} no row with a label above 0.",
            "NDCG and average precision have no value there: the mean leaves them "
            "out; other tools count them as 0 or 1 (empty=, explain_metric).",
        )


def _groups(data: ListsDescription) -> Iterator[Finding]:
    if data.n_runs > len(data.sizes):
        back = data.n_runs - len(data.sizes)
        yield Finding(
            "labels return",
            "note",
            f"Rows of {count_of(data.n_split_lists, 'list')} are not together: group "
            f"labels come back {count_of(back, 'time')} after others.",
            "That is harmless if a label means one list. If files number their lists "
            "anew, lists are merged: make labels of file and number.",
        )


def _file_order(data: ListsDescription) -> Iterator[Finding]:
    if data.n_label_steps < FEW_STEPS:
        return
    share = max(data.falling_steps, 1.0 - data.falling_steps)
    direction = "best first" if data.falling_steps >= 0.5 else "worst first"
    if share >= SORTED:
        yield Finding(
            "sorted by label",
            "warning",
            f"Rows stand in the order of their labels, {direction}, in "
            f"{percent(share)} of the steps between labels.",
            "Tools that keep the file's order among equal scores then look too good "
            "or too bad, and ListMLE with ties='order' learns the file. skrank's "
            "metrics average over orders. Shuffle rows inside lists before you "
            "compare tools.",
        )
    elif share >= LEANING:
        yield Finding(
            "order tells labels",
            "note",
            f"The order of rows says something of labels: {direction} in "
            f"{percent(share)} of the steps between labels.",
            "Perhaps an earlier ranker sorted the file. If its rank is known when you "
            "predict, make it a feature.",
        )


def _features(data: ListsDescription) -> Iterator[Finding]:
    facts = data.features
    missing = _where(data, facts["missing"] > 0)
    if missing:
        yield Finding(
            "missing values",
            "error",
            f"{count_of(len(missing), 'feature')} of {len(data.feature_names)} "
            f"{'has' if len(missing) == 1 else 'have'} missing or infinite values: "
            f"{named(missing)}.",
            "skrank's linear rankers refuse them: put SimpleImputer (with "
            "add_indicator=True if being missing means something) before the ranker.",
        )
    if data.unread:
        yield Finding(
            "no numbers",
            "error",
            f"{count_of(len(data.unread), 'column')} of X "
            f"{'holds' if len(data.unread) == 1 else 'hold'} no numbers: "
            f"{named(data.unread)}.",
            "Code them, for example by OneHotEncoder in a ColumnTransformer, or drop "
            "them.",
        )
    constant = _where(data, facts["constant"] == 1.0)
    if constant:
        yield Finding(
            "constant in lists",
            "warning",
            f"{count_of(len(constant), 'feature')} of {len(data.feature_names)} "
            f"{'is' if len(constant) == 1 else 'are'} constant inside every list: "
            f"{named(constant)}.",
            "They cannot rank by themselves. Drop them, or multiply them with a "
            "feature of the row (income times mode).",
        )
    yield from _scales(data)
    yield from _leaks(data)


def _scales(data: ListsDescription) -> Iterator[Finding]:
    facts = data.features
    within = facts["sd_within"]
    varied = np.flatnonzero(within > 0)
    if len(varied) > 1:
        small = varied[np.argmin(within[varied])]
        large = varied[np.argmax(within[varied])]
        ratio = within[large] / within[small]
        if ratio > SCALES:
            yield Finding(
                "scales",
                "warning",
                f"Deviations inside lists differ by {float(f'{ratio:.2g}'):,.0f} to 1: "
                f"{data.feature_names[large]} has {within[large]:.3g}, "
                f"{data.feature_names[small]} has {within[small]:.3g}.",
                "The penalty treats all weights alike: put StandardScaler or "
                "QueryScaler before the ranker.",
            )
    outlying = _where(data, facts["outliers"] > 0)
    if outlying:
        yield Finding(
            "outliers",
            "note",
            f"{count_of(len(outlying), 'feature')} of {len(data.feature_names)} "
            f"{'has' if len(outlying) == 1 else 'have'} values more than 10 "
            f"interquartile ranges from the median: {named(outlying)}.",
            "A few rows then decide the weight. Try logarithms, QuantileTransformer "
            "or QueryScaler('rank').",
        )


def _leaks(data: ListsDescription) -> Iterator[Finding]:
    if data.n_label_steps < FEW_STEPS:
        return
    order = data.features["label_order"]
    leaking = _where(data, np.abs(order) >= SORTED)
    if leaking:
        yield Finding(
            "leak",
            "warning",
            f"{count_of(len(leaking), 'feature')} "
            f"{'puts' if len(leaking) == 1 else 'put'} rows in the order of their "
            f"labels by {'itself' if len(leaking) == 1 else 'themselves'}: "
            f"{named(leaking)}.",
            "Perhaps it was made from the label, or is known only afterwards. Is it "
            "there when you predict?",
        )


def _duplicates(data: ListsDescription) -> Iterator[Finding]:
    n_rows = int(data.sizes.sum())
    if data.n_contradicting:
        yield Finding(
            "contradictions",
            "note",
            f"{count_of(data.n_contradicting, 'row')} of {n_rows:,} "
            f"{'has' if data.n_contradicting == 1 else 'have'} the same features as "
            "another row of the same list, but another label.",
            "No ranker can tell them apart: the best score on these data is below 1.",
        )
    if data.n_repeated:
        yield Finding(
            "duplicates in lists",
            "note",
            f"{count_of(data.n_repeated, 'row')} of {n_rows:,} "
            f"{'repeats' if data.n_repeated == 1 else 'repeat'} another row of the "
            "same list, label and all.",
            "If the same item was written twice, drop one; it counts twice now.",
        )
    n_copies = int((data.shared == 1.0).sum())
    if n_copies:
        yield Finding(
            "copied lists",
            "warning",
            f"Each row of {count_of(n_copies, 'list')} of {len(data.sizes):,} stands "
            "in some other list too (to 1e-4 of each feature's range).",
            "Lists on both sides of a split make scores look too good: keep copies in "
            "one fold (GroupKFold on what they share), or drop them. Column 'shared' "
            "of to_frame('lists') names them.",
        )
    elif (share := float(np.average(data.shared, weights=data.sizes))) > 0.01:
        yield Finding(
            "shared rows",
            "note",
            f"{percent(share)} of the rows stand in more than one list (to 1e-4 of "
            "each feature's range).",
            "Natural where features take few values or describe the item alone. If "
            "not, test on lists whose items are new.",
        )


def _where(data: ListsDescription, mask: np.ndarray) -> list[str]:
    """Return the names of some features."""
    return [data.feature_names[j] for j in np.flatnonzero(mask)]


CHECKS: tuple[Callable[[ListsDescription], Iterator[Finding]], ...] = (
    _sizes,
    _labels,
    _relevant,
    _groups,
    _file_order,
    _features,
    _duplicates,
)

"""The data doctor finds what was planted, and is silent about sound data."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from skrank.datasets import make_ranking
from skrank.inspection import describe_lists

N_LISTS, SIZE = 60, 6


def sound(n_lists=N_LISTS):
    """Return data with nothing to report."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_lists * SIZE, 3))
    y = np.tile([2, 0, 1, 0, 2, 1], n_lists)
    order = np.argsort(rng.uniform(size=(n_lists, SIZE)), axis=1)
    y = np.take_along_axis(y.reshape(n_lists, SIZE), order, axis=1).ravel()
    return X, y, np.repeat(np.arange(n_lists), SIZE)


def names_of(description):
    return [finding.name for finding in description.findings]


def test_sound_data_have_no_finding():
    description = describe_lists(*sound())
    assert names_of(description) == []
    assert "Nothing to report." in str(description)
    assert "Nothing to report." in description._repr_html_()


def single_rows(X, y, groups):
    return X, y, np.arange(len(y))


def one_list(X, y, groups):
    return X, y, np.zeros(len(y))


def few_lists(X, y, groups):
    return X[: 5 * SIZE], y[: 5 * SIZE], groups[: 5 * SIZE]


def no_order(X, y, groups):
    return X, np.ones(len(y)), groups


def all_tied(X, y, groups):
    y[:SIZE] = 1
    return X, y, groups


def negative_labels(X, y, groups):
    return X, y - 1.5, groups


def large_labels(X, y, groups):
    y[0] = 72
    return X, y, groups


def labels_are_ranks(X, y, groups):
    rng = np.random.default_rng(1)
    return (
        X,
        rng.permuted(np.tile(np.arange(1, 7), (N_LISTS, 1)), axis=1).ravel(),
        groups,
    )


def one_chosen(X, y, groups):
    rng = np.random.default_rng(1)
    return X, rng.permuted(np.tile(np.eye(6)[0], (N_LISTS, 1)), axis=1).ravel(), groups


def nothing_relevant(X, y, groups):
    y[:SIZE] = 0
    return X, y, groups


def labels_return(X, y, groups):
    return X, y, np.where(groups == 59, 0, groups)


def sorted_by_label(X, y, groups):
    return X, -np.sort(-y.reshape(N_LISTS, SIZE), axis=1).ravel(), groups


def sorted_worst_first(X, y, groups):
    return X, np.sort(y.reshape(N_LISTS, SIZE), axis=1).ravel(), groups


def order_tells_labels(X, y, groups):
    table = y.reshape(N_LISTS, SIZE)
    table[:45] = -np.sort(-table[:45], axis=1)
    return X, y, groups


def missing_values(X, y, groups):
    X[3, 1] = np.nan
    return X, y, groups


def constant_in_lists(X, y, groups):
    X[:, 2] = groups
    return X, y, groups


def scales(X, y, groups):
    X[:, 0] *= 1000
    return X, y, groups


def outliers(X, y, groups):
    X[7, 1] = 100.0
    return X, y, groups


def leak(X, y, groups):
    X[:, 1] = y + 0.1 * np.tanh(X[:, 1])
    return X, y, groups


def reversed_leak(X, y, groups):
    X[:, 1] = -y
    return X, y, groups


def contradictions(X, y, groups):
    y[:2] = 0, 1
    X[1] = X[0]
    return X, y, groups


def duplicates_in_lists(X, y, groups):
    y[:2] = 1
    X[1] = X[0]
    return X, y, groups


def copied_lists(X, y, groups):
    # In another order, and not quite the same.
    X[:SIZE] = X[SIZE : 2 * SIZE][::-1] * (1 + 1e-9)
    return X, y, groups


def shared_rows(X, y, groups):
    X[::SIZE] = X[0]
    return X, y, groups


@pytest.mark.parametrize(
    ("plant", "name", "severity"),
    [
        (single_rows, "single rows", "error"),
        (one_list, "one list", "warning"),
        (few_lists, "few lists", "note"),
        (no_order, "no order", "error"),
        (all_tied, "all tied", "note"),
        (negative_labels, "negative labels", "warning"),
        (large_labels, "large labels", "warning"),
        (labels_are_ranks, "labels are ranks", "warning"),
        (one_chosen, "one chosen", "note"),
        (nothing_relevant, "nothing relevant", "note"),
        (labels_return, "labels return", "note"),
        (sorted_by_label, "sorted by label", "warning"),
        (sorted_worst_first, "sorted by label", "warning"),
        (order_tells_labels, "order tells labels", "note"),
        (missing_values, "missing values", "error"),
        (constant_in_lists, "constant in lists", "warning"),
        (scales, "scales", "warning"),
        (outliers, "outliers", "note"),
        (leak, "leak", "warning"),
        (reversed_leak, "leak", "warning"),
        (contradictions, "contradictions", "note"),
        (duplicates_in_lists, "duplicates in lists", "note"),
        (copied_lists, "copied lists", "warning"),
        (shared_rows, "shared rows", "note"),
    ],
)
def test_what_is_planted_is_found_with_advice(plant, name, severity):
    description = describe_lists(*plant(*sound()))
    (finding,) = (one for one in description.findings if one.name == name)
    assert finding.severity == severity
    assert finding.text.endswith(".")
    assert finding.advice.endswith((".", "?"))
    flat = " ".join(str(description).split())
    assert f"{severity}: {finding.text} {finding.advice}" in flat
    assert max(map(len, str(description).splitlines())) <= 88
    assert f'class="skrank-{severity}"' in description._repr_html_()
    assert name in description.to_frame()["name"].tolist()


def test_nothing_else_is_found_where_one_fault_is_planted():
    for plant in (leak, scales, outliers, missing_values, copied_lists, labels_return):
        assert len(describe_lists(*plant(*sound())).findings) == 1, plant.__name__


def test_errors_come_first():
    X, y, groups = missing_values(*outliers(*scales(*sound())))
    severities = [one.severity for one in describe_lists(X, y, groups).findings]
    assert severities == ["error", "warning", "note"]


def test_numbers_of_lists_are_those_of_a_loop_over_rows():
    X, y, groups = make_ranking(25, list_size=(1, 7), shuffle=True, random_state=0)
    description = describe_lists(X, y, groups)
    frame = description.to_frame("lists")
    assert frame.index.tolist() == list(range(25))
    for label, row in frame.iterrows():
        labels = y[groups == label]
        pairs = [(a, b) for i, a in enumerate(labels) for b in labels[:i]]
        assert row["sizes"] == len(labels)
        assert row["n_levels"] == len(set(labels))
        assert row["n_relevant"] == sum(labels > 0)
        decided = np.mean([a != b for a, b in pairs]) if pairs else np.nan
        assert row["pairs_decided"] == pytest.approx(decided, nan_ok=True)


def test_numbers_of_features_are_those_of_a_loop_over_lists():
    X, y, groups = make_ranking(30, n_features=3, random_state=0)
    X[:, 2] = np.round(X[:, 2]).clip(0, 1)
    features = describe_lists(X, y, groups).features
    parts = [X[groups == label] for label in range(30)]
    within = np.concatenate([part - part.mean(axis=0) for part in parts])
    assert features["sd_within"] == pytest.approx(within.std(axis=0), rel=1e-12)
    assert features["mean"] == pytest.approx(X.mean(axis=0))
    constant = np.mean([np.ptp(part, axis=0) == 0 for part in parts], axis=0)
    assert features["constant"] == pytest.approx(constant)
    assert 0 < constant[2] < 1
    up = []
    for label in range(30):
        x, labels = X[groups == label, 0], y[groups == label]
        values = np.unique(labels)
        up += [
            x[labels == high].min() > x[labels == low].max()
            for low, high in pairwise(values)
        ]
    assert abs(features["label_order"][0]) >= np.mean(up)


def test_nothing_depends_on_the_order_of_lists_or_on_the_kind_of_X():
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    X, y, groups = leak(*scales(*sound()))
    expected = str(describe_lists(X, y, groups))
    lists = np.random.default_rng(0).permutation(N_LISTS)
    rows = np.concatenate([np.arange(SIZE) + SIZE * number for number in lists])
    assert str(describe_lists(X[rows], y[rows], groups[rows])) == expected
    assert str(describe_lists(sparse.csr_array(X), y, groups)) == expected
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    assert str(describe_lists(frame, y, groups)) == expected
    assert str(describe_lists(pl.from_pandas(frame), y, groups)) == expected
    assert str(describe_lists(X.tolist(), y, groups)) == expected


def test_columns_without_numbers_are_named_and_left_out():
    pd = pytest.importorskip("pandas")
    X, y, groups = sound()
    frame = pd.DataFrame({"speed": X[:, 0], "jockey": "Ann", "age": X[:, 1]})
    frame["sex"] = pd.Categorical(["m", "f"] * (len(y) // 2))
    frame["ill"] = pd.array([True, None] * (len(y) // 2), dtype="boolean")
    description = describe_lists(frame, y, groups)
    assert description.feature_names == ["speed", "age", "ill"]
    assert description.unread == ["jockey", "sex"]
    assert "2 columns of X hold no numbers: jockey, sex." in str(description)
    assert description.to_frame("features").loc["ill", "missing"] == 0.5


def test_labels_of_lists_stay_those_of_the_user():
    pd = pytest.importorskip("pandas")
    X, y, _ = sound()
    names = [f"race {number:02}" for number in range(N_LISTS)]
    groups = pd.Series(np.repeat(names, SIZE))
    frame = describe_lists(X, y, groups).to_frame("lists")
    assert frame.index.tolist() == names
    assert frame.index.name == "groups"


def test_the_page_escapes_names():
    pd = pytest.importorskip("pandas")
    X, y, groups = leak(*sound())
    frame = pd.DataFrame(X, columns=["a", "<b>&", "c"])
    html = describe_lists(frame, y, groups)._repr_html_()
    assert "&lt;b&gt;&amp;" in html
    assert "<b>" not in html


def test_what_cannot_be_described_is_refused():
    X, y, groups = sound()
    with pytest.raises(ValueError, match="describe_lists needs to know which rows"):
        describe_lists(X, y)
    with pytest.raises(ValueError, match="X has 359 rows for 360 labels"):
        describe_lists(X[1:], y, groups)
    with pytest.raises(ValueError, match="y has 1 NaN"):
        describe_lists(X, np.append(np.nan, y[1:]), groups)
    with pytest.raises(ValueError, match="must be two-dimensional"):
        describe_lists(X[:, 0], y, groups)
    with pytest.raises(ValueError, match="must hold numbers, or be a DataFrame"):
        describe_lists(np.full(X.shape, "a"), y, groups)
    with pytest.raises(ValueError, match="what must be 'findings', 'lists' or"):
        describe_lists(X, y, groups).to_frame("rows")

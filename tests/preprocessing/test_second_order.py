"""Products of features: equal to forming them all, in little memory, anywhere."""

import pickle
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skrank import ListMLERanker
from skrank.preprocessing import SecondOrderFeatures, _blocks, _products

MEGABYTE = 2**20


@pytest.fixture(params=[None, 64], ids=["one block", "blocks"])
def _blocks_of_two_sizes(request, monkeypatch):
    """Run a test with all rows in one block, and with few."""
    if request.param:
        monkeypatch.setattr(_blocks, "BLOCK_ENTRIES", request.param)
        monkeypatch.setattr(_blocks, "LEAST_ROWS", 7)
        monkeypatch.setattr(_products, "PAIRS_AT_ONCE", 3)
        monkeypatch.setattr(_products, "MATRIX_ENTRIES", 20)  # two or three features


def all_products(X, center, squares=True):
    """Return every product, and the pairs, one pair at a time."""
    X = X.astype(np.longdouble)
    factors = X - X.mean(axis=0) if center else X
    n_features = X.shape[1]
    pairs = [
        (a, b)
        for a in range(n_features)
        for b in range(a, n_features)
        if squares or a != b
    ]
    return np.column_stack([factors[:, a] * factors[:, b] for a, b in pairs]), pairs


def correlations_of(products, y):
    """Return Pearson correlations of columns with y in long double."""
    y = y.astype(np.longdouble) - y.astype(np.longdouble).mean()
    centred = products - products.mean(axis=0)
    norms = np.sqrt((centred**2).sum(axis=0) * (y**2).sum())
    return ((centred * y[:, None]).sum(axis=0) / norms).astype(float)


def drawn(kind="plain", n_rows=150, n_features=8, seed=0):
    """Return features that have what makes sums of squares lose digits, and labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    X[:, 2] = rng.exponential(size=n_rows) ** 2
    X[:, 3] = X[:, 0]
    X[:, 4] = rng.integers(0, 2, n_rows)
    if kind == "shifted":
        X += 10.0 ** np.arange(n_features)
    elif kind == "scales":
        X *= 10.0 ** np.linspace(-60, 60, n_features)
    elif kind == "sparse":
        X *= rng.random(X.shape) < 0.3
    y = rng.integers(0, 5, n_rows) + X[:, 0] / X[:, 0].std() * rng.normal(size=n_rows)
    return X, y + 3 * (rng.random(n_rows) < 0.1)


KINDS = ["plain", "shifted", "scales", "sparse"]
# Levels of 1e7 leave 1e-16 * 1e7 of a centred value.
TOLERANCE = {"plain": 1e-13, "shifted": 1e-7, "scales": 1e-13, "sparse": 1e-13}


@pytest.mark.usefixtures("_blocks_of_two_sizes")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("squares", [True, False])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_pairs_and_correlations_are_those_of_all_products(
    kind, center, squares, container
):
    X, y = drawn(kind)
    products, pairs = all_products(X, center, squares)
    expected = correlations_of(products, y)
    threshold = float(np.median(np.abs(expected)))
    fitted = SecondOrderFeatures(threshold, center=center, include_squares=squares).fit(
        container(X), y
    )
    atol = TOLERANCE[kind]
    clear = np.abs(np.abs(expected) - threshold) > atol
    kept = {
        tuple(pair): r
        for pair, r in zip(fitted.pairs_.tolist(), fitted.correlations_, strict=True)
    }
    for pair, r, sure in zip(pairs, expected, clear, strict=True):
        if sure:
            assert (pair in kept) == (abs(r) > threshold)
        if pair in kept:
            assert kept[pair] == pytest.approx(r, abs=atol)
    assert fitted.n_candidates_ == len(pairs)
    assert list(kept) == sorted(kept)


@pytest.mark.usefixtures("_blocks_of_two_sizes")
@pytest.mark.parametrize("kind", ["plain", "sparse"])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("first", [True, False])
def test_the_output_is_the_features_and_the_products_kept(
    kind, center, standardize, first
):
    X, y = drawn(kind)
    new, _ = drawn(kind, n_rows=40, seed=1)
    settings = {"center": center, "standardize": standardize, "include_first": first}
    transformer = SecondOrderFeatures(0.1, **settings).fit(X, y)
    mean = X.mean(axis=0) if center else 0.0

    def columns(values):
        a, b = transformer.pairs_.T
        factors = values - mean
        products = factors[:, a] * factors[:, b]
        return np.hstack((values, products)) if first else products

    expected, train = columns(new), columns(X)
    if standardize:
        expected = (expected - train.mean(axis=0)) / train.std(axis=0)
    dense = transformer.transform(new)
    np.testing.assert_allclose(
        dense, expected, rtol=0, atol=1e-12 * abs(expected).max()
    )
    rows = transformer.transform(sparse.csr_array(new))
    assert rows.format == "csr"
    # Each column of sparse output differs by a constant, so that zeros stay zeros.
    shift = rows.toarray() - dense
    assert np.ptp(shift, axis=0).max() <= 1e-12 * abs(expected).max()
    nothing = transformer.transform(sparse.csr_array((3, X.shape[1])))
    assert nothing.count_nonzero() == 0


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("settings", [{}, {"max_features": 30}, {"center": False}])
def test_panels_of_features_keep_the_products_that_one_matrix_keeps(
    monkeypatch, container, settings
):
    X, y = drawn("sparse", n_features=40)
    whole = SecondOrderFeatures(0.05, **settings).fit(container(X), y)
    monkeypatch.setattr(_products, "MATRIX_ENTRIES", 100)
    parts = SecondOrderFeatures(0.05, **settings).fit(container(X), y)
    assert len(whole.pairs_) >= 30
    np.testing.assert_array_equal(parts.pairs_, whole.pairs_)
    for name in ("correlations_", "product_mean_", "product_scale_"):
        np.testing.assert_allclose(
            getattr(parts, name), getattr(whole, name), rtol=1e-12, atol=1e-14
        )


def test_of_equal_products_the_first_is_kept_whichever_panel_it_is_in(monkeypatch):
    X, y = drawn()
    X = np.tile(X[:, :1], (1, 6))  # all 21 products are equal
    monkeypatch.setattr(_products, "MATRIX_ENTRIES", 7)
    fitted = SecondOrderFeatures(0.0, max_features=4).fit(X, y)
    assert fitted.pairs_.tolist() == [[0, 0], [0, 1], [0, 2], [0, 3]]


@pytest.mark.parametrize("center", [True, False])
def test_memory_has_a_bound_whatever_the_number_of_features(monkeypatch, center):
    n_features, entries = 2000, 2**16
    X = sparse.random(300, n_features, 0.01, format="csr", random_state=0)
    y = np.random.default_rng(0).integers(0, 3, 300)
    monkeypatch.setattr(_products, "MATRIX_ENTRIES", entries)
    tracemalloc.start()
    SecondOrderFeatures(0.1, center=center, max_features=10).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * 8 * entries + 2 * MEGABYTE
    assert peak < 8 * n_features**2 / 2  # half of one matrix of features


def test_too_many_products_are_refused_before_the_first(monkeypatch):
    X = sparse.csr_array(np.eye(2, 70_000))
    message = r"70,000 features have 2,450,035,000 products, .* more than 2,147,483,648"
    with pytest.raises(ValueError, match=f"{message}.*Choose features first"):
        SecondOrderFeatures().fit(X, [0, 1])
    monkeypatch.setattr("skrank.preprocessing._second_order.MOST_KEPT", 5)
    X, y = drawn()
    with pytest.raises(ValueError, match=r"more than 5 products .* set max_features"):
        SecondOrderFeatures(0.0).fit(X, y)
    assert len(SecondOrderFeatures(0.0, max_features=9).fit(X, y).pairs_) == 9


def test_a_fit_that_raises_leaves_the_transformer_as_it_was():
    X, y = drawn()
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    fitted = SecondOrderFeatures().fit(frame, y)
    before, expected = dict(vars(fitted)), fitted.transform(frame)
    other = frame[list("hgfedcba")].iloc[:, :5]
    for wrong, message in (
        (y[:-1], "inconsistent numbers of samples"),
        (np.full(len(y), np.nan), "y contains NaN"),
        (None, "requires y"),
    ):
        with pytest.raises(ValueError, match=message):
            fitted.fit(other, wrong)
        assert vars(fitted) == before
    with pytest.raises(ValueError, match="variance exceeds"):
        fitted.fit(other * 1e200, y)
    assert vars(fitted) == before
    np.testing.assert_array_equal(fitted.transform(frame), expected)
    new = SecondOrderFeatures()
    with pytest.raises(ValueError, match="variance exceeds"):
        new.fit(other * 1e200, y)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        new.transform(other)


def test_small_spreads_around_a_large_mean_keep_their_digits():
    X, y = drawn()
    X = 1 + 1e-5 * X  # a mean of 1e5 deviations; raw moments lose ten of their digits
    products, pairs = all_products(X, center=False)
    fitted = SecondOrderFeatures(0.0, center=False).fit(X, y)
    assert list(map(tuple, fitted.pairs_.tolist())) == pairs
    np.testing.assert_allclose(
        fitted.correlations_, correlations_of(products, y), rtol=0, atol=1e-14
    )


def test_max_features_keeps_the_best_and_of_equals_the_first():
    X, y = drawn()  # columns 0 and 3 are equal, so (0, b) and (3, b) tie
    every = SecondOrderFeatures(0.0).fit(X, y)
    strength = np.abs(every.correlations_)
    for n_kept in (1, 4, 9, 1000):
        fitted = SecondOrderFeatures(0.0, max_features=n_kept).fit(X, y)
        assert len(fitted.pairs_) == min(n_kept, len(every.pairs_))
        least = np.abs(fitted.correlations_).min()
        assert (strength > least + 1e-12).sum() < n_kept + 1
    target = X[:, 0] * X[:, 1]
    best = SecondOrderFeatures(0.0, center=False, max_features=1).fit(X, target)
    assert best.pairs_.tolist() == [[0, 1]]
    assert best.correlations_ == pytest.approx([1.0], abs=1e-14)


@pytest.mark.usefixtures("_blocks_of_two_sizes")
def test_constant_products_are_never_kept():
    rng = np.random.default_rng(0)
    sign = np.repeat([1.0, -1.0], 50)
    X = np.column_stack((np.full(100, 0.1), sign, sign + 1e6, rng.normal(size=100)))
    y = rng.normal(size=100)
    centred = SecondOrderFeatures(0.0).fit(X, y)
    # Squares of +-1 are constant, whatever the mean; so is the product of both.
    assert centred.pairs_.tolist() == [[1, 3], [2, 3], [3, 3]]
    assert not np.isnan(centred.transform(X)).any()
    raw = SecondOrderFeatures(0.0, center=False).fit(X, y)
    pairs = set(map(tuple, raw.pairs_.tolist()))
    assert not {(0, 0), (1, 1)} & pairs
    assert {(0, 3), (2, 2)} <= pairs
    as_rows = SecondOrderFeatures(0.0).fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(as_rows.pairs_, centred.pairs_)


def test_the_rounding_of_a_large_mean_is_not_taken_for_a_spread():
    # Squares about the mean are 1e-6 in all rows, but for the 1e-10 that numbers of
    # 1e6 are rounded to; the level is 1e9 deviations, and not 1e3.
    sign = np.where(np.random.default_rng(0).permutation(100) < 50, 1.0, -1.0)
    X = np.column_stack((1e6 + 1e-3 * sign, np.random.default_rng(1).normal(size=100)))
    y = np.random.default_rng(2).normal(size=100)
    fitted = SecondOrderFeatures(0.0).fit(X, y)
    assert fitted.pairs_.tolist() == [[0, 1], [1, 1]]


def test_equal_features_give_equal_products_that_are_all_kept():
    X, _ = drawn()
    fitted = SecondOrderFeatures(0.5).fit(X, X[:, 0] ** 2)
    assert {(0, 0), (0, 3), (3, 3)} <= set(map(tuple, fitted.pairs_.tolist()))


@pytest.mark.usefixtures("_blocks_of_two_sizes")
@pytest.mark.parametrize("labels", ["noise", "constant"])
def test_where_nothing_is_kept_only_features_are_left_or_it_raises(labels):
    X, y = drawn()
    y = y if labels == "noise" else np.ones(len(y))
    reason = "is constant" if labels == "constant" else r"correlation is 0\.\d+"
    alone = SecondOrderFeatures(0.99, standardize=False)
    with pytest.warns(UserWarning, match=rf"threshold=0\.99.*{reason}.*alone"):
        out = alone.fit_transform(X, y)
    np.testing.assert_array_equal(out, X)
    assert alone.pairs_.shape == (0, 2)
    with pytest.warns(UserWarning, match="alone"):
        alone.fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(alone.transform(sparse.csr_array(X)).toarray(), X)
    with pytest.raises(ValueError, match=rf"{reason}.*Lower threshold"):
        SecondOrderFeatures(0.99, include_first=False).fit(X, y)


@pytest.mark.parametrize("include_first", [True, False])
def test_one_feature_without_squares_has_no_products(include_first):
    X, y = drawn()
    alone = SecondOrderFeatures(include_squares=False, include_first=include_first)
    text = "there are no products, since X has one feature"
    if include_first:
        with pytest.warns(UserWarning, match=text):
            alone.fit(X[:, :1], y)
        assert alone.n_candidates_ == 0
    else:
        with pytest.raises(ValueError, match=rf"{text}.*Set include_squares=True"):
            alone.fit(X[:, :1], y)


@pytest.mark.usefixtures("_blocks_of_two_sizes")
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("kind", [np.float64, np.float32, sparse.csr_array])
def test_values_that_become_too_large_are_named(standardize, kind):
    X, _ = drawn()
    X = kind(X)
    y = np.asarray((X[:, [0]] * X[:, [1]]).sum(axis=1)).ravel()
    name = str(X.dtype)
    fitted = SecondOrderFeatures(0.9, standardize=standardize).fit(X, y)
    assert fitted.pairs_.tolist()[0] == [0, 1]
    far = np.zeros((3, X.shape[1]))
    far[1, :2] = np.sqrt(np.finfo(name).max) * np.array([2, 3])
    with pytest.raises(ValueError, match=f"product of columns 0 and 1 of X.*{name}"):
        fitted.transform(kind(far))
    far[1, :2] /= 100
    out = fitted.transform(kind(far))
    assert np.isfinite(out.toarray() if sparse.issparse(out) else out).all()


def test_a_feature_that_exceeds_float32_once_standardised_is_named():
    X, y = drawn()
    fitted = SecondOrderFeatures(0.0).fit(np.float32(X * 1e-3), y)
    far = np.zeros((1, X.shape[1]), dtype=np.float32)
    far[0, 2] = 3e38
    with pytest.raises(ValueError, match="column 2 of X, if standardized"):
        fitted.transform(far)


def test_names_tell_products_and_squares():
    X = np.random.default_rng(0).normal(size=(200, 5))
    y = X[:, 0] * X[:, 1] + X[:, 2] ** 2
    numbered = SecondOrderFeatures(max_features=2, center=False).fit(X, y)
    names = numbered.get_feature_names_out().tolist()
    assert names == ["x0", "x1", "x2", "x3", "x4", "x0*x1", "x2^2"]
    frame = pd.DataFrame(X, columns=list("abcde"))
    named = clone(numbered).set_params(include_first=False)
    named.set_output(transform="pandas")
    out = named.fit_transform(frame, y)
    assert out.columns.tolist() == ["a*b", "c^2"]
    # A frame is stored by columns, which sums up in another order.
    expected = numbered.transform(X)[:, 5:]
    np.testing.assert_allclose(out.to_numpy(), expected, rtol=0, atol=1e-13)
    with pytest.raises(ValueError, match="input_features"):
        named.get_feature_names_out(["p", "q", "r", "s", "t"])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_float32_stays_float32_and_is_summed_in_double(container):
    X, y = drawn("sparse")
    X = X.astype(np.float32)
    fitted = SecondOrderFeatures().fit(container(X), y)
    exact = SecondOrderFeatures().fit(container(X.astype(float)), y)
    np.testing.assert_allclose(
        fitted.correlations_, exact.correlations_, rtol=0, atol=1e-13
    )
    assert fitted.transform(container(X)).dtype == np.float32


def test_stored_zeros_and_entries_in_parts_count_as_their_sum():
    X, y = drawn("sparse")
    rows = sparse.csr_matrix(X)
    parts = sparse.csr_matrix(
        (
            np.repeat(rows.data / 2, 2),
            np.repeat(rows.indices, 2),
            2 * rows.indptr,
        ),
        shape=X.shape,
    )
    whole, split = (SecondOrderFeatures().fit(form, y) for form in (rows, parts))
    np.testing.assert_array_equal(split.pairs_, whole.pairs_)
    np.testing.assert_allclose(
        split.transform(parts).toarray(), whole.transform(rows).toarray(), rtol=1e-13
    )


def test_it_works_in_a_pipeline_and_survives_copies():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 3))
    y = np.digitize(X[:, 0] * X[:, 1], [0, 1])
    groups = np.repeat(np.arange(40), 10)
    first = ListMLERanker().fit(X, y, groups).score(X, y, groups)
    model = make_pipeline(StandardScaler(), SecondOrderFeatures(), ListMLERanker())
    model.fit(X, y, listmleranker__groups=groups)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    second = model[-1].score(model[:-1].transform(X), y, groups)
    assert second > first + 0.1


def test_wrong_input_is_refused():
    X, y = drawn()
    transformer = SecondOrderFeatures()
    with pytest.raises(NotFittedError, match="not fitted yet"):
        transformer.transform(X)
    with pytest.raises(TypeError, match="y"):
        transformer.fit(X)
    with pytest.raises(ValueError, match="requires y"):
        transformer.fit(X, None)
    with pytest.raises(ValueError, match="masked"):
        transformer.fit(np.ma.masked_greater(X, 1.0), y)
    with pytest.raises(ValueError, match="minimum of 2"):
        transformer.fit(X[:1], y[:1])
    with pytest.raises(ValueError, match=r"column 1 .* variance exceeds"):
        transformer.fit(X * [1, 1e200, 1, 1, 1, 1, 1, 1], y)
    for wrong in ({"threshold": 1.0}, {"threshold": -0.1}, {"max_features": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            SecondOrderFeatures(**wrong).fit(X, y)


# Labels of the checks are drawn apart from X, so that often no product is kept.
@pytest.mark.filterwarnings("ignore:.*no product of features is")
@parametrize_with_checks([SecondOrderFeatures(), SecondOrderFeatures(center=False)])
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


FIT = """
import sys
import numpy as np
from scipy import sparse
from skrank.preprocessing import SecondOrderFeatures, _blocks

def status(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(name))

_blocks.BLOCK_ENTRIES = 2**17
kind, path, center = sys.argv[1], sys.argv[2], sys.argv[3] == "True"
n_rows, n_features = 30_000, 150
rng = np.random.default_rng(0)
if kind == "sparse":
    cells = rng.integers(n_rows, size=120_000), rng.integers(400, size=120_000)
    X = sparse.csr_array((rng.random(120_000), cells), shape=(n_rows, 400))
else:
    X = np.lib.format.open_memmap(path, "w+", float, (n_rows, n_features))
    for start in range(0, n_rows, 1000):
        X[start : start + 1000] = rng.standard_normal((1000, n_features))
    del X
    X = np.load(path, mmap_mode="r")
y = rng.integers(0, 5, n_rows).astype(float)
model = SecondOrderFeatures(0.0, center=center, max_features=5, include_first=False)
before = status("RssAnon")
import threading
peak, stop = [0], threading.Event()
def watch():
    while not stop.wait(0.002):
        peak[0] = max(peak[0], status("RssAnon"))
watcher = threading.Thread(target=watch)
watcher.start()
out = model.fit(X, y).transform(X)
stop.set()
watcher.join()
n_bytes = out.data.nbytes + out.indices.nbytes if kind == "sparse" else out.nbytes
print((peak[0] - before) * 1024, n_bytes)
"""


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="memory is read from /proc"
)
@pytest.mark.parametrize("kind", ["map", "sparse"])
@pytest.mark.parametrize("center", [True, False])
def test_memory_is_blocks_and_matrices_of_features(kind, center, tmp_path):
    arguments = [kind, str(tmp_path / "X.npy"), str(center)]
    done = subprocess.run(
        [sys.executable, "-P", "-c", FIT, *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    used, out = map(int, done.stdout.split())
    n_features = 150 if kind == "map" else 400
    # Twenty matrices of features, eight blocks, a CSR output twice, what BLAS takes.
    matrices = 20 * 8 * n_features**2
    allowed = matrices + 8 * 8 * 2**17 + 2 * out + 16 * MEGABYTE
    x_bytes = 8 * 30_000 * n_features  # as a dense array
    assert allowed < x_bytes  # so that a copy is seen
    assert used <= allowed


def test_a_sparse_column_that_varies_little_is_no_constant():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(40, 3))
    X[:, 0] = 1e6 + 1e-5 * rng.integers(0, 2, size=40)  # deviates by 5e-12 of its mean
    y = X[:, 1] * X[:, 2]
    dense = SecondOrderFeatures(threshold=0.0).fit(X, y)
    sparse_too = SecondOrderFeatures(threshold=0.0).fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(sparse_too.pairs_, dense.pairs_)
    assert (dense.pairs_ == 0).any()
    np.testing.assert_allclose(sparse_too.scale_[0], X[:, 0].std(), rtol=1e-4)


def test_a_product_that_deviates_by_a_billionth_of_its_mean_is_no_constant():
    z = np.random.default_rng(9).normal(size=60)
    X = np.column_stack((1.0 + 1e-9 * z, np.ones(60) - 1e-9 * z[::-1]))
    fitted = SecondOrderFeatures(0.9, center=False, include_squares=True).fit(X, z)
    assert fitted.pairs_.tolist() == [[0, 0]]
    np.testing.assert_allclose(fitted.correlations_, [1.0], atol=1e-6)


@pytest.mark.parametrize(("deviation", "is_kept"), [(1e-12, True), (2e-16, False)])
def test_products_that_deviate_by_their_rounding_alone_are_constants(
    deviation, is_kept
):
    # The product of both is 1e6, up to a share of ``deviation``; rounding errors of
    # its factors explain 1e-14.
    rng = np.random.default_rng(0)
    factor = rng.uniform(1, 1000, 60)
    z = rng.choice([-1.0, 1.0], 60)
    X = np.column_stack((factor, 1e6 * (1 + deviation * z) / factor))
    a, b = np.array([0]), np.array([1])
    columns = _products.Columns(np.zeros(2), np.ones(2), np.zeros(2, dtype=bool))
    _, variance, _ = _products._direct_moments(X, z, columns, False, a, b)
    if is_kept:
        np.testing.assert_allclose(variance, (1e6 * deviation) ** 2, rtol=1e-2)
    else:
        assert variance == 0

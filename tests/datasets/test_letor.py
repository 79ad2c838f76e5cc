"""LETOR files are read exactly, or refused with the line that is wrong."""

import bz2
import gzip
import io
import lzma
import re
import tracemalloc
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from skrank.datasets import _files, _letor_table, _rows_on_disk, load_letor


def read(text, **options):
    return load_letor(io.BytesIO(text.encode()), **options)


def bits(values):
    return np.asarray(values, dtype=np.float64).view(np.int64).tolist()


def read_numbers(tokens):
    X, _, _ = read("".join(f"0 qid:1 1:{token}\n" for token in tokens))
    return X[:, 0]


def same_tables(a, b):
    for one, other in zip(a, b, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


# What a line may look like


def test_a_line_is_label_query_features_and_comment():
    X, y, groups = read(
        "# a file\n\n2 qid:10 1:0.5 3:-2e-3 # docid = 1:1\n"
        "   \t\n-1.5\tqid:10\t2:7#x\r\n0 qid:11\r\n  1e1  qid:-12   1:+.5  "
    )
    np.testing.assert_array_equal(
        X, [[0.5, 0, -0.002], [0, 7, 0], [0, 0, 0], [0.5, 0, 0]]
    )
    np.testing.assert_array_equal(y, [2, -1.5, 0, 10])
    np.testing.assert_array_equal(groups, [10, 10, 11, -12])
    assert X.flags.c_contiguous
    assert (X.dtype, y.dtype, groups.dtype) == (np.float64, np.float64, np.int64)


def test_a_byte_order_mark_is_skipped():
    assert load_letor(io.BytesIO(b"\xef\xbb\xbf1 qid:1 1:1"))[1] == 1


@pytest.mark.parametrize("qid", [2**63 - 1, -(2**63), 0, 9007199254740993])
def test_64_bit_queries_stay_exact(qid):
    groups = read(f"0 qid:{qid} 1:1\n")[2]
    assert groups.dtype == np.int64
    assert groups[0] == qid


@pytest.mark.parametrize(
    "qid", [str(2**63), str(-(2**63) - 1), "007", "-0", "+1", "q1", "é", "1.0", "a:b"]
)
def test_other_queries_are_text_for_all_rows(qid):
    groups = read(f"0 qid:3 1:1\n0 qid:{qid}\n0 qid:{qid}\n0 qid:-4\n")[2]
    assert groups.dtype == object
    assert groups.tolist() == ["3", qid, qid, "-4"]


def test_text_queries_in_one_file_make_all_files_text():
    (_, _, a), (_, _, b) = load_letor(
        [io.BytesIO(b"0 qid:1 1:1"), io.BytesIO(b"0 qid:x 1:1")]
    )
    assert a.tolist() == ["1"]
    assert b.tolist() == ["x"]


def test_files_read_together_have_one_number_of_features(tmp_path):
    (tmp_path / "a").write_text("0 qid:1 2:1\n")
    (tmp_path / "b").write_text("0 qid:1 4:1\n")
    for sparse in (False, True):
        triples = load_letor([tmp_path / "a", str(tmp_path / "b")], sparse=sparse)
        assert [X.shape for X, _, _ in triples] == [(1, 4), (1, 4)]
    assert load_letor(tmp_path / "a")[0].shape == (1, 2)
    assert len(load_letor([tmp_path / "a"])) == 1


def test_n_features_adds_columns_and_zero_based_shifts_them():
    assert read("0 qid:1 1:5\n", n_features=3)[0].tolist() == [[5, 0, 0]]
    assert read("0 qid:1 0:5 2:6\n", zero_based=True)[0].tolist() == [[5, 0, 6]]
    assert read("0 qid:1 1:0\n")[0].shape == (1, 1)
    assert read("0 qid:1\n")[0].shape == (1, 0)


def test_sparse_equals_dense_and_stores_no_zeros():
    text = "1 qid:1 2:0 3:1.5\n0 qid:1\n1 qid:2 1:0.0 2:-3 4:0\n"
    X, y, groups = read(text, sparse=True)
    assert X.format == "csr"
    assert X.nnz == 2
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert X.has_canonical_format
    same_tables((X.toarray(), y, groups), read(text))


def test_sparse_reads_ids_that_dense_could_not_hold():
    X, _, _ = read("0 qid:1 2147483647:1\n", sparse=True)
    assert X.shape == (1, 2**31 - 1)
    assert X.indices.tolist() == [2**31 - 2]


@pytest.mark.parametrize("sparse", [False, True])
def test_float32_is_rounded_from_float64(sparse):
    X = read("0 qid:1 1:0.1 2:16777217\n", dtype=np.float32, sparse=sparse)[0]
    assert X.dtype == np.float32
    X = X.toarray() if sparse else X
    np.testing.assert_array_equal(X, np.float32([[0.1, 16777217.0]]))


def test_gzip_is_known_by_its_content(tmp_path):
    packed = gzip.compress(b"1 qid:2 1:3\n")
    for name in ("a.gz", "a.txt"):
        (tmp_path / name).write_bytes(packed)
        assert load_letor(tmp_path / name)[0] == 3
    with gzip.open(tmp_path / "a.gz") as file:
        assert load_letor(file)[0] == 3


@pytest.mark.parametrize(
    ("suffix", "name", "pack"),
    [
        (".gz", "gzip", gzip.compress),
        (".bz2", "bzip2", bz2.compress),
        (".xz", "xz", lzma.compress),
    ],
)
def test_packed_files_are_known_by_content_and_refused_where_broken(
    tmp_path, suffix, name, pack
):
    rng = np.random.default_rng(0)
    text = "".join(f"0 qid:1 1:{value}\n" for value in rng.random(3000)).encode()
    packed = pack(text)
    path = tmp_path / f"a{suffix}"
    path.write_bytes(packed)
    (tmp_path / "a.txt").write_bytes(packed)
    same_tables(load_letor(path), read(text.decode()))
    same_tables(load_letor(tmp_path / "a.txt"), read(text.decode()))
    with pytest.raises(ValueError, match=f"the data are packed by {name}. Give the"):
        load_letor(io.BytesIO(packed))
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(ValueError, match=rf"a\{suffix}: the {name} file is cut short"):
        load_letor(path)
    path.write_bytes(packed[:50] + bytes(20) + packed[70:])
    with pytest.raises(ValueError, match=rf"a\{suffix}: the {name} file is cut short"):
        load_letor(path)
    path.write_bytes(text)
    with pytest.raises(ValueError, match=rf"a\{suffix}: not a {name} file, in spite"):
        load_letor(path)


def test_zstd_is_read_where_the_interpreter_has_it_and_else_explained(tmp_path):
    path = tmp_path / "a.zst"
    # One frame with one raw block, as RFC 8878 lays it out: 8 bytes of content.
    text = b"1 qid:2\n"
    path.write_bytes(b"\x28\xb5\x2f\xfd\x20\x08" + b"\x41\0\0" + text)
    try:
        import compression.zstd  # noqa: F401
    except ImportError:
        with pytest.raises(ValueError, match=r"no module compression.*unzstd .*a\.zst"):
            load_letor(path)
    else:
        assert load_letor(path)[1] == 1


def test_an_error_of_the_disk_is_not_called_a_damaged_file(tmp_path, monkeypatch):
    path = tmp_path / "a.bz2"
    path.write_bytes(bz2.compress(b"1 qid:1 1:1\n"))

    def fail(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(bz2.BZ2File, "read", fail)
    with pytest.raises(OSError, match="Input/output error") as caught:
        load_letor(path)
    assert caught.value.errno == 5


@pytest.mark.parametrize("block", [1, 2, 7, 64, 1000])
def test_the_size_of_blocks_does_not_matter(monkeypatch, block):
    rng = np.random.default_rng(0)
    lines = [
        f"{rng.integers(5)} qid:{row // 3} "
        + " ".join(f"{j}:{rng.normal()}" for j in range(1, 12) if rng.random() < 0.7)
        for row in range(50)
    ]
    for text in ("\n".join(lines), "\r\n".join(lines) + "\n", "\n" + lines[0]):
        want = read(text)
        monkeypatch.setattr(_files, "BLOCK", block)
        same_tables(read(text), want)
        with pytest.raises(ValueError, match=f"line {text.count(chr(10)) + 2}:"):
            read(text + "\nx")
        monkeypatch.undo()


# Numbers


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_floats_come_back_to_the_bit(values):
    assert bits(read_numbers(map(repr, values))) == bits(values)


DECIMALS = st.from_regex(
    r"[+-]?([0-9]{1,25}(\.[0-9]{0,25})?|\.[0-9]{1,25})([eE][+-]?[0-9]{1,3})?",
    fullmatch=True,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(DECIMALS, min_size=5, max_size=50))
def test_decimals_are_read_as_python_reads_them(tokens):
    tokens = [token for token in tokens if np.isfinite(float(token))] or ["0"]
    assert bits(read_numbers(tokens)) == bits([float(token) for token in tokens])


def test_decimals_near_the_middle_between_two_doubles():
    rng = np.random.default_rng(0)
    tokens = []
    for _ in range(3000):
        middle = 2 * int(rng.integers(2**52, 2**53)) + 1
        power = int(rng.integers(-1100, 960))
        with localcontext() as context:
            context.prec = int(rng.choice([17, 18, 19, 20, 40, 800]))
            tokens.append(str(Decimal(middle) * Decimal(2) ** power))
    assert bits(read_numbers(tokens)) == bits([float(token) for token in tokens])


@pytest.mark.parametrize(
    "token",
    [
        *["-0", "0e999999999999999999999", "00.50", "5.", "1e-99999999999999999999999"],
        *["4.9e-324", "2.4703282292062327e-324", "2.4703282292062328e-324"],
        *["2.2250738585072011e-308", "2.2250738585072014e-308", "1e-400"],
        *["1.7976931348623157e308", "1.797693134862315807e308", "1e22", "8.5e22"],
        *["9007199254740993", "9007199254740992.999", "18446744073709551616"],
        *["9999999999999999999", "1" + "0" * 500 + "e-500", "0." + "0" * 500 + "1e501"],
        *["0." + "0" * 40 + "1" * 19 + "e41", "0." + "1" * 1000],
    ],
)
def test_hard_numbers_are_exact(token):
    assert bits(read_numbers([token])) == bits([float(token)])


def test_labels_are_read_like_values():
    assert bits(read("0.1 qid:1\n-1e-310 qid:1\n")[1]) == bits([0.1, -1e-310])


# What is refused


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x qid:1 1:1", "label must be a decimal number, got 'x'"),
        ("1:1 qid:1 1:1", "label must be a decimal number, got '1:1'"),
        ("nan qid:1 1:1", "label must be finite, got 'nan'"),
        ("1e999 qid:1 1:1", "label must be finite, got '1e999'"),
        ("1", "qid:<query> must follow the label, got the end of the line"),
        ("1 1:1", "qid:<query> must follow the label, got '1:1'"),
        ("1 # qid:1", "qid:<query> must follow the label, got the end of the line"),
        ("1 1:1 qid:1", "qid:<query> must follow the label, got '1:1'"),
        ("1 qid: 1:1", "the qid is empty"),
        ("1 qid:1 qid:2", "expected <feature>:<value>"),
        ("1 qid:1 1:1 7", "a whole number as feature, got '7'"),
        ("1 qid:1 a:1", "a whole number as feature, got 'a:1'"),
        ("1 qid:1 -1:1", "a whole number as feature, got '-1:1'"),
        ("1 qid:1 1.0:1", "a whole number as feature, got '1.0:1'"),
        ("1 qid:1 1 :1", "a whole number as feature, got '1'"),
        ("1 qid:1 0:1", "feature ids start at 1, got '0:1'. If this file counts"),
        ("1 qid:1 1:1 1:2", "must increase along the line, each at most once; got '1:"),
        ("1 qid:1 2:1 1:2", "must increase along the line, each at most once; got '1:"),
        ("1 qid:1 1:", "value of a feature must be a decimal number, got '1:'"),
        ("1 qid:1 1: 2", "value of a feature must be a decimal number, got '1:'"),
        ("1 qid:1 1:1,5", "value of a feature must be a decimal number, got '1:1,5'"),
        ("1 qid:1 1:1_0", "value of a feature must be a decimal number, got '1:1_0'"),
        ("1 qid:1 1:1e", "value of a feature must be a decimal number, got '1:1e'"),
        ("1 qid:1 1:0x1", "value of a feature must be a decimal number, got '1:0x1'"),
        ("1 qid:1 1:.", "value of a feature must be a decimal number, got '1:.'"),
        ("1 qid:1 1:1:1", "value of a feature must be a decimal number, got '1:1:1'"),
        ("1 qid:1 1:1\0", "value of a feature must be a decimal number, got '1:1"),
        ("1 qid:1 1:NaN", "values must be finite in float64, got '1:NaN'"),
        ("1 qid:1 1:-inf", "values must be finite in float64, got '1:-inf'"),
        ("1 qid:1 1:1e309", "values must be finite in float64, got '1:1e309'"),
        ("1 qid:1 2147483648:1", "feature ids go up to 2147483647, got '2147483648:1'"),
        (f"1 qid:1 {10**30}:1", f"feature ids go up to 2147483647, got '{10**30}:1'"),
        ("1 qid:1 1:" + "9x" * 500, f"got '{('1:' + '9x' * 20)[:40]}'..."),
    ],
)
def test_a_malformed_line_is_named(tmp_path, line, message):
    path = tmp_path / "broken.txt"
    path.write_text(f"# first\n1 qid:1 1:1\n\n{line}\n1 qid:1 1:1\n")
    prefix = re.escape(f"{path}, line 4: ")
    with pytest.raises(ValueError, match=f"^{prefix}.*{re.escape(message)}"):
        load_letor(path)
    path.write_text(line)
    with pytest.raises(ValueError, match=f"line 1: .*{re.escape(message)}"):
        load_letor(path)


def test_an_id_above_n_features_is_named():
    message = "line 2: feature ids go up to 2 for n_features=2, got '3:1'"
    with pytest.raises(ValueError, match=message):
        read("0 qid:1 2:1\n0 qid:1 3:1\n", n_features=2)
    with pytest.raises(ValueError, match="ids go up to 1 for n_features=2"):
        read("0 qid:1 2:1\n", n_features=2, zero_based=True)


def test_a_value_beyond_float32_is_named():
    with pytest.raises(ValueError, match="finite in float32, got '1:1e39'"):
        read("0 qid:1 1:1e39\n", dtype=np.float32)


def test_float32_takes_all_that_rounds_to_its_largest_number():
    largest = float(np.finfo(np.float32).max)
    tokens = ["3.4028235e38", "-3.4028235e38", "3.4028235677973362e38"]
    text = "".join(f"0 qid:1 1:{token}\n" for token in tokens)
    X = read(text, dtype=np.float32)[0]
    assert X[:, 0].tolist() == [largest, -largest, largest]
    # Half way to 2**128 rounds to infinity.
    for token in ("3.4028235677973366e38", "-3.4028235677973366e38", "3.403e38"):
        with pytest.raises(ValueError, match="finite in float32, got '1:"):
            read(f"0 qid:1 1:{token}\n", dtype=np.float32)


class Endless:
    """A file without end or newline, of which at most a few blocks may be read."""

    name = "endless"

    def __init__(self, start, remaining, n_blocks):
        self.start, self.rest, self.n_blocks = start, remaining, n_blocks

    def read(self, size):
        assert self.n_blocks, "read on"
        self.n_blocks -= 1
        text, self.start = self.start + self.rest * (size // len(self.rest)), b""
        return text


@pytest.mark.parametrize("start", [b"", b"1 qid:1 1:1 x ", b"1 \xff ", b"\0\0"])
def test_a_line_that_cannot_be_one_ends_the_reading_at_once(start):
    with pytest.raises(ValueError, match="endless, line 1: "):
        load_letor(Endless(start, b"\0", n_blocks=1))


def test_a_long_line_needs_memory_for_what_is_in_it_alone():
    comment = b"1 qid:1 1:1 # " + b"a" * 30_000_000 + b"\n0 qid:1 1:2"
    tracemalloc.start()
    X, y, _ = load_letor(io.BytesIO(comment))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert X[:, 0].tolist() == [1, 2]
    assert y.tolist() == [1, 0]
    assert peak < 2.5 * len(comment)  # once in blocks and once in one piece
    wide = " ".join(f"{j}:1" for j in range(1, 700_001))
    X, _, _ = read(f"1 qid:1 {wide}\n0 qid:1 700000:1", sparse=True)
    assert X.sum(axis=1).tolist() == [700_000, 1]


@pytest.mark.parametrize("options", [{}, {"sparse": True}, {"n_features": 2**30}])
def test_a_memory_error_names_the_file(tmp_path, monkeypatch, options):
    path = tmp_path / "large.txt"
    path.write_text("1 qid:1 1:1\n")

    def refuse(*_, **__):
        raise MemoryError("Unable to allocate 3 TiB")

    for called in ("zeros", "empty"):
        monkeypatch.setattr(_letor_table.np, called, refuse)
    monkeypatch.setattr(_letor_table, "LARGE_ARRAY", 2**60)
    message = r"large\.txt: not enough .*allocate 3 TiB.*sparse=True, dtype=np\.float32"
    with pytest.raises(MemoryError, match=message):
        load_letor(path, **options)


# Straight to disk


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_features", [None, 12])
@pytest.mark.parametrize(("block", "at_once"), [(100, 2**20), (1000, 30), (2**20, 1)])
def test_a_memory_map_has_the_rows_of_the_array(
    tmp_path, monkeypatch, dtype, n_features, block, at_once
):
    monkeypatch.setattr(_files, "BLOCK", block)
    monkeypatch.setattr(_rows_on_disk, "ENTRIES_AT_ONCE", at_once)
    rng = np.random.default_rng(0)
    # Rows become wider, so that what was written must move.
    text = "".join(
        f"{rng.integers(5)} qid:{row // 3} "
        + " ".join(f"{j}:{rng.normal()}" for j in range(1, 1 + row // 5))
        + "\n"
        for row in range(60)
    )
    target = tmp_path / "X.npy"
    options = {"dtype": dtype, "n_features": n_features}
    want = read(text, **options)
    X, y, groups = read(text, to_memmap=target, **options)
    assert isinstance(X, np.memmap)
    assert not X.flags.writeable
    same_tables((X, y, groups), want)
    np.testing.assert_array_equal(np.load(target), want[0])
    assert [path.name for path in tmp_path.iterdir()] == ["X.npy"]


def test_several_memory_maps_have_one_number_of_features(tmp_path):
    texts = [b"0 qid:1 2:1\n1 qid:1 1:3\n", b"0 qid:x 4:1\n", b"0 qid:1\n"]
    targets = [tmp_path / name for name in "abc"]
    triples = load_letor(list(map(io.BytesIO, texts)), to_memmap=targets)
    for triple, want in zip(
        triples, load_letor([*map(io.BytesIO, texts)]), strict=True
    ):
        same_tables(triple, want)
    empty, _, _ = load_letor(io.BytesIO(b"0 qid:1\n"), to_memmap=tmp_path / "d")
    assert empty.shape == (1, 0)


def test_the_text_is_read_once_and_its_values_are_not_kept(tmp_path):
    rng = np.random.default_rng(0)
    row = " ".join(f"{j}:{rng.normal():.3f}" for j in range(1, 137))
    text = f"1 qid:1 {row}\n".encode() * 30_000

    class Once(io.RawIOBase):
        name, place = "once", 0

        def read(self, size):
            self.place += size
            return text[self.place - size : self.place]

    once = Once()
    tracemalloc.start()
    X, _, _ = load_letor(once, to_memmap=tmp_path / "X.npy", dtype=np.float32)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert X.shape == (30_000, 136)
    assert once.place < len(text) + 3 * _files.BLOCK
    # A block of text, work arrays of 9 bytes a byte of it and their copies, and
    # dense rows; X has 16 MB and its values as read have 49 MB.
    assert peak < 14 * 2**20
    assert X.nbytes > 15.5 * 2**20


def test_an_error_leaves_the_file_of_the_memory_map_as_it_was(tmp_path):
    target = tmp_path / "X.npy"
    for text in ("1 qid:1 1:1\nx\n", "", "0 qid:1 1:1\n0 qid:1 2000000000:1\n"):
        with pytest.raises(ValueError, match=r"line 2|no rows|Use sparse=True"):
            read(text, to_memmap=target)
        assert not list(tmp_path.iterdir())
    target.write_bytes(b"old")
    with pytest.raises(ValueError, match="line 1"):
        read("x", to_memmap=target)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_wrong_targets_of_memory_maps_are_refused(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("1 qid:1 1:1\n")
    with pytest.raises(ValueError, match="to_memmap writes a dense array"):
        load_letor(path, sparse=True, to_memmap=tmp_path / "X.npy")
    for paths, target in (([path], "X.npy"), (path, ["X.npy"])):
        with pytest.raises(ValueError, match="to_memmap must be one file for one path"):
            load_letor(paths, to_memmap=target)
    for targets in ([tmp_path / "X"], [tmp_path / "X", f"{tmp_path}/X"]):
        with pytest.raises(ValueError, match="a file of its own for each of 2 paths"):
            load_letor([path, path], to_memmap=targets)
    with pytest.raises(ValueError, match=r"a\.txt, which is read"):
        load_letor(path, to_memmap=str(path))
    assert path.read_text() == "1 qid:1 1:1\n"


def test_a_dense_array_of_gigabytes_of_zeros_is_refused():
    text = "0 qid:1 1:1\n0 qid:1 2000000000:1\n"
    with pytest.raises(ValueError, match=r"32 GB.*2000000000, is on line 2.*sparse="):
        read(text)
    assert read(text, sparse=True)[0].shape == (2, 2_000_000_000)


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n"])
def test_a_file_without_rows_is_refused(tmp_path, text):
    for name in ("empty.txt", "empty.gz"):
        packed = gzip.compress(text.encode()) if name.endswith("gz") else text.encode()
        (tmp_path / name).write_bytes(packed)
        with pytest.raises(ValueError, match=rf"{name}: the file has no rows"):
            load_letor(tmp_path / name)


def test_other_wrong_arguments(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.txt"):
        load_letor(tmp_path / "none.txt")
    with pytest.raises(ValueError, match="empty list"):
        load_letor([])
    with pytest.raises(TypeError, match="open files as binary"):
        load_letor(io.StringIO("0 qid:1 1:1\n"))
    with pytest.raises(ValueError, match="dtype must be float64 or float32"):
        load_letor(io.BytesIO(b""), dtype=np.int64)
    with pytest.raises(ValueError, match="n_features"):
        load_letor(io.BytesIO(b""), n_features=0)


# Beside scikit-learn's reader


@pytest.mark.parametrize("density", [0.0, 0.05, 1.0])
def test_equals_scikit_learn_on_its_own_files(density):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 40)) * 10.0 ** rng.integers(-300, 300, (300, 40))
    X[rng.random(X.shape) >= density] = 0
    X[0, -1] = 1
    qids = np.repeat(rng.integers(-(2**62), 2**62, 60), 5)
    file = io.BytesIO()
    dump_svmlight_file(
        X, rng.normal(size=300), file, zero_based=False, query_id=qids, comment="x\ny"
    )
    text = file.getvalue()
    want, y, groups = load_svmlight_file(
        io.BytesIO(text), query_id=True, zero_based=False
    )
    same_tables(load_letor(io.BytesIO(text)), (want.toarray(), y, groups))
    got = load_letor(io.BytesIO(text), sparse=True)
    same_tables((got[0].toarray(), *got[1:]), (want.toarray(), y, groups))
    np.testing.assert_array_equal(groups, qids)


REAL_FILES = [  # file, rows, queries, features, rows with label 0, 1, ...
    ("mq2008/S1.txt.gz", 2933, 157, 46, [2316, 427, 190]),
    ("mq2008/S2.txt.gz", 3635, 157, 46, [3080, 385, 170]),
    ("mq2008/S3.txt.gz", 3062, 157, 46, [2424, 411, 227]),
    ("mq2008/S4.txt.gz", 2707, 157, 46, [2140, 400, 167]),
    ("mq2008/S5.txt.gz", 2874, 156, 46, [2319, 378, 177]),
    (
        "mslr_web10k_fold1_train5k/train.5k.txt.gz",
        *(5000, 43, 136, [2792, 1458, 665, 55, 30]),
    ),
    ("lightgbm_lambdarank/train.txt.gz", 3005, 201, 300, [645, 1211, 858, 222, 69]),
    ("lightgbm_lambdarank/test.txt.gz", 768, 50, 300, [206, 256, 252, 44, 10]),
    ("trec_news_2018/train.txt", 782, 45, 5, [303, 256, 146, 27, 50]),
    ("trec_news_2018/test.txt", 41, 5, 5, [14, 15, 4, 4, 4]),
]


@pytest.mark.parametrize(("name", "rows", "queries", "features", "labels"), REAL_FILES)
def test_real_files_are_read_in_full(
    request, reference, name, rows, queries, features, labels
):
    path = reference / name
    if not path.exists():
        path = request.getfixturevalue("shared") / "data" / name
    X, y, groups = load_letor(path, n_features=features)
    assert X.shape == (rows, features)
    assert len(np.unique(groups)) == queries
    assert np.bincount(y.astype(int)).tolist() == labels
    want, want_y, want_groups = load_svmlight_file(
        str(path), query_id=True, zero_based=False, n_features=features
    )
    same_tables((X, y, groups), (want.toarray(), want_y, want_groups))
    sparse = load_letor(path, n_features=features, sparse=True)[0]
    np.testing.assert_array_equal(sparse.toarray(), X)

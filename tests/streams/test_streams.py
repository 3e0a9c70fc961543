"""Streams: every format, every packing, every way for a file to be broken."""

from __future__ import annotations

import builtins
import bz2
import gc
import gzip
import io
import json
import lzma
import os
import random
import struct
import subprocess
import sys
import threading
import time
import traceback
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.feature_extraction import FeatureHasher

from onepass import Hasher, streams
from onepass.streams import lines
from onepass.streams.floats import LIMIT, UNSURE, nearest
from onepass.streams.stream import in_order

DATA = Path(os.environ.get("ONEPASS_DATA", Path(__file__).parents[3] / "shared" / "data"))


def real(name):
    if not (DATA / name).exists():
        pytest.skip(f"{DATA / name} is not there: set ONEPASS_DATA to the folder of the data sets")
    return DATA / name


def from_bytes(data, **options):
    return list(streams.open(io.BytesIO(data), **options))


def joined(chunks):
    """All rows, dense, as wide as the widest chunk; and all labels."""
    width = max(chunk.X.shape[1] for chunk in chunks)
    X = np.zeros((sum(map(len, chunks)), width))
    start = 0
    for chunk in chunks:
        part = chunk.X.toarray() if sparse.issparse(chunk.X) else chunk.X
        X[start : start + len(chunk), : part.shape[1]] = part
        start += len(chunk)
    return X, np.concatenate([chunk.y for chunk in chunks])


def reader_threads():
    return [thread for thread in threading.enumerate() if thread.name == "onepass-stream"]


def wait_until_none(timeout=5.0):
    end = time.monotonic() + timeout
    while reader_threads() and time.monotonic() < end:
        time.sleep(0.01)
    return not reader_threads()


# --- numbers ---


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10**19 - 1), st.integers(-LIMIT, LIMIT))
def test_nearest_is_what_python_reads(w, q):
    bits = int(nearest(np.uint64(w), q))
    assert bits == int(UNSURE) or struct.pack("<Q", bits) == struct.pack("<d", float(f"{w}e{q}"))


def test_nearest_at_exact_halves():
    source = random.Random(0)
    for _ in range(2000):
        odd = source.randrange(2**53, 2**54) | 1  # half-way between two floats, and so is half of it
        for w, q in [(odd, 0), (5 * odd, -1)]:
            assert struct.pack("<Q", nearest(np.uint64(w), q)) == struct.pack("<d", float(f"{w}e{q}"))


def values_of(tokens):
    text = "\n".join(f"{token} 1:{token}" for token in tokens) + "\n"
    (chunk,) = from_bytes(text.encode(), chunk=10**6, threads=False)
    return chunk.y, chunk.X.data


def same_bits(found, expected):
    assert np.asarray(found).tobytes() == np.array(expected, dtype=np.float64).tobytes()


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30))
def test_every_float_comes_back_to_the_bit(numbers):
    labels, values = values_of([repr(x) for x in numbers])
    same_bits(labels, numbers)
    same_bits(values, numbers)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.from_regex(r"[-+]?([0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})([eE][-+]?[0-9]{1,2})?", fullmatch=True), min_size=1)
)
def test_odd_spellings_of_numbers(tokens):
    labels, values = values_of(tokens)
    same_bits(labels, [float(token) for token in tokens])
    same_bits(values, [float(token) for token in tokens])


def test_hard_numbers():
    tokens = [
        "-0", "-0.0", "1e-320", "4.9e-324", "2.2250738585072011e-308", "1.7976931348623157e308", "1e-400", "0e99999999999",
        "9007199254740993", "9007199254740992.5", "0.1e1", "1e23", "8.442911973260991817129021e-309", "1e0000000000000000001",
        "123456789012345678901234567890", "0.000000000000000000000000000012345678901234567", "18446744073709551615", "1e-64",
        "100000000000000000000000000000000000000000000000000000000000000000000000000000000000000000001e-80",
    ]  # fmt: skip
    labels, values = values_of(tokens)
    same_bits(labels, [float(token) for token in tokens])
    same_bits(values, [float(token) for token in tokens])


def test_short_numbers_of_every_length():
    source = random.Random(0)

    def some(length):
        return "".join(source.choices("0123456789", k=length))

    tokens = [
        f"{sign}{some(whole)}{part}"
        for sign in ("", "-", "+")
        for whole in range(1, 11)
        for part in ("", ".", *(f".{some(length)}" for length in range(1, 11)))
        for _ in range(10)
    ]
    tokens += ["99999999.99999999", "9999999.99999999", "-0", "-0.0", ".5", "-.5"]
    labels, values = values_of(tokens)
    same_bits(labels, [float(token) for token in tokens])
    same_bits(values, [float(token) for token in tokens])


def test_nothing_but_hard_numbers():
    (chunk,) = from_bytes(b"1e99\n" * 5000 + b"1e99 1:1e-99\n" * 5000, chunk=10**5)
    assert (chunk.y == 1e99).all()
    assert (chunk.X.data == 1e-99).all()
    assert chunk.X.nnz == 5000


# --- libsvm ---


def plain_parse(text):
    """The same in the plainest Python: rows of (label, {column: value})."""
    rows = []
    for line in text.split("\n"):
        parts = line.partition("#")[0].split()
        if parts:
            pairs = [part.split(":") for part in parts[1:] if not part.startswith("qid:")]
            rows.append((float(parts[0]), {int(index) - 1: float(value) for index, value in pairs}))
    return rows


blanks = st.sampled_from([" ", "  ", "\t", " \t "])
numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-20, 20).map(str),
    st.decimals(-100, 100, places=3, allow_nan=False).map(str),
    st.floats(0, 1).map("+{:.3e}".format),
)


@st.composite
def texts(draw):
    pieces = []
    for _ in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(["row"] * 6 + ["blank", "comment"]))
        if kind == "row":
            pieces.append(draw(st.sampled_from(["", " "])) + draw(numbers))
            if draw(st.booleans()):
                pieces.append(draw(blanks) + f"qid:{draw(st.integers(0, 10**9))}")
            indices = sorted(draw(st.sets(st.one_of(st.integers(1, 30), st.integers(1, 2**31 - 2)), max_size=8)))
            pieces.extend(f"{draw(blanks)}{index}:{draw(numbers)}" for index in indices)
            pieces.append(draw(st.sampled_from(["", " ", " # a: comment", "#x"])))
        elif kind == "comment":
            pieces.append("# 1 2:3")
        pieces.append(draw(st.sampled_from(["\n", "\r\n"])))
    if draw(st.booleans()):
        pieces.pop()
    return "".join(pieces)


@settings(deadline=None, max_examples=50)
@given(texts(), st.integers(1, 5))
def test_random_rows_against_plain_python(text, chunk):
    expected = plain_parse(text)
    if not expected:
        with pytest.raises(ValueError, match="holds no rows"):
            from_bytes(text.encode(), threads=False)
        return
    found = []
    widest = 0
    for part in from_bytes(text.encode(), chunk=chunk, threads=False):
        assert part.X.indices.dtype == part.X.indptr.dtype == np.int32
        assert part.X.has_canonical_format
        assert part.position.rows == len(found)
        for t in range(len(part)):
            row = slice(part.X.indptr[t], part.X.indptr[t + 1])
            found.append((part.y[t], dict(zip(part.X.indices[row].tolist(), part.X.data[row].tolist(), strict=True))))
        widest = max([widest, *(column + 1 for _, row in found for column in row)])
        assert part.X.shape[1] == widest
    assert len(found) == len(expected)
    for (label, row), (expected_label, expected_row) in zip(found, expected, strict=True):
        assert list(row) == list(expected_row)
        same_bits([label, *row.values()], [expected_label, *expected_row.values()])


def test_chunks_and_positions(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text("# first\n\n" + "".join(f"{t} 1:{t}\n" + ("\n# between\n" if t == 3 else "") for t in range(10)))
    with streams.open(path, chunk=4) as stream:
        assert stream.size == path.stat().st_size
        chunks = []
        for chunk in stream:
            assert stream.position == chunk.position
            chunks.append(chunk)
    assert [len(chunk) for chunk in chunks] == [4, 4, 2]
    assert [chunk.position.rows for chunk in chunks] == [0, 4, 8]
    assert [chunk.position.line for chunk in chunks] == [3, 9, 13]
    assert chunks[-1].position.bytes == stream.size
    assert [chunk.y.tolist() for chunk in streams.open(path, chunk=4)] == [chunk.y.tolist() for chunk in chunks]
    with pytest.raises(AttributeError):
        chunks[0].y = None


def test_rows_longer_than_a_block_and_chunks_over_many_blocks(tmp_path, monkeypatch):
    source = np.random.default_rng(0)
    X = sparse.random_array((300, 500), density=0.3, rng=source, format="csr")
    rows = [
        f"{t} " + " ".join(f"{j + 1}:{v!r}" for j, v in zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True))
        for t, (a, b) in enumerate(zip(X.indptr[:-1], X.indptr[1:], strict=True))
    ]
    path = tmp_path / "wide"
    path.write_text("\n".join(rows))
    for block in (100, 5000, 1 << 20):
        monkeypatch.setattr(lines, "BLOCK", block)
        for chunk in (1, 7, 1000):
            found, y = joined(list(streams.open(path, chunk=chunk, features=500)))
            assert (found == X.toarray()).all()
            assert (y == np.arange(300)).all()


def test_wide_indices_are_int64():
    narrow, wide = from_bytes(b"1 5:1\n1 2147483648:1\n", chunk=1)
    assert narrow.X.indices.dtype == np.int32
    assert wide.X.indices.dtype == wide.X.indptr.dtype == np.int64
    assert wide.X.shape == (1, 2**31)
    assert wide.X.indices.tolist() == [2**31 - 1]


def test_zero_based():
    (chunk,) = from_bytes(b"1 0:2 3:4\n", zero_based=True)
    assert chunk.X.toarray().tolist() == [[2, 0, 0, 4]]


def test_features_fix_the_width():
    (chunk,) = from_bytes(b"1 2:1\n", features=7)
    assert chunk.X.shape == (1, 7)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1,2 3:1", "the label 1,2 is a list"),
        ("3:1 4:1", "the line begins with the feature 3:1"),
        ("nan 1:1", "the label nan is not a finite number"),
        ("-inf 1:1", "the label -inf is not a finite number"),
        ("one 1:1", "the label one is not a finite number"),
        ("1e400 1:1", "1e400 is too large"),
        ("1 0:1", "feature index 0, but indices start at 1"),
        ("1 -3:1", "-3:1 is not a feature"),
        ("1 a:1", "a:1 is not a feature"),
        ("1 2", "2 is not a feature"),
        ("1 :2", ":2 is not a feature"),
        ("1 2:", "the value '' of feature 2 is not a finite number"),
        ("1 2: 3", "the value '' of feature 2 is not a finite number"),
        ("1 2:nan", "the value 'nan' of feature 2"),
        ("1 2:inf", "the value 'inf' of feature 2"),
        ("1 2:1e", "the value '1e' of feature 2"),
        ("1 2:0x1", "the value '0x1' of feature 2"),
        ("1 2:1_0", "the value '1_0' of feature 2"),
        ("1 2:1:3", "the value '1:3' of feature 2"),
        ("1 2:1e999", "1e999 is too large"),
        ("1 2:1 2:1", "feature index 2 comes after 2; indices must ascend"),
        ("1 5:1 2:1", "feature index 2 comes after 5; indices must ascend"),
        ("1 9:1", "feature index 9 is beyond features=8"),
        ("1 99999999999999999999999:1", "feature index 99999999999999999999999 is beyond"),
        ("1 2:1 qid:3", "qid:3 is not a feature"),
        ("\x00\x01\x02", "the label"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_a_broken_line_is_named(tmp_path, line, message, end):
    path = tmp_path / "broken.txt"
    path.write_bytes(f"1 1:1\n\n# fine\n1 2:0.5\n{line}{end}".encode() + (b"1 1:1\n" if end else b""))
    with pytest.raises(ValueError, match="line 5: ") as caught:
        list(streams.open(path, features=8))
    assert str(caught.value).startswith(f"{path}, line 5: ")
    assert message in str(caught.value)


def test_rows_before_a_broken_line_are_handed_out_and_none_after():
    chunks = iter(streams.open(io.BytesIO(b"1 1:1\n2 1:1\n3 1:1\nx 1:1\n5 1:1\n"), chunk=2))
    assert next(chunks).y.tolist() == [1, 2]
    with pytest.raises(ValueError, match="line 4: the label x"):
        next(chunks)
    assert list(chunks) == []


@pytest.mark.parametrize("threads", [True, False])
@pytest.mark.parametrize("block", [64, 1 << 20])
@pytest.mark.parametrize("bad", [b"x 1:1\n", b"1 1:1e999 3:1\n", b"1e999\n", b"1 2:1e999 1:2\n"])
def test_an_error_waits_for_the_chunks_before_it(monkeypatch, threads, block, bad):
    monkeypatch.setattr(lines, "BLOCK", block)
    text = b"".join(b"%d 1:1e-99\n# between\n" % t for t in range(1000)) + bad + b"1 1:1\n" * 1000
    chunks = iter(streams.open(io.BytesIO(text), chunk=30, threads=threads))
    for first in range(0, 990, 30):
        assert next(chunks).y.tolist() == list(range(first, first + 30))
    with pytest.raises(ValueError, match="line 2001: "):
        next(chunks)
    assert list(chunks) == []


@pytest.mark.parametrize("threads", [True, False])
def test_what_was_read_before_a_packed_file_breaks_off_is_handed_out(monkeypatch, threads):
    monkeypatch.setattr(lines, "BLOCK", 1000)
    packed = gzip.compress(TEXT)
    rows = []
    with pytest.raises(EOFError, match="cut short"):
        rows.extend(len(chunk) for chunk in streams.open(io.BytesIO(packed[: len(packed) // 2]), chunk=10, threads=threads))
    assert sum(rows) > 1000


def test_line_numbers_go_on_over_blocks(monkeypatch):
    monkeypatch.setattr(lines, "BLOCK", 64)
    with pytest.raises(ValueError, match="line 1001: "):
        from_bytes(b"1 1:1\n\n" * 500 + b"bad\n")


def test_the_parser_without_the_compiler():
    program = (
        "import io; from onepass import streams\n"
        "text = b'-1.5 qid:3 2:0.1 # c\\n\\n+2 1:1e-7 3:123456789012345678\\r\\n'\n"
        "(chunk,) = streams.open(io.BytesIO(text))\n"
        "assert chunk.y.tolist() == [-1.5, 2.0]\n"
        "assert chunk.X.toarray().tolist() == [[0, 0.1, 0], [1e-7, 0, 123456789012345678.0]]\n"
        "(table,) = streams.open(io.BytesIO(b'a,y\\n1,2\\n'), format='csv')\n"
        "assert table.X.tolist() == [[1.0]]\n"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(Path(streams.__file__).parents[2])}
    subprocess.run([sys.executable, "-W", "error::RuntimeWarning", "-c", program], check=True, env=environment)


def test_real_files():
    chunks = list(streams.open(real("a9a.xz")))
    X, y = joined(chunks)
    assert X.shape == (32561, 123)
    assert np.unique(y, return_counts=True)[1].tolist() == [24720, 7841]
    assert X.sum() == plain_sum(real("a9a.xz"))


def plain_sum(path):
    return sum(sum(row.values()) for _, row in plain_parse(lzma.open(path, "rt").read()))


# --- packed files ---


def zstd(data):
    return pytest.importorskip("zstandard").ZstdCompressor().compress(data)


PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd}
TEXT = "".join(f"{t % 3} 1:{t} {t + 2}:{t * 0.37!r}\n" for t in range(5000)).encode()


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("where", ["path", "unnamed", "pipe"])
def test_packed(tmp_path, packer, where):
    data = PACKERS[packer](TEXT)
    path = tmp_path / f"rows.libsvm.{packer}"
    path.write_bytes(data)
    if where == "path":
        stream = streams.open(path)
    elif where == "unnamed":
        stream = streams.open(io.BytesIO(data))
    else:
        stream = streams.open(OneByteAtATime(data))
    chunks = list(stream)
    X, y = joined(chunks)
    assert y.tolist() == [t % 3 for t in range(5000)]
    assert X[:, 0].tolist() == list(range(5000))
    assert chunks[-1].position.bytes == len(data)


class OneByteAtATime(io.RawIOBase):
    """A slow pipe."""

    def __init__(self, data):
        self._data = io.BytesIO(data)

    def readable(self):
        return True

    def readinto(self, buffer):
        return self._data.readinto(memoryview(buffer)[: max(1, len(buffer) // 100)])


@pytest.mark.parametrize("packer", PACKERS)
def test_several_members(packer):
    pack = PACKERS[packer]
    _, y = joined(from_bytes(pack(TEXT) + pack(b"7 1:1\n") + pack(b"8 1:1\n")))
    assert len(y) == 5002
    assert y[-2:].tolist() == [7, 8]


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("share", [0.3, 0.7, 0.999])
def test_cut_short(tmp_path, packer, share):
    data = PACKERS[packer](TEXT)
    path = tmp_path / f"cut.{packer}"
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises((EOFError, OSError), match=r"cut\.\w+ is (cut short|damaged)"):
        list(streams.open(path))


@pytest.mark.parametrize("packer", PACKERS)
def test_damaged(tmp_path, packer):
    data = bytearray(PACKERS[packer](TEXT))
    for i in range(len(data) // 2, len(data) // 2 + 40):
        data[i] ^= 0x5A
    path = tmp_path / "damaged"
    path.write_bytes(data)
    with pytest.raises((EOFError, OSError, ValueError), match="damaged"):
        list(streams.open(path))


def test_missing_empty_and_directory(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent\.txt"):
        streams.open(tmp_path / "absent.txt")
    with pytest.raises(IsADirectoryError, match=tmp_path.name):
        streams.open(tmp_path)
    for name, data in [
        ("a", b""),
        ("b", b"\n# nothing\n"),
        ("c.csv", b""),
        ("d.csv", b"a,b\n"),
        ("e.jsonl", b"\n"),
        ("f.gz", b""),
    ]:
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ValueError, match=rf"{name} is empty: it holds no rows"):
            list(streams.open(tmp_path / name))


def test_a_missing_package_is_named(monkeypatch, tmp_path):
    true_import = builtins.__import__

    def without(name, *rest, **more):
        if name.partition(".")[0] in ("pyarrow", "zstandard"):
            raise ImportError(name)
        return true_import(name, *rest, **more)

    packed = zstd(TEXT)
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    (tmp_path / "a.jsonl").write_text("{}")
    monkeypatch.setattr(builtins, "__import__", without)
    for name in ("a.csv", "a.parquet", "a.jsonl"):
        with pytest.raises(ImportError, match=f"{name} needs pyarrow: pip install pyarrow"):
            list(streams.open(tmp_path / name))
    if sys.version_info < (3, 14):
        with pytest.raises(ImportError, match=r'pip install "onepass\[zstd\]"'):
            from_bytes(packed)


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(b"1 1:2\n"))))
    stream = streams.open("-")
    assert stream.size is None
    assert [chunk.y.tolist() for chunk in stream] == [[1]]
    with pytest.raises(ValueError, match="standard input can be read only once"):
        iter(stream)


def test_an_open_file_stays_open_and_is_read_once(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    with (tmp_path / "a.csv").open("rb") as file:
        with streams.open(file) as stream:
            assert next(iter(stream)).X.tolist() == [[1]]
        assert not file.closed
        with pytest.raises(ValueError, match="only once"):
            iter(stream)
    with (tmp_path / "a.csv").open() as text, pytest.raises(TypeError, match="binary mode"):
        streams.open(text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "arff"}, "format='arff'"),
        ({"chunk": 0}, "chunk=0"),
        ({"features": 0}, "features=0"),
        ({"task": "ranking"}, "task='ranking'"),
        ({"label": "y"}, "name columns of a table"),
        ({"drop": ["y"]}, "name columns of a table"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        streams.open(io.BytesIO(b""), **options)


# --- tables ---


@pytest.fixture(autouse=True)
def arrow(request):
    if "table" in request.node.name:
        pytest.importorskip("pyarrow")


def write_table(path, columns):
    """One table in the format that the name ends in."""
    import pyarrow.csv
    import pyarrow.parquet

    table = pa.table(columns)
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    elif path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path)
    else:
        rows = [table.column_names, *(row.values() for row in table.to_pylist())]
        path.write_text(
            "".join(
                "\t".join("" if x is None else str(x).lower() if x is True or x is False else str(x) for x in row) + "\n"
                for row in rows
            )
        )
    return path


FORMATS = ["csv", "tsv", "jsonl", "parquet"]


@pytest.mark.parametrize("format", FORMATS)
def test_table_of_numbers(tmp_path, format):
    columns = {"a": [1, 2, 3], "Class": [0, 1, 0], "b": [0.1, 2.5, -1e-7], "c": [True, False, True]}
    path = write_table(tmp_path / f"t.{format}", columns)
    first, second = streams.open(path, chunk=2)
    assert first.X.tolist() == [[1, 0.1, 1], [2, 2.5, 0]]
    assert second.X.tolist() == [[3, -1e-7, 1]]
    assert first.X.dtype == np.float64
    assert first.X.flags.c_contiguous
    assert first.names == ("a", "b", "c")
    assert first.y.tolist() == [0, 1]
    assert first.y.dtype == np.int64
    assert (first.position.rows, second.position.rows) == (0, 2)
    header = format in ("csv", "tsv")
    assert [first.position.line, second.position.line] == ([None, None] if format == "parquet" else [1 + header, 3 + header])


@pytest.mark.parametrize("format", FORMATS)
def test_table_labels(tmp_path, format):
    path = write_table(tmp_path / f"t.{format}", {"a": [1, 2], "y": [1.5, 2.5], "target": ["u", "v"], "b": [True, False]})
    assert next(iter(streams.open(path, drop=["target"]))).y.tolist() == [1.5, 2.5]
    assert next(iter(streams.open(path, label="target"))).y.tolist() == ["u", "v"]
    assert next(iter(streams.open(path, label="target"))).y.dtype.kind == "U"
    assert next(iter(streams.open(path, label=0))).y.tolist() == [1, 2]
    assert next(iter(streams.open(path, label=-2))).y.tolist() == ["u", "v"]
    last = next(iter(streams.open(path)))  # two columns have the name of a label
    assert last.y.tolist() == [True, False]
    assert last.y.dtype == bool
    none = next(iter(streams.open(path, label=False, drop=["target"])))
    assert none.y is None
    assert none.names == ("a", "y", "b")
    numbers = next(iter(streams.open(path, label="a", task="regression", drop=["target"])))
    assert numbers.y.dtype == np.float64
    for options, message in [
        ({"label": "z"}, "has no column 'z' for the label; its columns are a, y, target, b"),
        ({"label": 7}, "none at position 7"),
        ({"drop": ["z"]}, "has no column 'z' to drop"),
        ({"label": "target", "task": "regression"}, "a regression needs numbers"),
        ({"drop": ["target"], "features": 5}, "has 2 features, but features=5"),
    ]:
        with pytest.raises(ValueError, match=message):
            list(streams.open(path, **options))


@pytest.mark.parametrize("format", FORMATS)
def test_table_of_strings_is_a_frame_that_a_hasher_takes(tmp_path, format):
    source = random.Random(1)
    rows = [
        {
            "town": source.choice(["Rome", "Köln", "x y"]),
            "n": source.choice([0.0, 1.5, -2.0]),
            "c": source.choice("abc"),
            "k": t,
        }
        for t in range(50)
    ]
    path = write_table(tmp_path / f"t.{format}", {**{key: [row[key] for row in rows] for key in rows[0]}, "y": [0, 1] * 25})
    chunks = list(streams.open(path, chunk=20))
    assert [len(chunk) for chunk in chunks] == [20, 20, 10]
    assert all(isinstance(chunk.X, pa.Table) and chunk.names == tuple(chunk.X.column_names) for chunk in chunks)
    assert chunks[0].names == ("town", "n", "c", "k")
    assert [row for chunk in chunks for row in chunk.X.to_pylist()] == rows
    assert chunks[2].y.tolist() == [0, 1] * 5
    for features in (2**20, 8):
        found = sparse.vstack([Hasher(features).transform(chunk.X) for chunk in chunks])
        assert (found != FeatureHasher(features).transform(rows)).nnz == 0
    assert next(iter(streams.open(path, drop=["k", "n"]))).names == ("town", "c")
    with pytest.raises(ValueError, match=r"has strings in its columns.*Hasher\(n_features=8\)"):
        list(streams.open(path, features=8))


@pytest.mark.parametrize("format", FORMATS)
def test_table_missing_value_is_named(tmp_path, format):
    path = write_table(tmp_path / f"t.{format}", {"a": [1.0] * 30 + [None, 2.0], "y": [0] * 32})
    place = {"csv": "line 32", "tsv": "line 32", "jsonl": "line 31", "parquet": "row 31"}[format]
    with pytest.raises(ValueError, match=rf"t\.{format}, {place}: the value of 'a' is missing"):
        list(streams.open(path, chunk=7))
    write_table(path, {"s": ["x"] * 32, "a": [1.0] * 30 + [None, 2.0], "y": [0] * 32})
    with pytest.raises(ValueError, match=rf"t\.{format}, {place}: the value of 'a' is missing"):
        list(streams.open(path, chunk=7))


def test_table_missing_string_stays_missing_and_missing_label_is_an_error(tmp_path):
    path = write_table(tmp_path / "t.parquet", {"s": ["a", None], "y": ["u", None]})
    with pytest.raises(ValueError, match="row 2: the label is missing"):
        list(streams.open(path))
    (chunk,) = streams.open(path, label=False, drop=["y"])
    assert chunk.X.to_pydict() == {"s": ["a", None]}


def test_table_csv_whole_numbers_may_turn_out_not_to_be(tmp_path, monkeypatch):
    monkeypatch.setattr("onepass.streams.tables.BLOCK", 100)
    monkeypatch.setattr(lines, "BLOCK", 100)
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n" + "1,2,0\n" * 100 + "1.5,2,1\n")
    X, y = joined(list(streams.open(path, chunk=10)))
    assert X[-1].tolist() == [1.5, 2]
    assert y[-1] == 1
    path.write_text("a,b,y\n" + "1,2,0\n" * 50 + "\n" + "1,2,0\n" * 50 + "1,x,1\n" + "1,2,0\n" * 9)
    with pytest.raises(ValueError, match=r"t\.csv, line 103: the value of 'b' is 'x', and the column holds numbers so far"):
        list(streams.open(path, chunk=40))
    path.write_text("a,b,y\n" + "1,2,0\n" * 100 + "1,1\n" + "1,2,0\n" * 9)
    with pytest.raises(ValueError, match=r"t\.csv, line 102: .*Expected 3 columns, got 2"):
        list(streams.open(path, chunk=40))


def test_table_csv_without_a_header():
    (chunk,) = from_bytes(b"1,2.5,0\r\n-3,4e1,1\r\n", format="csv")
    assert chunk.X.tolist() == [[1, 2.5], [-3, 40]]
    assert chunk.names == ("0", "1")
    assert chunk.y.tolist() == [0, 1]
    with pytest.raises(ValueError, match=r"line 1: two columns are called 'a'"):
        from_bytes(b"a,b,a\nb,b,c\n", format="csv")


def test_table_csv_quotes_and_byte_order_mark(monkeypatch):
    monkeypatch.setattr(lines, "BLOCK", 16)
    text = "\ufeffs,n,y\n" + '"two\nlines, ""quoted""",1,0\n\n5" disk,2,1\n' * 20
    chunks = from_bytes(text.encode(), format="csv", chunk=3)
    rows = [{"s": 'two\nlines, "quoted"', "n": 1.0}, {"s": '5" disk', "n": 2.0}] * 20
    assert [row for chunk in chunks for row in chunk.X.to_pylist()] == rows
    assert [chunk.position.line for chunk in chunks][:3] == [2, 9, 14]
    with pytest.raises(ValueError, match="line 3: a quote is opened and never closed"):
        from_bytes(b's,y\na,1\n"b,2\nc,3\n', format="csv")


def test_table_dates_in_text_are_strings():
    (chunk,) = from_bytes(b"day,y\n2020-01-01,1\n2020-01-02,0\n", format="csv")
    assert chunk.X.to_pydict() == {"day": ["2020-01-01", "2020-01-02"]}


def test_table_json_lines_errors(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1, "y": 0}\n\n{"a": 2, "y": 1}\n{"a": 3, "y"\n{"a": 4, "y": 1}\n')
    with pytest.raises(ValueError, match=r"t\.jsonl, line 4: "):
        list(streams.open(path))
    path.write_text('{"a": [1], "y": 0}\n')
    with pytest.raises(ValueError, match=r"column 'a' of .*t\.jsonl is List.*; drop it"):
        list(streams.open(path))
    with pytest.raises(ValueError, match="one column only, 'y'"):
        list(streams.open(path, drop=["a"]))


def test_table_parquet_cut_short_and_piped(tmp_path):
    path = write_table(tmp_path / "t.parquet", {"a": list(range(1000)), "y": [0] * 1000})
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(OSError, match=r"t\.parquet is not a whole Parquet file"):
        list(streams.open(path))
    with pytest.raises(ValueError, match="is a pipe"):
        list(streams.open(OneByteAtATime(data), format="parquet"))


def test_table_packed(tmp_path):
    (tmp_path / "t.tsv.gz").write_bytes(gzip.compress(b"a\ty\n1\t2\n"))
    assert next(iter(streams.open(tmp_path / "t.tsv.gz"))).X.tolist() == [[1]]


def test_table_real_files():
    X, y = joined(list(streams.open(real("elec2.csv.xz"), drop=[""])))
    assert X.shape == (45312, 8)
    assert np.unique(y).tolist() == ["DOWN", "UP"]
    X, y = joined(list(streams.open(real("sea.csv.xz"))))
    assert X.shape == (50000, 3)
    assert np.unique(y).tolist() == [0, 1]
    messages = list(streams.open(real("sms-spam.tsv.xz"), label=0))
    assert sum(map(len, messages)) == 5574  # there is no header, since "ham" comes again


# --- arrays, frames and npz ---


def test_arrays_are_cut_without_a_copy():
    X, y = np.random.default_rng(0).random((10, 3)), np.arange(10)
    chunks = list(streams.open((X, y), chunk=4))
    assert [len(chunk) for chunk in chunks] == [4, 4, 2]
    assert all(np.shares_memory(chunk.X, X) and np.shares_memory(chunk.y, y) for chunk in chunks)
    assert (joined(chunks)[0] == X).all()
    assert [chunk.position.rows for chunk in chunks] == [0, 4, 8]
    assert next(iter(streams.open(X))).y is None


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_csr_is_cut_without_a_copy(kind):
    X, y = kind(sparse.random_array((100, 30), density=0.2, rng=np.random.default_rng(0))), np.arange(100)
    chunks = list(streams.open((X, y), chunk=33, features=40))
    assert all(np.shares_memory(chunk.X.data, X.data) and np.shares_memory(chunk.X.indices, X.indices) for chunk in chunks)
    assert all(isinstance(chunk.X, sparse.csr_array) and chunk.X.shape[1] == 40 for chunk in chunks)
    assert (joined(chunks)[0][:, :30] == X.toarray()).all()


def test_wrong_arrays():
    with pytest.raises(ValueError, match="X has 3 rows, but y has 2"):
        list(streams.open((np.ones((3, 2)), np.ones(2))))
    with pytest.raises(ValueError, match="X has 2 features, but features=3"):
        list(streams.open(np.ones((3, 2)), features=3))
    with pytest.raises(ValueError, match="must have rows and columns"):
        streams.open(np.ones(3))
    with pytest.raises(ValueError, match="holds no rows"):
        list(streams.open(np.ones((0, 3))))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames(library):
    module = pytest.importorskip(library)
    columns = {"a": [1, 2, 3], "b": [0.5, 1.5, 2.5], "y": ["u", "v", "u"]}
    frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    first, second = streams.open(frame, label="y", chunk=2)
    assert first.X.tolist() == [[1, 0.5], [2, 1.5]]
    assert first.names == ("a", "b")
    assert second.y.tolist() == ["u"]
    features = frame.drop_columns(["y"]) if library == "pyarrow" else frame[["a", "b"]]
    (chunk,) = streams.open((features, [1, 0, 1]))
    assert chunk.X.shape == (3, 2)
    assert chunk.y.tolist() == [1, 0, 1]
    first, second = streams.open(frame, label="a", drop=["b"], chunk=2)
    assert type(first.X) is type(frame)
    assert (len(first), len(second)) == (2, 1)
    assert first.names == ("y",)
    assert (Hasher(64).transform(second.X) != FeatureHasher(64).transform([{"y": "u"}])).nnz == 0
    with pytest.raises(ValueError, match="X has 3 rows, but y has 2"):
        list(streams.open((features, [1, 0])))


def test_frame_missing_value_is_named():
    polars = pytest.importorskip("polars")
    with pytest.raises(ValueError, match="the table, row 3: the value of 'a' is missing"):
        list(streams.open(polars.DataFrame({"a": [1, 2, None], "y": [0, 1, 0]}), chunk=2))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_dense(tmp_path, order, save):
    X, y = np.asarray(np.random.default_rng(0).random((50, 4)), order=order), np.array(["no", "yes"] * 25)
    save(tmp_path / "a.npz", X=X, y=y)
    chunks = list(streams.open(tmp_path / "a.npz", chunk=20))
    found, labels = joined(chunks)
    assert (found == X).all()
    assert (labels == y).all()
    assert all(chunk.X.flags.c_contiguous for chunk in chunks)
    assert [chunk.position.rows for chunk in chunks] == [0, 20, 40]


def test_npz_csr(tmp_path):
    X, y = sparse.random_array((50, 9), density=0.3, rng=np.random.default_rng(0), format="csr"), np.arange(50)
    sparse.save_npz(tmp_path / "part.npz", X)
    np.savez(tmp_path / "a.npz", y=y, **np.load(tmp_path / "part.npz"))
    found, labels = joined(list(streams.open(tmp_path / "a.npz", chunk=20)))
    assert (found == X.toarray()).all()
    assert (labels == y).all()
    assert next(iter(streams.open(tmp_path / "part.npz"))).y is None
    sparse.save_npz(tmp_path / "csc.npz", X.tocsc())
    with pytest.raises(ValueError, match=r"of the format csc; save it as CSR"):
        list(streams.open(tmp_path / "csc.npz"))


def test_npz_errors(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, X=np.ones((3, 2)), y=np.ones(2))
    with pytest.raises(ValueError, match=r"has 3 rows, but y has the shape \(2,\)"):
        list(streams.open(path))
    np.savez(path, Z=np.ones(3))
    with pytest.raises(ValueError, match="has no array 'X'"):
        list(streams.open(path))
    np.savez(path, X=np.ones((3, 2)), y=np.array([1, "a", None], dtype=object))
    with pytest.raises(ValueError, match=r"'y' of .* holds neither numbers nor strings: it is object"):
        list(streams.open(path))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(OSError, match=r"a\.npz is not a whole \.npz file"):
        list(streams.open(path))


# --- the second thread ---


def many_rows(tmp_path, rows=20000):
    path = tmp_path / "many"
    path.write_text("".join(f"{t} 1:1\n" for t in range(rows)))
    return path


class Endless(io.RawIOBase):
    """Rows without end."""

    def readinto(self, buffer):
        text = b"1 1:1\n" * (len(buffer) // 6)
        buffer[: len(text)] = text
        return len(text)

    def read(self, size):
        return b"1 1:1\n" if size == 6 else b""


def test_it_reads_ahead_but_not_far():
    stream = iter(streams.open(Endless(), chunk=10))
    next(stream)
    assert len(reader_threads()) == min(2, os.cpu_count())
    stream.close()
    assert not reader_threads()
    made = []

    def endless():
        for t in range(10**9):
            made.append(t)
            yield streams.Chunk(np.ones((1, 1)), None, streams.Position(t))

    chunks = iter(streams.Stream(endless, "endless", None, False, True, [], {}, 0))
    for _ in range(5):
        next(chunks)
    time.sleep(0.05)
    assert 5 < len(made) <= 9
    del chunks
    assert wait_until_none()


def test_leaving_the_block_stops_the_threads():
    with streams.open(Endless(), chunk=10) as stream:
        chunks = iter(stream)
        next(chunks)
        assert reader_threads()
    assert not reader_threads()
    assert list(chunks) == []


def test_stopping_early_or_forgetting_stops_the_threads():
    for _ in streams.open(Endless(), chunk=10):
        break
    assert wait_until_none()
    chunks = iter(streams.open(Endless(), chunk=10))
    next(chunks)
    del chunks
    gc.collect()
    assert wait_until_none()


def test_errors_travel_with_their_traceback():
    with pytest.raises(ValueError, match="line 1: ") as caught:
        from_bytes(b"bad\n")
    assert any("libsvm.py" in frame.filename for frame in traceback.extract_tb(caught.value.__traceback__))
    assert wait_until_none()


@pytest.mark.parametrize("block", [50, 3000, 1 << 20])
@pytest.mark.parametrize("chunk", [1, 99, 10000])
def test_with_and_without_threads_alike(tmp_path, monkeypatch, block, chunk):
    monkeypatch.setattr(lines, "BLOCK", block)
    path = tmp_path / "rows"
    path.write_text("".join(f"{t} 1:{t} {t + 2}:0.{t}" + ("\n# more\n\n" if t % 7 == 0 else "\n") for t in range(2000)))
    ours, plain = (list(streams.open(path, chunk=chunk, threads=threads)) for threads in (True, False))
    assert [a.position for a in ours] == [b.position for b in plain]
    assert [a.position.line for a in ours] == [t + 1 + 2 * ((t + 6) // 7) for t in range(0, 2000, chunk)]
    assert np.concatenate([a.y for a in ours]).tolist() == list(range(2000))
    for a, b in zip(ours, plain, strict=True):
        assert a.X.shape == b.X.shape == (min(chunk, 2000 - a.position.rows), a.position.rows + len(a) + 1)
        assert (a.X != b.X).nnz == 0


def test_a_chunk_does_not_wait_for_the_next_one_of_a_slow_pipe():
    reader, writer = os.pipe()
    with builtins.open(reader, "rb", buffering=0) as file, builtins.open(writer, "wb", buffering=0) as pipe:
        pipe.write(b"1 1:1\n" * 5 + b"1")
        chunks = iter(streams.open(file, chunk=5))
        assert len(next(chunks)) == 5
        pipe.write(b" 1:1\n" + b"1 1:1\n" * 4)
        assert len(next(chunks)) == 5
        pipe.close()
        assert list(chunks) == []


def test_results_keep_the_order_of_the_items():
    closed = []

    def numbers():
        try:
            yield from range(10**6)
        finally:
            closed.append(True)

    def slow_if_even(number):
        if number == 21:
            raise KeyError(number)
        time.sleep(0.002 * (number % 2 == 0))
        return number

    results = in_order(numbers(), slow_if_even, 3)
    assert [next(results) for _ in range(21)] == list(range(21))
    with pytest.raises(KeyError, match="21"):
        next(results)
    assert closed == [True]
    assert wait_until_none()


def test_a_process_may_end_in_the_middle(tmp_path):
    program = f"from onepass import streams; chunks = iter(streams.open({str(many_rows(tmp_path))!r}, chunk=5)); next(chunks)"
    environment = {**os.environ, "PYTHONPATH": str(Path(streams.__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, env=environment, timeout=300)
    assert done.returncode == 0
    assert not done.stderr


def test_memory_does_not_grow_with_the_file(tmp_path):
    pytest.importorskip("resource")
    program = (
        "import resource, sys; from onepass import streams\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024\n"
        "line = b'1 ' + b' '.join(b'%d:0.5' % j for j in range(1, 100)) + b'\\n'\n"
        "class Endless:\n"
        "    left = 50 << 20\n"
        "    def readinto(self, buffer):\n"
        "        whole = min(len(buffer) // len(line), self.left // len(line)) * len(line)\n"
        "        buffer[:whole] = line * (whole // len(line))\n"
        "        self.left -= whole\n"
        "        return whole\n"
        "    def read(self, size):\n"
        "        return b''\n"
        "chunks = iter(streams.open(Endless(), chunk=1000))\n"
        "for _ in range(10): next(chunks)\n"
        "before = peak()\n"
        "rows = sum(map(len, chunks))\n"
        "assert rows > 50_000, rows\n"
        "assert peak() - before < 30, peak() - before\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(streams.__file__).parents[2])}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)


# --- found by damaging files at random ---


@pytest.mark.parametrize("blank", [b"\n", b"\r\n\r\n"])
@pytest.mark.parametrize("chunk", [1, 8192])
def test_blank_lines_before_a_table(blank, chunk):
    """The first row that is not blank is the header."""
    chunks = list(streams.open(io.BytesIO(blank + b"a,label\n1,0\n2,1\n"), format="csv", chunk=chunk))
    assert chunks[0].names == ("a",)
    assert np.concatenate([each.X for each in chunks]).tolist() == [[1.0], [2.0]]


def test_a_first_row_that_is_none():
    with pytest.raises(ValueError, match="first row"):
        list(streams.open(io.BytesIO(b"a" * 140_000 + b",label\n1,2\n"), format="csv"))


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b'{"a": 1, "y": 0}\n{"a": 2, "y": 1} {"a": 3, "y": 0}\n', 2),
        (b'{"a": 1, "y": 0}\n{"a": 2,\n"y": 1}\n', 2),
        (b'{"a": 1, "y": 0}\r{"a": 2, "y": 1}\r', 1),
        (b'{"a": 1, "y": "n"}\n{"a": 2, "y": "\xff"}\n', 2),
        (b'{"\xff": 1, "y": 0}\n', 1),
        (b'null\n{"a": 1, "y": 0}\n', 1),
        (b"\n [1]\n", 2),
    ],
    ids=["two on a line", "one on two lines", "old line ends", "no UTF-8", "no UTF-8 in a name", "null", "list"],
)
@pytest.mark.parametrize("chunk", [1, 2, 8192])
def test_json_lines_hold_an_object_each(content, line, chunk):
    with pytest.raises(ValueError, match=f"line {line}: "):
        list(streams.open(io.BytesIO(content), format="jsonl", chunk=chunk))


@pytest.mark.parametrize(
    "changes",
    [{"indices": [0, 3]}, {"indices": [-1, 1]}, {"indptr": [0, 5, 2]}, {"indptr": [0, 2, 0]}, {"indices": [0.0, 1.0]}],
    ids=str,
)
def test_npz_csr_that_points_outside(changes, tmp_path):
    parts = {"format": b"csr", "shape": (2, 3), "indptr": [0, 1, 2], "indices": [0, 2], "data": [1.0, 2.0], "y": [0, 1]}
    np.savez(tmp_path / "a.npz", **{**parts, **changes})
    with pytest.raises(ValueError, match="valid CSR"):
        list(streams.open(tmp_path / "a.npz"))


def test_npz_csr_out_of_order(tmp_path):
    np.savez(tmp_path / "a.npz", format=b"csr", shape=(1, 3), indptr=[0, 3], indices=[2, 0, 2], data=[1.0, 2.0, 3.0])
    (chunk,) = streams.open(tmp_path / "a.npz")
    assert (chunk.X.indices.tolist(), chunk.X.data.tolist()) == ([0, 2], [2.0, 4.0])


def test_npz_that_zipfile_or_numpy_cannot_read(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.eye(2), y=[0, 1])
    content = (tmp_path / "a.npz").read_bytes()
    newer = content.replace(b"PK\x01\x02\x14\x03\x14", b"PK\x01\x02\x14\x03\xff").replace(
        b"PK\x01\x02-\x03-", b"PK\x01\x02-\x03\xff"
    )
    assert newer != content
    (tmp_path / "a.npz").write_bytes(newer)
    with pytest.raises(OSError, match=r"whole .npz file"):
        list(streams.open(tmp_path / "a.npz"))
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X.npy", b"\x93NUMPY\x01\x00\x10\x00{'descr': '<f8'(")
    with pytest.raises(ValueError, match="does not begin"):
        list(streams.open(tmp_path / "a.npz"))


def test_many_columns_take_no_longer_than_they_are():
    """To compare each name with all others took minutes."""
    wide = ",".join(f"c{j}" for j in range(32_000)).encode() + b"\n" + b",".join([b"1"] * 32_000) + b"\n"
    with pytest.raises(ValueError, match="two columns are called 'c7'"):
        list(streams.open(io.BytesIO(wide.replace(b",c8,", b",c7,", 1)), format="csv"))


def test_json_lines_may_begin_with_a_byte_order_mark():
    (chunk,) = streams.open(io.BytesIO(b'\xef\xbb\xbf{"a": 1, "y": 0}\n'), format="jsonl")
    assert chunk.names == ("a",)


def test_a_long_number_in_the_first_row_is_looked_at_once():
    """A pattern that could cut the digits anywhere took minutes to say that this is none."""
    (chunk,) = streams.open(io.BytesIO(b"9" * 130_000 + b"x,label\n1,0\n"), format="csv")
    assert chunk.names == ("9" * 130_000 + "x",)


def test_text_that_is_no_unicode(tmp_path):
    np.savez(tmp_path / "data.npz", X=np.ones((3, 2)), y=np.array([97, 0x110000, 98], np.uint32).view("U1"))
    with pytest.raises(ValueError, match="no Unicode"):
        list(streams.open(tmp_path / "data.npz"))


def test_parquet_with_text_that_is_no_utf8(tmp_path):
    raw = pa.array([b"red", b"b\xffue", b"red"])
    colour = pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())
    pq.write_table(pa.table({"colour": colour, "y": [0, 1, 0]}), tmp_path / "data.parquet")
    with pytest.raises(OSError, match=r"data\.parquet.*UTF8"):
        list(streams.open(tmp_path / "data.parquet", label="y"))


def test_an_array_whose_type_is_no_python(tmp_path):
    with zipfile.ZipFile(tmp_path / "data.npz", "w") as archive:
        header = b"{'descr': '(,)f8', 'fortran_order': False, 'shape': (1, 1)}\n"
        archive.writestr("X.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(8))
    with pytest.raises(ValueError, match="does not begin as arrays of NumPy do"):
        list(streams.open(tmp_path / "data.npz"))


LEAVES = """
import sys, time
from onepass.streams import stream

stream.PATIENCE = 0.01

def slow(number):
    if number:
        time.sleep(0.5)
        sys.stderr.write("done ")
    return number

def at_once(number):
    return number

items, work = (map(slow, range(100)), at_once) if "items" in sys.argv else (range(100), slow)
results = stream.in_order((item for item in items), work, 2)
assert next(results) == 0
if "close" in sys.argv:
    results.close()
"""


@pytest.mark.parametrize("what", ["items", "work"])
@pytest.mark.parametrize("how", ["close", "leave"])
def test_a_process_waits_for_threads_at_work_before_it_ends(how: str, what: str) -> None:
    """One that came back from compiled code to an interpreter that is no more would abort it."""
    command = [sys.executable, "-c", LEAVES, how, what]
    environment = {**os.environ, "PYTHONPATH": str(Path(streams.__file__).parents[2])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0
    assert set(done.stderr.split()) == {"done"}


def test_names_that_are_no_text_are_refused_clearly(tmp_path):
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(pa.table({"name": [1.0, 2.0], "y": [0, 1]}), path)
    path.write_bytes(path.read_bytes().replace(b"name", b"\xf9ame"))
    with pytest.raises(OSError, match="is not a whole Parquet file"):
        list(streams.open(path))
    sparse.save_npz(tmp_path / "X.npz", sparse.csr_matrix(np.eye(2)), compressed=False)
    with zipfile.ZipFile(tmp_path / "X.npz") as whole, zipfile.ZipFile(tmp_path / "data.npz", "w") as archive:
        for name in whole.namelist():
            archive.writestr(name, whole.read(name).replace(b"csr", b"\x80sr"))
    with pytest.raises(ValueError, match=r"holds a sparse matrix of the format .sr; save it as CSR"):
        list(streams.open(tmp_path / "data.npz"))


@pytest.mark.parametrize(
    ("form", "rows"),
    [
        ("csv", "s,y\na,1\n{}b,0\nc,1\n"),
        ("csv", "{}1,0\n2,1\n{}3,0\n"),
        ("csv", "{}\n1,0\n2,1\n"),
        ("tsv", "{}s\ty\na\t1\n{}b\t0\n"),
    ],
)
def test_a_byte_order_mark_is_one_at_the_beginning_only(form, rows):
    data = rows.replace("{}", "\ufeff").encode()
    content = [
        [str(value) for chunk in streams.open(io.BytesIO(data), form, chunk=size) for value in _values(chunk.X)]
        for size in (1, 2, 100)
    ]
    assert content[0] == content[1] == content[2]
    assert not content[0][0].startswith("\ufeff")


def _values(X):
    return X.ravel().tolist() if isinstance(X, np.ndarray) else [value for row in X.to_pylist() for value in row.values()]


def test_a_byte_order_mark_inside_json_is_an_error(tmp_path):
    rows = '\ufeff{"a": 1, "y": 0}\n\ufeff{"a": 2, "y": 1}\n{"a": 3, "y": 1}\n'.encode()
    for size in (1, 2, 100):
        with pytest.raises(ValueError, match="line 2"):
            list(streams.open(io.BytesIO(rows), "jsonl", chunk=size))


def test_a_label_that_is_no_longer_whole_is_told_the_way_out(tmp_path, monkeypatch):
    monkeypatch.setattr("onepass.streams.tables.BLOCK", 64)
    monkeypatch.setattr(lines, "BLOCK", 64)
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "".join(f"{t}.5,{t}\n" for t in range(40)) + "1,2.5\n")
    with pytest.raises(
        ValueError, match=r"line 42: the label 'y' is '2.5', and has been a whole number so far; .*--task regression"
    ):
        list(streams.open(path, chunk=8))
    assert np.concatenate([chunk.y for chunk in streams.open(path, chunk=8, task="regression")])[-1] == 2.5

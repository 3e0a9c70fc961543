"""Files with random damage for every reader. `test_mutated_files.py` runs this file in processes of its own:

    python mutations.py FOLDER SEED SECONDS COUNT READER...     so many files for each reader, or for so long

It writes to FOLDER: `report`, JSON with the counts and what went wrong, and `now`, the number of the file at hand, so that a crash can
be traced. A file follows from the seed, the reader and its number alone: `python mutations.py FOLDER SEED again READER NUMBER` reads it
once more.
"""

from __future__ import annotations

import bz2
import faulthandler
import gzip
import io
import json
import lzma
import random
import resource
import sys
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp
import zstandard

import onepass
from onepass import ModelFileError, streams
from onepass.base import DivergedError

PATIENCE = 30  # seconds for one file
MEMORY = 1 << 30  # bytes more than the process has when it starts

REFUSALS = (ValueError, OSError, EOFError)  # ModelFileError is a ValueError

# --- files that are sound ---

ROWS = 12


def numbers() -> Any:
    rng = np.random.default_rng(0)
    return (rng.normal(size=(ROWS, 3)) * (rng.random((ROWS, 3)) < 0.8)).round(3), np.arange(ROWS) % 3


def libsvm() -> list[bytes]:
    X, y = numbers()
    lines = [
        f"{t} " + " ".join(f"{j + 1}:{value}" for j, value in enumerate(row) if value) for row, t in zip(X, y, strict=True)
    ]
    odd = b"+1 qid:3 1:0.5 3:2e-3 # a comment\r\n\n-1\t2:1.5   7:-.5\n# nothing\n1.5 1:1e300 9:12345678901234567890\n"
    return ["\n".join(lines).encode() + b"\n", odd]


def delimited(sign: str) -> list[bytes]:
    X, y = numbers()
    rows = [sign.join([*map(str, row), str(t)]) for row, t in zip(X.tolist(), y.tolist(), strict=True)]
    words = [
        sign.join([str(row[0]), ["red", 'a "b"', "x,y", ""][t], ["yes", "no", "maybe"][t]]) for row, t in zip(X, y, strict=True)
    ]
    quoted = [f'{row[0]}{sign}"two\nlines"{sign}"say ""so"""' for row in X]
    return [
        "\n".join([sign.join(["a", "b", "c", "label"]), *rows]).encode() + b"\n",
        "\n".join(rows).encode(),
        "\r\n".join([sign.join(["size", "colour", "y"]), *words]).encode() + b"\r\n",
        "\n".join([sign.join(["size", "text", "y"]), *quoted]).encode() + b"\n",
    ]


def json_lines() -> list[bytes]:
    X, y = numbers()
    plain = [json.dumps({"a": row[0], "b": row[1], "y": t}) for row, t in zip(X.tolist(), y.tolist(), strict=True)]
    words = [
        json.dumps({"a": row[0], "colour": ["red", "gr\u00fcn"][t % 2], "y": "nyx"[t]})
        for row, t in zip(X.tolist(), y, strict=True)
    ]
    deep = [json.dumps({"a": 1, "b": {"c": [1, 2]}, "y": True}), json.dumps({"a": None, "y": False})]
    return ["\n".join(lines).encode() + b"\n" for lines in (plain, words, deep)]


def parquet() -> list[bytes]:
    X, y = numbers()
    tables = [
        pa.table({"a": X[:, 0], "b": X[:, 1], "y": y}),
        pa.table({"a": X[:, 0], "colour": ["red", None, "blue"] * 4, "y": ["u", "v", "w"] * 4}),
        pa.table({"a": X[:, 0].astype(np.float32), "b": X[:, 1] > 0, "y": X[:, 2]}),
    ]
    files = []
    for table, compression in zip(tables, ("none", "snappy", "zstd"), strict=True):
        file = io.BytesIO()
        pq.write_table(table, file, compression=compression, row_group_size=5)
        files.append(file.getvalue())
    return files


def npz() -> list[bytes]:
    X, y = numbers()
    csr = sp.csr_array(X)
    parts = {"format": b"csr", "shape": csr.shape, "indptr": csr.indptr, "indices": csr.indices, "data": csr.data}
    files = []
    for save, arrays in [
        (np.savez, {"X": X, "y": y}),
        (np.savez_compressed, {"X": X.astype(np.float32), "y": np.array(["a", "bb", "c"] * 4)}),
        (np.savez, {"X": np.asfortranarray(X), "y": y}),
        (np.savez, {**parts, "y": y}),
        (np.savez_compressed, {**parts, "y": y}),
    ]:
        file = io.BytesIO()
        save(file, **arrays)
        files.append(file.getvalue())
    return files


def sentences() -> list[bytes]:
    return [b"EU\tNNP\tB-ORG\nrejects\tVBZ\tO\n\nPeter\tNNP\tB-PER\n", "in O\nNew B-LOC\nYork I-LOC\n\n\nna\u00efve O".encode()]


def treebank() -> list[bytes]:
    word = "{0}\t{1}\t_\tNOUN\tNN\t_\t{2}\troot\t_\t_\n"
    first = "# 1\n1-2\tdel" + "\t_" * 8 + "\n" + word.format(1, "de", 0) + word.format(2, "el", 1)
    return [(first + "\n" + word.format(1, "x", 0)).encode()]


def objects(kind: str) -> list[bytes]:
    texts = {
        "strings": "yes\ta b\tc\n\nno\t\n",
        "trees": "S\t(S (NP it) (VP is))\nQ\t leaf \n",
        "graphs": "1\tC C O\t0-1:1 1-2:2\n-1\tC\t\n2\tN N\n",
        "kelp": "a |BS:t| it |ES| |BT:one| (S(NP(it))) |ET|\nb |BG:inline|1 C&&7 O x%%1 7&&7 1|EG|\n",
    }
    return [texts[kind].encode(), texts[kind].replace("\n", "\r\n").encode()]


def models() -> list[bytes]:
    X, y = numbers()
    folder = Path(sys.argv[1])
    grown = onepass.PAClassifier(average=True, calibrate=True)
    for row, t in zip(X.tolist(), y.tolist(), strict=True):
        grown.learn_one(dict(zip("abc", row, strict=True)), "nyx"[t])
    files = []
    for model in (
        onepass.PAClassifier().fit(X, y),
        grown,
        onepass.KernelPA(budget=4, gamma=0.5, random_state=0).fit(X, y > 0),
        onepass.pipeline(onepass.StandardScaler(), onepass.PARegressor()).fit(X, X[:, 0]),
        onepass.ActiveLearner(onepass.PAClassifier(), random_state=0).fit(X, y > 0),
        onepass.SequenceTagger(templates="tags").fit([["a", "dog"], ["b"]], [["D", "N"], ["N"]]),
        onepass.SequenceTagger(rule="AROW").fit([[{"a": 1.0}, {"b": "c"}]], [["D", "N"]]),
        onepass.pipeline(onepass.Spectrum(2), onepass.AROWClassifier()).fit(["abc", "bcd", "cd"], ["x", "y", "x"]),
    ):
        model.save(folder / "sound")
        files.append((folder / "sound").read_bytes())
    return files


TEXT = {
    "libsvm": libsvm,
    "csv": lambda: delimited(","),
    "tsv": lambda: delimited("\t"),
    "jsonl": json_lines,
    "conll": sentences,
    "conllu": treebank,
    **{kind: partial(objects, kind) for kind in ("strings", "trees", "graphs", "kelp")},
}
LISTS = ("conll", "conllu", "strings", "trees", "graphs", "kelp")
READERS: dict[str, Callable[[], list[bytes]]] = {**TEXT, "parquet": parquet, "npz": npz, "model": models}
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": lambda data: gzip.compress(data, mtime=0),
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor().compress,
}


@cache
def sound(reader: str) -> list[bytes]:
    return READERS[reader]()


# --- damage ---

PIECES = [
    b"\0",
    b"\0" * 9,
    b'"',
    b'""',
    b"'",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xfe\xff",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x98\x80",
    b"\r",
    b"\n",
    b"\r\n",
    b"\n\n\n",
    b"\x1a",
    b"\x1f\x8b",
    b"BZh9",
    b"PK\x03\x04",
    b",",
    b"\t",
    b":",
    b"#",
    b" ",
    b"{",
    b"}",
    b"[" * 2000,
    b"nan",
    b"NaN",
    b"-inf",
    b"1e999",
    b"-1e-999",
    b"9" * 400,
    b"0." + b"0" * 400 + b"1",
    b"18446744073709551617",
    b"-9223372036854775809",
    b"2147483648:1",
    b"4294967297:1",
    b"999999999999999999:1",
    b"0:1",
    b"-1",
    b"0x1p3",
    b"1_000",
    b"1e",
    b"null",
    b"true",
    b"\\u0000",
    b"\\ud800",
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\x7f",
    b"\x00\x00\x00\x80",
]


def damage(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """One kind of damage."""
    at, to = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    kind = rng.randrange(14)
    if kind <= 1 and data:
        flipped = bytearray(data)
        for _ in range(rng.choice([1, 1, 2, 8])):
            flipped[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        return bytes(flipped)
    if kind == 2 and data:
        changed = bytearray(data)
        changed[rng.randrange(len(data))] = rng.choice([0, 1, 9, 10, 13, 32, 34, 44, 127, 128, 255])
        return bytes(changed)
    if kind == 3:
        return data[:at]
    if kind == 4:
        return data[at:]
    if kind == 5:
        return data[:at] + data[to:]
    if kind == 6:
        return data[:to] + data[at:to] * rng.choice([1, 1, 2, 50]) + data[to:]
    if kind == 7:
        other = rng.choice(others)
        return data[:at] + other[rng.randrange(len(other) + 1) :]
    if kind == 8:  # a very long line
        return (
            data[:at]
            + rng.choice([b"a", b"9", b'"', b" ", b"1:1 ", b"\0", b",", b"\t"]) * rng.choice([300, 20_000, 140_000])
            + data[at:]
        )
    if kind == 9:
        lines = data.split(b"\n")
        rng.shuffle(lines)
        return b"\n".join(lines)
    if kind == 10:
        return data.replace(b"\n", rng.choice([b"\r", b"\r\n", b"", b"\n\n"]))
    if kind == 11 and rng.random() < 0.2:
        return data[:at].decode("latin-1").encode("utf-16") + data[at:]
    return data[:at] + rng.choice(PIECES) + data[rng.choice([at, min(at + 1, len(data)), to]) :]


def damaged_member(data: bytes, rng: random.Random) -> bytes:
    """An archive with damage within one of its arrays: its checksum would tell of any other."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(file, "w") as new:
        bad = rng.choice(old.namelist())
        for name in old.namelist():
            member = old.read(name)
            new.writestr(name, damage(member, [member], rng) if name == bad else member)
    return file.getvalue()


def options(reader: str, rng: random.Random) -> dict[str, Any]:
    """Mostly none, or odd ones."""
    some: dict[str, Any] = {"format": reader}
    if rng.random() < 0.1:
        some["format"] = rng.choice([*TEXT, "parquet", "npz"])
    if rng.random() < 0.3:
        some["features"] = rng.choice([1, 2, 3, 4, 9, 2**31, 2**40])
    if rng.random() < 0.3 and some["format"] not in ("libsvm", "npz"):
        some["label"] = rng.choice([False, 0, -1, 1, 99, "y", "label", ""])
    if rng.random() < 0.1 and some["format"] not in ("libsvm", "npz"):
        some["drop"] = rng.choice([["a"], ["y"], ["a", "b"], ["0"]])
    if rng.random() < 0.2:
        some["task"] = rng.choice(["classification", "regression"])
    if rng.random() < 0.2:
        some["zero_based"] = True
    return some


def mutant(seed: str, reader: str, number: int) -> tuple[bytes, dict[str, Any], random.Random]:
    """File number `number`, and the options to read it with."""
    rng = random.Random(f"{seed}-{reader}-{number}")
    family, others = sound(reader), [file for name in READERS if name != "model" for file in sound(name)]
    packer = rng.choice([*PACKERS, *[None] * 5]) if reader in TEXT else rng.choice([*PACKERS, *[None] * 30])
    data, times = rng.choice(family), rng.choice([1, 1, 1, 2, 4])
    if packer is None or rng.random() < 0.5:
        within = reader == "npz" and rng.random() < 0.8
        for _ in range(times):
            data = (
                damaged_member(data, rng) if within else damage(data, [*family, *others] if rng.random() < 0.1 else family, rng)
            )
        return (data if packer is None else PACKERS[packer](data)), options(reader, rng), rng
    packed = PACKERS[packer](data)
    for _ in range(times):
        packed = damage(packed, [packed, *others], rng)
    return packed, options(reader, rng), rng


# --- what must hold ---


def check_chunk(chunk: Any, rows: int, limit: int, some: dict[str, Any]) -> None:
    n = len(chunk)
    assert 0 < n <= limit, f"a chunk of {n} rows"
    assert chunk.position.rows == rows, f"{chunk.position} after {rows} rows"
    if some["format"] in LISTS:
        assert type(chunk.X) is list
        assert chunk.y is None or len(chunk.y) == n
        return
    if chunk.y is not None:
        assert type(chunk.y) is np.ndarray
        assert chunk.y.shape == (n,), f"labels of the shape {chunk.y.shape}"
        assert chunk.y.dtype.kind in "biufU", f"labels of {chunk.y.dtype}"
    X = chunk.X
    assert X.shape[0] == n
    if sp.issparse(X):
        assert type(X) is sp.csr_array
        assert X.dtype in (np.float32, np.float64), X.dtype
        assert X.indices.dtype in (np.int32, np.int64)
        assert X.indptr.dtype in (np.int32, np.int64)
        assert len(X.indptr) == n + 1
        assert X.indptr[0] == 0
        assert X.indptr[-1] == len(X.indices) == len(X.data)
        assert (np.diff(X.indptr) >= 0).all()
        if len(X.indices):
            assert X.indices.min() >= 0, "a negative index"
            assert X.indices.max() < X.shape[1], "an index outside"
            ends = np.zeros(len(X.indices), bool)
            starts = X.indptr[:-1][X.indptr[:-1] < len(X.indices)]
            ends[starts] = True
            assert ((np.diff(X.indices) > 0) | ends[1:]).all(), "indices that do not ascend"
    elif isinstance(X, np.ndarray):
        assert X.ndim == 2
        assert X.dtype in (np.float32, np.float64), X.dtype
        assert X.flags.c_contiguous
    else:
        assert isinstance(X, pa.Table)
        X.validate(full=True)
    if chunk.names is not None:
        assert len(chunk.names) == X.shape[1]
    if some.get("features") is not None and some["format"] != "npz":
        assert X.shape[1] == some["features"]


def read(file: Path, some: dict[str, Any], chunk: int, threads: bool) -> tuple[list[Any], BaseException | None]:
    """All rows that can be read, and the error at the end."""
    rows, parts = 0, []
    try:
        with streams.open(file, chunk=chunk, threads=threads, **some) as stream:
            for part in stream:
                check_chunk(part, rows, chunk, some)
                rows += len(part)
                parts.append(part)
    except REFUSALS as error:
        check_clear(error)
        return parts, error
    return parts, None


def check_clear(error: BaseException) -> None:
    assert len(str(error)) > 15, f"not a clear word: {error!r}"
    assert not isinstance(error, UnicodeError) or "line" in str(error) or "column" in str(error), f"not a clear word: {error!r}"


def joined(parts: list[Any]) -> Any:
    """All rows, as text: NaN is NaN, and the width that LIBSVM chunks have so far is no matter."""
    content = []
    for part in parts:
        X = part.X
        if sp.issparse(X):
            rows = [(X.indices[a:b].tolist(), X.data[a:b].tolist()) for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)]
        elif isinstance(X, list):
            rows = X
        else:
            rows = X.tolist() if isinstance(X, np.ndarray) else [list(row.values()) for row in X.to_pylist()]
        labels = [None] * len(rows) if part.y is None else list(part.y)
        content += [repr((row, label)) for row, label in zip(rows, labels, strict=True)]
    return content


def check_stream(file: Path, some: dict[str, Any], rng: random.Random) -> str:
    """Read a file twice, cut in two ways: the rows are the same, or both times there is an error."""
    whole, error = read(file, some, 8192, threads=rng.random() < 0.3)
    pieces, other = read(file, some, rng.choice([1, 2, 3, 5]), threads=rng.random() < 0.3)
    assert (error is None) == (other is None), f"{error!r} in one piece, {other!r} in some"
    if error is None:
        assert joined(whole) == joined(pieces), "other rows, cut otherwise"
        return "read"
    return f"refused: {type(error).__name__}"


def check_model(file: Path) -> str:
    """Load a model, use it, and save it again."""
    from files import use

    try:
        model = onepass.load(file)
    except (ModelFileError, OSError) as error:
        check_clear(error)
        return f"refused: {type(error).__name__}"
    try:
        use(model)
    except (ValueError, TypeError, DivergedError) as error:
        check_clear(error)
    again = file.with_name("again")
    try:
        model.save(again)
        onepass.load(again)
    except ValueError as error:
        check_clear(error)
    return "loaded"


def once(folder: Path, seed: str, reader: str, number: int) -> str:
    content, some, rng = mutant(seed, reader, number)
    file = folder / "mutant"
    file.write_bytes(content)
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    try:
        return check_model(file) if reader == "model" else check_stream(file, some, rng)
    finally:
        faulthandler.cancel_dump_traceback_later()


def limit_memory() -> None:
    with open("/proc/self/statm") as file:
        size = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))


def main(folder: Path, seed: str, seconds: float, count: int, readers: list[str]) -> None:
    warnings.simplefilter("ignore")
    for reader in READERS:
        sound(reader)
    for reader in readers:
        if reader != "model":  # compile, and start the threads of others, before memory is limited
            (folder / "mutant").write_bytes(sound(reader)[0])
            read(folder / "mutant", {"format": reader}, 3, threads=True)
    limit_memory()
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    end, number = time.monotonic() + seconds, 0
    while number < count or time.monotonic() < end:
        for reader in readers:
            (folder / "now").write_text(f"{seed} again {reader} {number}")
            try:
                outcome = once(folder, seed, reader, number)
            except BaseException:
                outcome = "wrong"
                wrong.append(f"{seed} again {reader} {number}\n{traceback.format_exc()}")
            counts[f"{reader}, {outcome}"] += 1
        number += 1
        if len(wrong) >= 200:
            break
    (folder / "report").write_text(json.dumps({"counts": counts, "wrong": wrong}))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    if sys.argv[3] == "again":
        for name in READERS:
            sound(name)
        content, some, _ = mutant(sys.argv[2], sys.argv[4], int(sys.argv[5]))
        print(some, len(content), content[:3000])
        print(once(Path(sys.argv[1]), sys.argv[2], sys.argv[4], int(sys.argv[5])))
    else:
        main(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]), int(sys.argv[4]), sys.argv[5:])

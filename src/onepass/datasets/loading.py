"""Data sets by name: found in a folder, or fetched from the LIBSVM site."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import sklearn.datasets
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from onepass import streams
from onepass.base.saving import replace_file
from onepass.datasets.catalogue import FILES, INCLUDED, Entry, File
from onepass.streams.opening import OBJECTS
from onepass.streams.parallel import pairs

SITE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
OPENERS: dict[str, Callable[..., Any]] = {"": open, ".xz": lzma.open, ".bz2": bz2.open, ".gz": gzip.open}


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Data ready to learn from.

    `X` is a CSR array or a dense array of float64 (float32 for images, a list for texts, sentences, trees and graphs); `y` is float64,
    or text where the labels are words, or a list of lists of tags, or of texts. `X_test` and `y_test` are None where the data has no
    test part. `task` is "binary", "multiclass", "regression", "tagging", "parsing" or "translation"; `objects` what X is a list of, if
    it is one ("texts", "sentences", "strings", "trees", "graphs"); and `about` says what one should know before learning.
    """

    name: str
    task: str
    about: str
    X: Any
    y: Any
    X_test: Any = None
    y_test: Any = None
    objects: str = ""

    def __repr__(self) -> str:
        test = "" if self.y_test is None else f" + {len(self.y_test):,} for testing"
        width = f" x {self.X.shape[1]}" if hasattr(self.X, "shape") else ""
        return f"<Dataset {self.name}: {self.task}, {len(self.y):,}{width}{test}>"


def names() -> list[str]:
    """The names that `load` knows.

    Examples
    --------
    >>> "a9a" in names()
    True
    """
    return sorted(FILES | INCLUDED)


def load(name: str, *, folder: str | os.PathLike[str] | None = None) -> Dataset:
    """A data set by its name.

    Its files, plain or compressed as .xz, .bz2 or .gz, are looked for in `folder`, then in the folder that the environment
    variable ONEPASS_DATA names, then in the cache (`onepass` in XDG_CACHE_HOME or ~/.cache). A file that is in none of them is
    downloaded from the LIBSVM site into the cache, if the site has it, and kept only if its checksum is right, where one is
    known. The data sets inside scikit-learn need no files.

    Parameters
    ----------
    name : str
        One of `names()`.
    folder : path, optional
        Where to look first.

    Examples
    --------
    >>> load("digits")
    <Dataset digits: multiclass, 1,797 x 64>
    """
    if name in INCLUDED:
        bunch = getattr(sklearn.datasets, f"load_{name}")()
        about = "Ships inside scikit-learn; see its description there."
        return Dataset(name, INCLUDED[name], about, np.asarray(bunch.data, float), np.asarray(bunch.target, float))
    if name not in FILES:
        raise ValueError(f"There is no data set {name!r}. Known are: {', '.join(names())}.")
    entry = FILES[name]
    X, y = _read(entry, entry.train, folder)
    X_test, y_test = _read(entry, entry.test, folder) if entry.test else (None, None)
    return Dataset(name, entry.task, entry.about, X, y, X_test, y_test, entry.objects)


# --- finding ---


def _find(file: File, folder: str | os.PathLike[str] | None) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "onepass"
    given = [Path(place) for place in (folder, os.environ.get("ONEPASS_DATA")) if place]
    for place in (*given, cache):
        for suffix in OPENERS:
            path = place / (file.name + suffix)
            if path.is_file():
                return path
    wanted = (
        f"Put it there, plain or packed as .xz, .bz2 or .gz, or into a folder of yours and set ONEPASS_DATA to that: {cache}."
    )
    if file.address is None:
        raise FileNotFoundError(f"The file {file.name} was not found, and it can't be fetched. {wanted}")
    try:
        content = _fetch(SITE + file.address)
    except (OSError, EOFError) as error:
        raise FileNotFoundError(
            f"The file {file.name} was not found, and {SITE}{file.address} can't be read ({error}). {wanted}"
        ) from error
    if file.sha256 and hashlib.sha256(content).hexdigest() != file.sha256:
        raise ValueError(
            f"{SITE}{file.address} is not the {file.name} that is known here: its checksum differs. Nothing was kept. {wanted}"
        )
    cache.mkdir(parents=True, exist_ok=True)
    replace_file(cache / file.name, content)
    return cache / file.name


def _fetch(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=60) as response:
        content: bytes = response.read()
    return bz2.decompress(content) if address.endswith(".bz2") else content


# --- reading ---


def _read(entry: Entry, files: tuple[File, ...], folder: str | os.PathLike[str] | None) -> tuple[Any, Any]:
    paths = [_find(file, folder) for file in files]
    if entry.format == "libsvm":
        return _read_libsvm(paths[0], entry.features)
    if entry.format == "idx":
        images, labels = (_read_idx(path) for path in paths)
        return images.reshape(len(images), -1) / np.float32(255), labels.astype(float)
    if entry.format in OBJECTS:
        chunks = _chunks(paths[0], format=entry.format)
        return [x for chunk in chunks for x in chunk.X], np.concatenate([chunk.y for chunk in chunks])
    if entry.format == "parallel":
        sources, targets = zip(*pairs(*paths), strict=True)
        return list(sources), list(targets)
    if entry.format == "conll":
        chunks = _chunks(paths[0], format="conll", **({"task": "parsing"} if entry.task == "parsing" else {"label": 1}))
        return [list(x) for chunk in chunks for x in chunk.X], [outputs for chunk in chunks for outputs in chunk.y]
    readers = {"csv": _read_csv, "elec2": _read_elec2, "tsv": _read_tsv, "promoters": _read_promoters}
    return readers[entry.format](paths[0])


def _open(path: Path) -> IO[bytes]:
    suffix = path.suffix if path.suffix in OPENERS else ""
    return OPENERS[suffix](path, "rb")


def _chunks(path: Path, **options: Any) -> list[streams.Chunk]:
    with streams.open(path, **options) as stream:
        return list(stream)


def _read_libsvm(path: Path, features: int) -> tuple[csr_array, NDArray[Any]]:
    chunks = _chunks(path, format="libsvm", features=features)
    return vstack([chunk.X for chunk in chunks], format="csr"), np.concatenate([chunk.y for chunk in chunks])


def _read_csv(path: Path) -> tuple[NDArray[Any], NDArray[Any]]:
    """Numbers, the label last; a first line of names is skipped."""
    with _open(path) as file:
        named = not file.readline()[:1].isdigit()
    table = np.loadtxt(path, delimiter=",", skiprows=int(named))
    return np.ascontiguousarray(table[:, :-1]), table[:, -1].copy()


def _read_elec2(path: Path) -> tuple[NDArray[Any], NDArray[Any]]:
    """A line of names, a row number, the features, and UP or DOWN."""
    table = np.loadtxt(path, delimiter=",", skiprows=1, dtype=str)
    return table[:, 1:-1].astype(float), np.array(table[:, -1].tolist())


def _read_tsv(path: Path) -> tuple[list[str], NDArray[Any]]:
    with _open(path) as file:
        lines = file.read().decode("utf-8").splitlines()
    labels, texts = zip(*(line.split("\t", 1) for line in lines), strict=True)
    return list(texts), np.array(labels)


def _read_promoters(path: Path) -> tuple[list[str], NDArray[Any]]:
    """A row number, the letters, and + or -."""
    with _open(path) as file:
        rows = [line.split(",") for line in file.read().decode("ascii").splitlines()]
    return ["".join(row[1:-1]) for row in rows], np.array([row[-1] for row in rows])


def _read_idx(path: Path) -> NDArray[np.uint8]:
    """The format of the MNIST files: a magic number whose last byte is the number of axes, their lengths, the bytes."""
    with _open(path) as file:
        content = file.read()
    axes = content[3]
    shape = np.frombuffer(content, ">i4", count=axes, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(shape)

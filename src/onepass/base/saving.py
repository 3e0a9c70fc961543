"""Model files: safetensors arrays and a JSON header. No code is ever run from a file.

The header, under the key "onepass" of the file's metadata, holds the format's version, the class, its parameters and the part of its
state that is not an array. Many names of features are arrays, too, and so are their hashes.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from onepass.base.buckets import Buckets
from onepass.base.errors import ModelFileError
from onepass.base.labels import label_array
from onepass.base.names import Names
from onepass.base.state import Array, Field, State

log = logging.getLogger(__name__)

FORMAT = 3
READABLE = (1, 2, 3)  # in format 1 all names of features were part of the header, and a state had no "known" and "turned"
WORDS = 3  # the format since which words have the hashes that they have

# So many names of features and more are arrays, since the header of a file has 100 MB at most: their UTF-8, and where each of them
# ends. No array of a state is called so.
MANY = 1000
NAMES, ENDS, HASHES = ":names", ":ends", ":hashes"
SURROGATES = re.compile("[\ud800-\udfff]")  # JSON makes one character of two

# What a state has beside its arrays, its labels and the names of its features.
STATE = {
    "form": str,
    "dtype": str,
    "seed": int,
    "grow_features": bool,
    "grow_classes": bool,
    "n_features": int,
    "known": int,
    "turned": bool,
    "n_iter": int,
}


class Saved:
    """What can be written to a file, with facts about it."""

    _metadata: Mapping[str, Any] = MappingProxyType({})

    def _pack(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """A header and arrays."""
        raise NotImplementedError

    @property
    def metadata(self) -> dict[str, Any]:
        """What was saved along with the model; a copy."""
        return dict(self._metadata)

    def save(self, path: str | os.PathLike[str] | IO[bytes], metadata: Mapping[str, Any] | None = None) -> None:
        """Write the model to a file that `onepass.load` reads; going on from there gives the same bits as never having stopped.

        `path` may also be a file that is open for writing, in binary mode. `metadata` is a dict of your own, of what JSON holds;
        the loaded model has it as `metadata`. By default it is that of the file that this model was loaded from.
        """
        header, arrays = self._pack()
        _check_parameters(header)
        header, arrays = _with_names(header, arrays)
        facts = dict(self._metadata if metadata is None else metadata)
        about = {"format": FORMAT, "version": _version(), "metadata": facts}
        try:
            json.dumps(facts)
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"The metadata can't be saved ({error}): they may hold numbers, text, lists and dicts.") from None
        content = save(arrays, {"onepass": json.dumps({**about, **header})})
        if isinstance(path, str | os.PathLike):
            replace_file(Path(path), content)
        else:
            path.write(content)
        self._metadata = facts
        log.info("wrote %s: %s, %d bytes", name_of(path), header["class"], len(content))


def _version() -> str | None:
    """The version of onepass that writes."""
    try:
        return version("onepass")
    except PackageNotFoundError:  # run from its sources
        return None


def _check_parameters(header: dict[str, Any]) -> None:
    """Refuse a parameter that JSON can't hold: the model would come back without it."""
    for name, value in header.get("parameters", {}).items():
        try:
            json.dumps(value)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"The parameter {name!r} of {header['class']} can't be saved ({error}). Model files hold numbers, text, None, and"
                " lists, arrays and dicts of these: give the parameter as one of them, or use pickle."
            ) from None
    for _, step in header.get("steps", ()):
        _check_parameters(step)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old one or the new one, and a crash leaves one of them whole."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    try:
        handle, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(aside, path.stat().st_mode if path.exists() else 0o666 & ~_umask())
            os.replace(aside, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(aside)
            raise
    except OSError as error:  # in the user's words: the file beside it is our affair
        error.filename, error.filename2 = str(path), None
        raise
    with contextlib.suppress(OSError):  # not every system lets a directory be synced
        folder = os.open(path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)


def read(path: str | os.PathLike[str] | IO[bytes]) -> tuple[dict[str, Any], dict[str, Array]]:
    """The header and the arrays of a model file."""
    if not isinstance(path, str | os.PathLike):
        with tempfile.NamedTemporaryFile() as aside:  # safetensors wants a file that it can map
            shutil.copyfileobj(path, aside)
            aside.flush()
            return _read(aside.name, name_of(path))
    with open(path, "rb"):  # the usual errors for a file that is not there or may not be read
        pass
    return _read(os.fspath(path), name_of(path))


def _read(path: str, name: str) -> tuple[dict[str, Any], dict[str, Array]]:
    try:
        with safe_open(path, framework="numpy") as file:
            header = dict(json.loads((file.metadata() or {})["onepass"]))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (not a dict)
    except (SafetensorError, AttributeError, KeyError, RecursionError, TypeError, ValueError, OSError) as error:
        raise ModelFileError(f"{name} is not a model file of onepass ({type(error).__name__}: {error}).") from None
    if header.get("format") not in READABLE:
        raise ModelFileError(
            f"{name} has model format {header.get('format')!r}; this version of onepass reads formats up to {FORMAT}."
            " Use the version that wrote it."
        )
    return header, arrays


def check_words(header: dict[str, Any]) -> None:
    """Refuse what has learned from words when they had other hashes."""
    if header.get("format", FORMAT) < WORDS:
        raise ModelFileError(
            f"The model file has format {header['format']}, in which words had other hashes than they have now: what it knows of its"
            " texts can't be told any more. Learn it again."
        )


def name_of(path: str | os.PathLike[str] | IO[bytes]) -> str:
    """What messages call a file."""
    return os.fspath(path) if isinstance(path, str | os.PathLike) else str(getattr(path, "name", "the open file"))


def pack_state(state: State) -> dict[str, Any]:
    """What a state knows beside its arrays, as JSON."""
    return {
        "form": state.form,
        "dtype": state.dtype.name,
        "seed": state.seed,
        "grow_features": bool(state.grow_features),
        "grow_classes": state.grow_classes,
        "n_features": state.n_features,
        "known": state.known,
        "turned": state.turned,
        "n_iter": state.n_iter,
        "classes": None if state.classes is None else {"kind": state.classes.dtype.str, "labels": state.classes.tolist()},
        "columns": None if state.names is None else state.names.first(state.n_features),
        "buckets": None if state.buckets is None else state.buckets.width,
    }


def pack_arrays(state: State) -> dict[str, Array]:
    """The arrays of a state, and the hashes that its features are."""
    arrays = state.trimmed()
    return arrays if state.buckets is None else {**arrays, HASHES: state.buckets.first(state.n_features)}


def unpack_state(
    packed: dict[str, Any],
    arrays: dict[str, Array],
    fields: dict[str, Field],
    sizes: dict[str, int],
    capacities: dict[str, int],
) -> State:
    """The state again. All of it is checked: the loop would follow wrong shapes out of bounds."""
    if packed["columns"] is True:
        arrays = dict(arrays)
        packed = {**packed, "columns": _names(arrays.pop(NAMES), arrays.pop(ENDS))}
    all_known = packed.get("grow_features") is False and packed.get("form") != "stage"
    packed = {"known": packed.get("n_features") if all_known else 0, "turned": False, **packed}  # as it was in format 1
    _check_packed(packed)
    buckets = None
    if packed.get("buckets") is not None:
        arrays = dict(arrays)
        buckets = _buckets(arrays.pop(HASHES), packed["buckets"], packed["n_features"])
    for name, array in arrays.items():
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise ModelFileError(f"The model file is damaged: its array {name!r} holds NaN.")
    classes, columns = packed["classes"], packed["columns"]
    state = State(
        form=packed["form"],
        dtype=np.dtype(packed["dtype"]),
        seed=packed["seed"],
        fields=fields,
        sizes=sizes,
        capacities=dict.fromkeys(capacities, 0),
        grow_features=packed["grow_features"],
        grow_classes=packed["grow_classes"],
        n_features=packed["n_features"],
        known=packed["known"],
        turned=packed["turned"],
        n_iter=packed["n_iter"],
        classes=None if classes is None else _labels(classes["kind"], classes["labels"]),
        names=None if columns is None else Names(columns),
        buckets=buckets,
        arrays={name: array.copy() for name, array in arrays.items()},
    )
    state.measure_capacities()
    state.add_late()
    flaw = "it names a feature twice" if state.names is not None and not state.names.are_unique() else state.flaw()
    if flaw is not None:
        raise ModelFileError(f"The model file is damaged: {flaw}.")
    if (state.arrays["count"] < 0).any():
        raise ModelFileError("The model file is damaged: it has learned from fewer examples than none.")
    return state


def _with_names(header: dict[str, Any], arrays: dict[str, Array]) -> tuple[dict[str, Any], dict[str, Array]]:
    """The header and the arrays of one model, its names moved to the arrays if there are many."""
    names = (header.get("state") or {}).get("columns") or []
    if len(names) < MANY and not SURROGATES.search("".join(names)):
        return header, arrays
    encoded = [name.encode("utf-8", "surrogatepass") for name in names]
    ends = np.cumsum([len(name) for name in encoded], dtype=np.int64)
    text = np.frombuffer(b"".join(encoded), np.uint8)
    return {**header, "state": {**header["state"], "columns": True}}, {**arrays, NAMES: text, ENDS: ends}


def _names(text: Array, ends: Array) -> list[str]:
    bytewise = text.dtype == np.uint8 and text.ndim == 1
    ascending = ends.dtype == np.int64 and ends.ndim == 1 and len(ends) > 0 and (np.diff(ends, prepend=0) >= 0).all()
    if not bytewise or not ascending or ends[-1] != len(text):
        raise ModelFileError("The model file is damaged: the names of its features are not names.")
    content = text.tobytes()
    return [content[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise([0, *ends.tolist()])]


def _buckets(columns: Array, width: Any, n: int) -> Buckets:
    listed = columns.dtype == np.int64 and columns.shape == (n,) and len(np.unique(columns)) == n
    if (
        type(width) is not int
        or not 0 < width <= 2**63
        or not listed
        or (n and not 0 <= columns.min() <= columns.max() < width)
    ):
        raise ModelFileError("The model file is damaged: the hashes of its features are not hashes.")
    return Buckets(columns, width)


def _check_packed(packed: dict[str, Any]) -> None:
    for name, kind in STATE.items():
        if type(packed[name]) is not kind or (kind is int and not 0 <= packed[name] < 2**63):
            raise ModelFileError(f"The model file is damaged: its state has {packed[name]!r} as {name!r}.")
    if packed["dtype"] not in ("float32", "float64"):
        raise ModelFileError(f"The model file is damaged: it has numbers of the type {packed['dtype']!r}.")
    labelled = packed["form"] in ("binary", "multiclass")
    if labelled != (packed["classes"] is not None) or (packed["grow_classes"] and not labelled):
        raise ModelFileError("The model file is damaged: its form and its labels do not agree.")
    names = packed["columns"]
    if names is not None and not (
        type(names) is list and len(names) == packed["n_features"] and all(type(name) is str for name in names)
    ):
        raise ModelFileError("The model file is damaged: its features and their names do not agree.")


def _labels(kind: Any, packed: Any) -> Array:
    """Labels of the type that they had; text is as long as it has to be, whatever the file says."""
    labels, dtype = label_array(packed) if packed else np.empty(0), np.dtype(str(kind))
    if dtype.kind in "biufU" and (labels.dtype.kind != "f" or np.isfinite(labels).all()):
        typed = labels if dtype == np.uint64 else labels.astype(str if dtype.kind == "U" else dtype)
        if typed.tolist() == packed:
            return typed
    raise ModelFileError(f"The model file is damaged: its labels are not labels of the type {kind!r}.")


def pack_steps(steps: Iterable[tuple[str, Any]]) -> tuple[list[list[Any]], dict[str, Array]]:
    """The headers of the models that a model is made of, each with its name, and all of their arrays."""
    headers, arrays = [], {}
    for name, step in steps:
        header, of_step = _with_names(*step._pack())
        headers.append([name, header])
        arrays.update({f"{name}/{key}": array for key, array in of_step.items()})
    return headers, arrays


def unpack(header: dict[str, Any], arrays: dict[str, Array], known: dict[str, Any]) -> Any:
    """The model again, of a class that is `known` by its name; one that is made of models gets those instead of arrays."""
    name = header.get("class")
    cls = None if name is None else known.get(name)
    if cls is None:
        raise ModelFileError(
            f"it holds a {name!r}, which this version of onepass does not have; if the class is yours, import it first"
        )
    if "steps" not in header:
        model = cls._unpack(header, arrays)
        if hasattr(model, "_keep_bound"):
            model._keep_bound()  # parameters that do not fit the arrays show here
        return model
    names = [step_name for step_name, _ in header["steps"]]
    if not names or not all(type(step_name) is str for step_name in names) or len(set(names)) < len(names):
        raise ModelFileError("The model file is damaged: the names of its steps are not names.")
    steps = {}
    for step_name, of_step in header["steps"]:
        mine = {key.removeprefix(f"{step_name}/"): array for key, array in arrays.items() if key.startswith(f"{step_name}/")}
        steps[step_name] = unpack({"format": header["format"], **of_step}, mine, known)
    own = {key: array for key, array in arrays.items() if key.startswith("/")}  # what belongs to no step
    return cls._unpack(header, {**own, **steps})


def pack_value(value: Any) -> Any:
    """A parameter as JSON. A generator of random numbers is not kept: its draw is part of the state. What JSON can't hold is left
    as it is, for `write` to refuse."""
    if isinstance(value, dict):
        return {"pairs": [[pack_value(key), pack_value(item)] for key, item in value.items()]}
    if hasattr(value, "__array__"):
        array = np.asarray(value)
        if array.dtype.kind in "biufU":
            return array.tolist()
        return pack_value(array.tolist()) if array.dtype.kind == "O" and array.ndim else value
    if isinstance(value, list | tuple | set | frozenset | range):
        return [pack_value(item) for item in value]
    return None if isinstance(value, np.random.RandomState | np.random.Generator) else value


def unpack_value(value: Any) -> Any:
    if isinstance(value, dict):
        pairs = [(unpack_value(key), unpack_value(item)) for key, item in value["pairs"]]
        return {tuple(key) if isinstance(key, list) else key: item for key, item in pairs}
    return [unpack_value(item) for item in value] if isinstance(value, list) else value


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

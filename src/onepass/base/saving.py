"""Model files: safetensors arrays and a JSON header. No code is ever run from a file.

The header, under the key "onepass" of the file's metadata, holds the format's version, the class, its parameters and the part of its
state that is not an array.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from onepass.base.errors import ModelFileError
from onepass.base.names import Names
from onepass.base.state import Array, Field, State

FORMAT = 2  # 1: a state had no `known` and `turned`


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Write a model."""
    replace_file(Path(path), save(arrays, {"onepass": json.dumps({"format": FORMAT, **header})}))


def replace_file(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old one or the new one, and a crash leaves one of them whole."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    try:
        handle, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:  # in the user's words: the file beside it is our affair
        raise type(error)(error.errno, error.strerror, str(path)) from None
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
    with contextlib.suppress(OSError):  # not every system lets a directory be synced
        folder = os.open(path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """The header and the arrays of a model file."""
    with open(path, "rb"):  # the usual errors for a file that is not there or may not be read
        pass
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            header = dict(json.loads((file.metadata() or {})["onepass"]))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (not a dict)
    except (SafetensorError, KeyError, TypeError, ValueError, OSError) as error:
        raise ModelFileError(f"{os.fspath(path)} is not a model file of onepass ({type(error).__name__}: {error}).") from None
    if header.get("format") not in (1, FORMAT):
        raise ModelFileError(
            f"{os.fspath(path)} has model format {header.get('format')!r}; this version of onepass reads format {FORMAT}."
            " Use the version that wrote it."
        )
    return header, arrays


def pack_state(state: State) -> dict[str, Any]:
    """What a state knows beside its arrays, as JSON."""
    return {
        "form": state.form,
        "dtype": state.dtype.name,
        "seed": state.seed,
        "grow_features": state.grow_features,
        "grow_classes": state.grow_classes,
        "n_features": state.n_features,
        "known": state.known,
        "turned": state.turned,
        "n_iter": state.n_iter,
        "classes": None if state.classes is None else {"kind": state.classes.dtype.str, "labels": state.classes.tolist()},
        "columns": None if state.names is None else state.names.first(state.n_features),
    }


def unpack_state(
    packed: dict[str, Any], arrays: dict[str, Array], fields: dict[str, Field], sizes: dict[str, int], rooms: dict[str, int]
) -> State:
    """The state again. Shapes are checked: the loop would follow wrong ones out of bounds."""
    classes, columns = packed["classes"], packed["columns"]
    state = State(
        form=packed["form"],
        dtype=np.dtype(packed["dtype"]),
        seed=packed["seed"],
        fields=fields,
        sizes=sizes,
        rooms=dict.fromkeys(rooms, 0),
        grow_features=packed["grow_features"],
        grow_classes=packed["grow_classes"],
        n_features=packed["n_features"],
        known=packed.get("known", 0),
        turned=packed.get("turned", False),
        n_iter=packed["n_iter"],
        classes=None if classes is None else np.array(classes["labels"], classes["kind"]),
        names=None if columns is None else Names(columns),
        arrays={name: array.copy() for name, array in arrays.items()},
    )
    state.measure_rooms()
    flaw = "it names a feature twice" if state.names is not None and not state.names.are_unique() else state.flaw()
    if flaw is not None:
        raise ModelFileError(f"The model file is damaged: {flaw}.")
    return state


def pack_steps(steps: Iterable[tuple[str, Any]]) -> tuple[list[list[Any]], dict[str, Array]]:
    """The headers of the models that a model is made of, each with its name, and all of their arrays."""
    headers, arrays = [], {}
    for name, step in steps:
        header, of_step = step._pack()
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
        return cls._unpack(header, arrays)
    steps = {}
    for name, of_step in header["steps"]:
        mine = {key.removeprefix(f"{name}/"): array for key, array in arrays.items() if key.startswith(f"{name}/")}
        steps[name] = unpack({"format": header["format"], **of_step}, mine, known)
    return cls._unpack(header, steps)


def pack_value(value: Any) -> Any:
    """A parameter as JSON. A generator of random numbers is not kept: its draw is part of the state."""
    if isinstance(value, dict):
        return {"pairs": [[pack_value(key), pack_value(item)] for key, item in value.items()]}
    if isinstance(value, np.ndarray | list | tuple):
        return [pack_value(item) for item in (value.tolist() if isinstance(value, np.ndarray) else value)]
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, bool | int | float | str | None) else None


def unpack_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {unpack_value(key): unpack_value(item) for key, item in value["pairs"]}
    return [unpack_value(item) for item in value] if isinstance(value, list) else value


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

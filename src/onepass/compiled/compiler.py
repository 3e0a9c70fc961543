"""Numba, with a cache that notices every edit.

Numba keys its cache on the file of the compiled function alone. Ours call verbs that live in other files, so an edited verb would go
on running as stale machine code. The cache here keys each piece of machine code on the content of `compiled/`, of the function's own
folder and of the modules that define the records in the signature as well. It keeps one file each, written aside and renamed, so that
processes that compile at the same time cannot mix up each other's. Where no directory is writable, nothing is cached.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import config, types
from numba.core.caching import FunctionCache, NullCache
from numba.core.registry import CPUDispatcher

# Named, never `True`: sums may be reordered, but NaN and infinity keep their meaning.
FASTMATH = {"reassoc", "contract", "arcp", "nsz"}
# With checked bounds an index out of range is an IndexError; without them, which is faster, it reads and writes foreign memory.
CHECKED = {"boundscheck": os.environ.get("ONEPASS_BOUNDSCHECK") == "1"}
OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": FASTMATH, **CHECKED}
INNER = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def entry_point(function: Callable[..., Any]) -> Any:
    """Compile `function` at its first call, without the GIL, and cache the machine code."""
    compiled = numba.njit(**OPTIONS)(function)
    if not config.DISABLE_JIT:
        try:
            compiled._cache = _Cache(compiled.py_func)
        except RuntimeError:  # Numba's word for "no locator available": nowhere to write
            compiled._cache = NullCache()
    return compiled


class _Routine(CPUDispatcher):
    def __call__(self, *arguments: Any) -> Any:
        raise TypeError(
            f"{self.__name__} has no entry from Python: make it an entry_point."
        )  # to go on would be a segmentation fault


def routine(function: Callable[..., Any]) -> Any:
    """Compile what only entry points call. It has none itself, which takes longer to compile than a small function itself, and is
    part of the machine code of the entry points that are cached."""
    compiled = numba.njit(**OPTIONS, **INNER)(function)
    if not config.DISABLE_JIT:
        compiled.__class__ = _Routine
    return compiled


def machine_code(compiled: Any, *arguments: Any) -> Callable[..., Any]:
    """The entry point of `compiled` for arguments of exactly these types.

    Calling it skips Numba's look-up of types, which costs more than learning one example: 0.4 us instead of 2.2 us with the
    records used here. It checks nothing: every later call must pass the same types.
    """
    if config.DISABLE_JIT:
        return compiled
    signature = tuple(numba.typeof(argument) for argument in arguments)
    compiled.compile(signature)
    return compiled.overloads[signature].entry_point


class _Cache(FunctionCache):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = _stamp(os.path.dirname(__file__)) + _stamp(os.path.dirname(inspect.getfile(function)))
        self._cache_file = _Files(Path(self._cache_path), self._impl.filename_base, _short(stamp))

    def _index_key(self, signature: Any, codegen: Any) -> Any:
        stamps = tuple(map(_stamp, sorted(_record_modules(signature))))
        return (numba.__version__, sys.version_info[:3], super()._index_key(signature, codegen), stamps, *CHECKED.values())


class _Files:
    """One file a piece of machine code, named by the stamp of the source and the hash of its key."""

    def __init__(self, folder: Path, base: str, stamp: str) -> None:
        self._folder, self._base, self._stamp = folder, base, stamp

    def _path(self, key: Any) -> Path:
        return self._folder / f"{self._base}.{self._stamp}.{_short(repr(key))}.nbc"

    def load(self, key: Any) -> Any:
        try:
            return pickle.loads(self._path(key).read_bytes())
        except Exception:  # not there, or of a broken disk or another build: compile, and replace it
            return None

    def save(self, key: Any, data: Any) -> None:
        with contextlib.suppress(OSError):  # a full or read-only disk costs the next start some seconds, no more
            handle, name = tempfile.mkstemp(dir=self._folder, suffix=".tmp")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(pickle.dumps(data, protocol=-1))
                os.replace(name, self._path(key))
            except BaseException:
                os.unlink(name)
                raise
            for path in self._folder.glob(f"{self._base}.*.nbc"):
                if not path.name.startswith(f"{self._base}.{self._stamp}."):  # of a source that is no more
                    path.unlink(missing_ok=True)

    def flush(self) -> None:
        for path in self._folder.glob(f"{self._base}.*.nbc"):
            path.unlink(missing_ok=True)


def _record_modules(signature: Iterable[Any]) -> set[str]:
    """The source files of the record classes that occur in a signature, however deep."""
    files: set[str] = set()
    for item in signature:
        if isinstance(item, types.BaseNamedTuple):
            module = sys.modules.get(item.instance_class.__module__)
            files.add(getattr(module, "__file__", None) or "")
        if isinstance(item, types.BaseTuple):
            files |= _record_modules(item)
        elif hasattr(item, "content"):  # a record that is passed by its address
            files |= _record_modules([item.content])
    return files - {""}


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]


@cache
def _stamp(path: str) -> str:
    sources = sorted(Path(path).glob("*.py")) if os.path.isdir(path) else [Path(path)]
    return hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()

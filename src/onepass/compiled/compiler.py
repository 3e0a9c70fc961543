"""Numba, with a cache that notices every edit.

Numba keys its cache on the file of the compiled function alone. Ours call verbs that live in other files, so an edited verb would go
on running as stale machine code. The cache here keys each piece of machine code on the source of `compiled/`, of the function's own
folder and of the modules that define the records in the signature as well. What counts is what the source means: comments, docstrings,
line numbers and the folder of the checkout do not, so that checkouts share their entries, and those of another branch are kept. There
is one file for each entry, written aside and renamed, so that processes that compile at the same time cannot mix up each other's.
Where no directory is writable, nothing is cached.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import inspect
import logging
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

import numba
from numba.core import config, types
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.registry import CPUDispatcher
from numba.misc.appdirs import AppDirs

log = logging.getLogger(__name__)

# Named, never `True`: sums may be reordered, but NaN and infinity keep their meaning.
FASTMATH = {"reassoc", "contract", "arcp", "nsz"}
# With checked bounds an index out of range is an IndexError; without them, which is faster, it reads and writes foreign memory.
CHECKED = {"boundscheck": os.environ.get("ONEPASS_BOUNDSCHECK") == "1"}
OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": FASTMATH, **CHECKED}
INNER = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
CAPACITY = 2 << 30  # bytes of entries, of all branches and versions together
STARTED = time.time() - 0.1  # file systems keep time in coarse steps


def entry_point(function: Callable[..., Any]) -> Any:
    """Compile `function` at its first call, without the GIL, and cache the machine code."""
    compiled = numba.njit(**OPTIONS)(function)
    if not config.DISABLE_JIT and (folder := folder_of_code()) is not None:
        compiled._cache = _Cache(compiled.py_func, folder)
    return compiled


class _Routine(CPUDispatcher):
    def __call__(self, *arguments: Any) -> Any:
        raise TypeError(
            f"{self.__name__} has no entry from Python: make it an entry_point."
        )  # to go on would be a segmentation fault


def routine(function: Callable[..., Any]) -> Any:
    """Compile what only entry points call. It has none itself, which takes longer to compile than a small function itself, and is
    part of the machine code of the entry points that are cached."""
    return _inner(function, OPTIONS)


def spliced(function: Callable[..., Any]) -> Any:
    """A routine that becomes part of what calls it before anything is optimised: each layer of routines is optimised once more in the
    one above it, so that thin layers between thick ones make compiling slow."""
    return numba.njit(**OPTIONS, inline="always")(function)


def to_the_letter(function: Callable[..., Any]) -> Any:
    """A routine whose sums are not reordered: it gives the same bits wherever it is compiled into."""
    return _inner(function, {**OPTIONS, "fastmath": False})


def _inner(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    compiled = numba.njit(**options, **INNER)(function)
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


class _Cache(NullCache):
    """The machine code of one function: a file for each entry, named by a hash of all that the entry depends on."""

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self._function, self._folder, self._began = function, folder, 0.0

    @property
    def cache_path(self) -> str:
        return str(self._folder)

    def load_overload(self, signature: Any, context: Any) -> Any:
        context.refresh()
        try:
            path = self._path(signature, context.codegen())
            entry = pickle.loads(path.read_bytes())
        except Exception:  # not there, or of a broken disk or another build: compile, and replace it
            self._began = time.perf_counter()
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # what is in use is not the oldest
        return CompileResult._rebuild(context, *entry)

    def save_overload(self, signature: Any, result: Any) -> None:
        log.debug("compiled %s in %.2f s", self._function.__qualname__, time.perf_counter() - self._began)
        if result.library.has_dynamic_globals or self._function.__closure__:  # addresses of this process, what no source says
            return
        try:
            _write(self._path(signature, result.codegen), pickle.dumps(result._reduce(), protocol=-1))
            _drop_oldest(self._folder)
        except OSError as error:  # a full or read-only disk costs the next start some seconds, no more
            log.warning("machine code can't be kept in %s (%s): the next start compiles it again", self._folder, error)

    def _path(self, signature: Any, codegen: Any) -> Path:
        function = self._function
        sources = [os.path.dirname(__file__), os.path.dirname(inspect.getfile(function)), *sorted(_record_modules(signature))]
        key = (
            (numba.__version__, sys.version_info[:3], codegen.magic_tuple(), *CHECKED.values()),
            (function.__module__, function.__qualname__, _instructions(function.__code__), signature),
            [_meaning(path, self._folder) for path in sources],
        )
        return self._folder / f"{function.__name__.strip('<>')}.{_short(repr(key))}.nbc"


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


def _instructions(code: CodeType) -> Any:
    """What tells functions of one name and one module apart. Text is left out: docstrings are among the constants."""
    constants = [_instructions(value) if isinstance(value, CodeType) else value for value in code.co_consts]
    return code.co_code, code.co_names, [value for value in constants if not isinstance(value, str)]


@cache
def _meaning(path: str, folder: Path) -> str:
    """A hash of what the source in a file, or in all files of a directory, says to the compiler.

    To parse `compiled/` takes 40 ms, a fifth of a start with machine code from the cache, so hashes are kept beside the entries, by
    the bytes that they are of.
    """
    files = sorted(Path(path).glob("*.py")) if os.path.isdir(path) else [Path(path)]
    if not files:
        raise FileNotFoundError(f"no source in {path}")  # of a zip file, or taken away: an edit would not be noticed
    if any(file.stat().st_mtime > STARTED for file in files):
        raise FileExistsError(f"edited since this process began: {path}")  # what runs here is not what is written there
    sources = [(file.name, file.read_bytes()) for file in files]
    known = folder / f"{_short(repr((sys.version_info[:3], sources)))}.ast"
    with contextlib.suppress(OSError):
        return known.read_text()
    meaning = _short(repr([(name, _tree(source)) for name, source in sources]))
    with contextlib.suppress(OSError):
        _write(known, meaning.encode())
    return meaning


def _tree(source: bytes) -> str:
    """Source without comments, docstrings and line numbers."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # a script of another time, beside a function that is compiled
        return repr(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node):
            del node.body[0]
    return ast.dump(tree)


@cache
def folder_of_code() -> Path | None:
    """Where machine code is kept: below NUMBA_CACHE_DIR if that is set, else where the system has caches of this user.

    Entries are pickles, and who can write them can have any code run here. So the directory is made for this user alone, and one that
    somebody else owns or can write to, as may lie below /tmp, is not used.
    """
    told = [Path(config.CACHE_DIR, "onepass").absolute()] if config.CACHE_DIR else []
    own = Path(AppDirs("onepass", appauthor=False).user_cache_dir, "machine_code")
    for folder in [*told, own] if own.is_absolute() else told:  # it is not where there is no home
        with contextlib.suppress(OSError):
            folder.mkdir(0o700, parents=True, exist_ok=True)
            about = folder.stat()
            private = os.name == "nt" or (about.st_uid == os.getuid() and not about.st_mode & 0o022)  # Windows keeps them apart
            if private and os.access(folder, os.R_OK | os.W_OK | os.X_OK):
                return folder
    log.warning(
        "machine code can't be kept, and is compiled at every start: name a folder that only you can write to in NUMBA_CACHE_DIR"
    )
    return None


def _write(path: Path, content: bytes) -> None:
    """All at once: who reads it meanwhile finds nothing, or the whole."""
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


@cache
def _drop_oldest(folder: Path) -> None:
    """Remove what was not used for longest, once a process: every edit leaves entries that nobody may ask for again."""
    files = sorted(((entry.stat().st_mtime, entry.stat().st_size, entry.path) for entry in os.scandir(folder)), reverse=True)
    taken = 0
    for _, size, path in files:
        taken += size
        if taken > CAPACITY:
            Path(path).unlink(missing_ok=True)


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]

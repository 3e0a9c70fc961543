"""A stream: chunks of rows, each with its place in the source, read by a second thread while the first one learns."""

from __future__ import annotations

import atexit
import queue
import threading
import weakref
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

AHEAD = 2  # chunks that wait for the learner
PATIENCE = 1.0  # seconds: a thread that waits for bytes from a terminal cannot be interrupted


@dataclass(frozen=True)
class Position:
    """Where a chunk comes from.

    rows: how many rows came before it. line: the line of its first row, None where there are no lines. bytes: how many raw
    bytes (packed, where the file is) had been read when it was made, None for what is in memory.
    """

    rows: int
    line: int | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class Chunk:
    """Rows `X` (a C-ordered array or a `csr_array`), their labels `y` or None, their position, the names of their features."""

    X: Any
    y: Any
    position: Position
    names: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return int(self.X.shape[0])


Chunks = Generator[Chunk, None, None]


class Stream:
    """An iterable of chunks, made by `onepass.streams.open`; leave its `with` block, and whatever was opened is closed.

    Files, arrays and frames can be iterated again, from the start; standard input and open files only once.

    name: what messages call the source. size: its raw bytes, where they are known. position: that of the last chunk handed out.
    """

    def __init__(self, read: Callable[[], Chunks], name: str, size: int | None, once: bool, threads: bool) -> None:
        self.name = name
        self.size = size
        self.position = Position(0)
        self._read, self._once, self._threads = read, once, threads
        self._used = False
        self._running: weakref.WeakSet[Chunks] = weakref.WeakSet()

    def __iter__(self) -> Iterator[Chunk]:
        if self._used and self._once:
            raise ValueError(f"{self.name} can be read only once; open it again")
        self._used = True
        chunks = self._chunks()
        self._running.add(chunks)
        return chunks

    def _chunks(self) -> Chunks:
        chunks = self._read()
        empty = True
        with closing(_in_background(chunks) if self._threads else chunks) as chunks:
            for chunk in chunks:
                self.position = chunk.position
                empty = False
                yield chunk
        if empty:
            raise ValueError(f"{self.name} is empty: it holds no rows")

    def close(self) -> None:
        """Stop reading. What is being iterated ends."""
        for chunks in list(self._running):
            chunks.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Failure:
    def __init__(self, error: BaseException) -> None:
        self.error = error


Queue = queue.Queue[Chunk | _Failure | None]


def _in_background(chunks: Chunks) -> Chunks:
    """The same chunks, made by a thread of their own that is a few of them ahead."""
    ready = Queue(AHEAD)
    stop = threading.Event()
    thread = threading.Thread(target=_produce, args=(chunks, ready, stop), name="onepass-stream", daemon=True)
    finish = partial(_finish, thread, ready, stop)
    atexit.register(finish)  # else the interpreter ends with the thread inside compiled code
    thread.start()
    try:
        while (item := ready.get()) is not None:
            if isinstance(item, _Failure):
                raise item.error
            yield item
    finally:
        atexit.unregister(finish)
        finish()


def _produce(chunks: Chunks, ready: Queue, stop: threading.Event) -> None:
    last: _Failure | None = None
    try:
        with closing(chunks):
            for chunk in chunks:
                ready.put(chunk)
                if stop.is_set():
                    break
    except BaseException as error:
        last = _Failure(error)
    ready.put(last)


def _finish(thread: threading.Thread, ready: Queue, stop: threading.Event) -> None:
    stop.set()
    while not ready.empty():  # room for the chunk and the end that the thread may still want to put
        ready.get()
    thread.join(PATIENCE)

"""A stream: chunks of rows, each with its place in the source, read by a second thread while the first one learns."""

from __future__ import annotations

import atexit
import itertools
import logging
import queue
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from onepass.streams.raw import waiting

log = logging.getLogger(__name__)

AHEAD = 2  # chunks that wait for the learner
PATIENCE = 1.0  # seconds: a thread that waits for bytes from a terminal cannot be interrupted
LAST_PATIENCE = 60.0  # one that is at work ends by itself


@dataclass(frozen=True)
class Position:
    """Where a chunk comes from.

    rows: how many rows came before it. line: the line of its first row, None where there are no lines. bytes: how many bytes of
    the file (compressed, if the file is) had been read when the chunk was made, None for data in memory.
    """

    rows: int
    line: int | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class Chunk:
    """Rows `X`, their labels `y` or None, their position, the names of their columns.

    X is a C-ordered array, a `csr_array`, or, for a table with strings, a data frame of the features: the user's own kind of
    frame, and a pyarrow table for files. Of sentences, X and y are lists of lists of words and of tags; of lists of
    candidates, of dicts and of qualities; of strings, trees and graphs X is a list.

    open_ended: whether later chunks may have more columns, as those of LIBSVM text may if the number of features is not given.
    """

    X: Any
    y: Any
    position: Position
    names: tuple[str, ...] | None = None
    open_ended: bool = False

    def __len__(self) -> int:
        return len(self.X) if isinstance(self.X, list) else int(self.X.shape[0])

    def after(self, rows: int) -> Chunk:
        """The chunk without its first rows. Nobody counts their lines again."""
        X = self.X.slice(rows) if hasattr(self.X, "slice") else self.X[rows:]
        position = Position(self.position.rows + rows, None, self.position.bytes)
        return replace(self, X=X, y=None if self.y is None else self.y[rows:], position=position)


Chunks = Generator[Chunk, None, None]


class Notes(list[str]):
    """What was noticed about a source: kept for whoever asks, and logged."""

    def add(self, note: str, level: int = logging.INFO) -> None:
        """Note something."""
        self.append(note)
        log.log(level, "%s", note)


class Stream:
    """An iterable of chunks, made by `onepass.streams.open`. At the end of its `with` block, whatever was opened is closed.

    Files, arrays and frames can be iterated again, from the start; standard input and open files only once.

    name: what messages call the source. size: its size in bytes, where that is known. position: that of the last chunk handed out.
    notes: what was guessed about a file, and what was left out of it; there is more of it as more is read. about: of a
    table, from the first chunk on, its "label", its other "columns" with what they hold, and those that were "dropped".
    """

    def __init__(
        self,
        read: Callable[[], Chunks],
        name: str,
        size: int | None,
        once: bool,
        threads: bool,
        notes: Notes,
        about: dict[str, Any],
        skip_rows: int,
    ) -> None:
        self.name = name
        self.size = size
        self.notes, self.about = notes, about
        self._skip_rows = skip_rows
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
        with closing(in_order(chunks, lambda chunk: chunk, int(self._threads))) as chunks:
            for chunk in chunks:
                self.position = chunk.position
                empty = False
                before = self._skip_rows - chunk.position.rows
                if before < len(chunk):
                    yield chunk if before <= 0 else chunk.after(before)
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


Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(items: Generator[Item, None, None], work: Callable[[Item], Result], workers: int) -> Generator[Result, None, None]:
    """`work(item)` for each of the items, in their order, made by threads that are a few of them ahead.

    The threads take the items one at a time and work on them side by side. Without workers, the caller does it all.
    """
    if workers == 0:
        with closing(items):
            for item in items:
                yield work(item)
        return
    crew = _Crew(items, work, workers)
    atexit.register(crew.leave)
    try:
        yield from crew.results()
    finally:
        if crew.finish():
            atexit.unregister(crew.leave)


class _Crew(Generic[Item, Result]):
    """The threads of `in_order`. None marks the end of the results."""

    def __init__(self, items: Generator[Item, None, None], work: Callable[[Item], Result], workers: int) -> None:
        self._items, self._work = items, work
        self._turn = threading.Lock()  # to take the next item
        self._queued: set[threading.Thread] = set()  # those that wait for it
        self._taken = 0
        self._ahead = threading.Semaphore(workers + AHEAD)
        self._done: queue.SimpleQueue[tuple[int, Result | _Failure | None]] = queue.SimpleQueue()
        self._stop = False
        self._threads = [threading.Thread(target=self._run, name="onepass-stream", daemon=True) for _ in range(workers)]
        for thread in self._threads:
            thread.start()

    def results(self) -> Generator[Result, None, None]:
        early: dict[int, Result | _Failure | None] = {}
        for number in itertools.count():
            while number not in early:
                other, result = self._done.get()
                early[other] = result
            result = early.pop(number)
            if result is None:
                return
            if isinstance(result, _Failure):
                raise result.error
            self._ahead.release()
            yield result

    def _run(self) -> None:
        result: Result | _Failure | None
        while True:
            self._ahead.acquire()
            self._queued.add(threading.current_thread())
            with self._turn:
                self._queued.discard(threading.current_thread())
                number = self._taken
                self._taken += 1
                try:
                    if self._stop:
                        self._items.close()
                    item = next(self._items)
                except StopIteration:
                    self._done.put((number, None))
                    return
                except BaseException as error:
                    self._done.put((number, _Failure(error)))
                    return
            try:
                result = self._work(item)
            except BaseException as error:
                result = _Failure(error)
            self._done.put((number, result))
            del item, result  # while this thread waits, nobody else should have to hold them

    def finish(self) -> bool:
        """Let the threads end; whether all of them have."""
        self._stop = True
        for _ in self._threads:
            self._ahead.release()
        for thread in self._threads:
            thread.join(PATIENCE / len(self._threads))
        return not any(thread.is_alive() for thread in self._threads)

    def leave(self) -> None:
        """Let the threads end before the interpreter does: one that comes back from compiled code, be it a parser or our own, to an
        interpreter that is no more aborts the process. Only one that waits is left behind: for the same bytes all the time, or for its
        turn, which such a one may have."""
        self.finish()
        end = time.monotonic() + LAST_PATIENCE
        for thread in self._threads:
            before = None
            while thread.is_alive() and time.monotonic() < end:
                thread.join(0.05)
                now = waiting.get(thread)
                if thread in self._queued or (now is not None and now == before):
                    break
                before = now

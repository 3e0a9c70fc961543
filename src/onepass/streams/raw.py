"""Bytes from a path, standard input or an open file, unpacked where they are packed, and counted."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
import re
import stat
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

PACKED = {"gzip": rb"\x1f\x8b", "bzip2": rb"BZh[1-9][1\x17]", "xz": rb"\xfd7zXZ\x00", "zstd": rb"\x28\xb5\x2f\xfd"}
LONGEST_MAGIC = 6
PAUSE = 0.1  # seconds between two looks at a file that may have grown

# Threads that wait for bytes, each with the number of what it waits for. Such a wait may last for ever, and can't be interrupted.
waiting: dict[threading.Thread, int] = {}
_numbers = count()


class Source:
    """Where bytes come from. `name` is what messages call it, `size` the number of raw bytes where it can be known."""

    def __init__(self, source: str | os.PathLike[str] | Any) -> None:
        self.size: int | None = None
        self.once = True
        if isinstance(source, str | os.PathLike) and source != "-":
            self.name, self.once = os.fspath(source), False
            self._open: Callable[[], Any] = lambda: io.FileIO(self.name)
            self._look(os.stat(self.name))
        else:
            file = _standard_input() if source == "-" else source
            if isinstance(file, io.TextIOBase):
                raise TypeError(f"{file!r} is open as text: open it in binary mode, 'rb'")
            name = getattr(file, "name", None)
            self.name = "standard input" if source == "-" else name if isinstance(name, str) else "the open file"
            self._open = lambda: file

    def _look(self, facts: os.stat_result) -> None:
        if stat.S_ISDIR(facts.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), self.name)
        if stat.S_ISREG(facts.st_mode):
            self.size = facts.st_size

    @contextmanager
    def open(self) -> Iterator[Counted]:
        """The raw bytes. A file that somebody else opened stays open."""
        file = self._open()
        try:
            yield Counted(file)
        finally:
            if not self.once:
                file.close()


def _standard_input() -> Any:
    """Standard input without its buffer: a thread that waits for bytes would hold the buffer's lock, and an interpreter that ends
    meanwhile would die of it."""
    try:
        return io.FileIO(sys.stdin.fileno(), closefd=False)
    except OSError:  # a stand-in for standard input, which has no file
        return sys.stdin.buffer


class Counted(io.RawIOBase):
    """A file that counts the bytes read from it, and can be asked what it begins with."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._head = b""
        self.count = 0

    def head(self, length: int) -> bytes:
        """The first bytes, which will be read again: pipes cannot go back."""
        while len(self._head) < length and (more := self._wait(self._file.read, length - len(self._head))):
            self._head += more
        return self._head

    def readinto(self, buffer: Any) -> int:
        if self._head:
            taken = self._head[: len(buffer)]
            buffer[: len(taken)] = taken
            self._head = self._head[len(taken) :]
            read = len(taken)
        else:
            read = self._wait(self._file.readinto, buffer) or 0
        self.count += read
        return read

    def _wait(self, read: Callable[[Any], Any], argument: Any) -> Any:
        thread = threading.current_thread()
        waiting[thread] = next(_numbers)
        try:
            return read(argument)
        finally:
            del waiting[thread]

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._file.seekable())

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())


class Unpacked(io.RawIOBase):
    """The plain bytes of a file that may be packed with gzip, bzip2, xz or zstd, as its first bytes tell."""

    def __init__(self, file: Counted, name: str, follow: bool = False) -> None:
        head = file.head(LONGEST_MAGIC)
        self._name = name
        self.follow = follow  # whether more may come after the end
        self._kind = next((kind for kind, magic in PACKED.items() if re.match(magic, head, re.DOTALL)), None)
        self._file: Any = file
        if self._kind and follow:
            raise ValueError(f"{name} is packed with {self._kind}: only plain files can be followed while they grow")
        if self._kind:
            unpack, self._damage = _unpacker(self._kind, name)
            self._file = unpack(io.BufferedReader(file, 1 << 16))

    def readable(self) -> bool:
        return True

    def pause(self) -> None:
        """Give a file that is followed the time to grow."""
        self._file._wait(time.sleep, PAUSE)

    def readinto(self, buffer: Any) -> int:
        if not self._kind:
            return int(self._file.readinto(buffer))
        try:
            return int(self._file.readinto(buffer))
        except EOFError as error:
            raise EOFError(f"{self._name} is cut short: its {self._kind} data end in the middle") from error
        except (OSError, self._damage) as error:
            raise OSError(f"{self._name} is damaged: {error}") from error


def _unpacker(kind: str, name: str) -> tuple[Callable[[Any], Any], type[Exception]]:
    """What opens a file of this kind, and the error that it raises for damaged data."""
    if kind == "gzip":
        return lambda file: gzip.GzipFile(fileobj=file), zlib.error
    if kind == "bzip2":
        return bz2.BZ2File, OSError
    if kind == "xz":
        return lzma.LZMAFile, lzma.LZMAError
    if sys.version_info >= (3, 14):
        from compression.zstd import ZstdError, ZstdFile

        return ZstdFile, ZstdError
    try:
        import zstandard
    except ImportError as error:
        raise ImportError(f'{name} is packed with zstd, which needs an extra: pip install "onepass[zstd]"') from error
    return lambda file: _Zstd(file, zstandard.ZstdDecompressor().decompressobj), zstandard.ZstdError


class _Zstd(io.RawIOBase):
    """Frames of zstd one after another. The reader of `zstandard` takes a file that is cut short for a whole one."""

    def __init__(self, file: Any, decoder: Callable[[], Any]) -> None:
        self._file, self._decoder = file, decoder
        self._frame = decoder()
        self._inside = False  # of a frame
        self._packed = self._plain = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._plain:
            self._packed = self._packed or self._file.read(1 << 13)  # small: 4 bytes can unpack to 128 kB
            if not self._packed:
                if self._inside:
                    raise EOFError
                return 0
            self._plain = self._frame.decompress(self._packed)
            self._inside = not self._frame.eof
            self._packed = self._frame.unused_data
            if self._frame.eof:
                self._frame = self._decoder()
        taken = self._plain[: len(buffer)]
        buffer[: len(taken)] = taken
        self._plain = self._plain[len(taken) :]
        return len(taken)

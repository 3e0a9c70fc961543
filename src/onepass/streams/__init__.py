"""Data in chunks, from files, pipes, arrays and data frames, in memory that does not grow with the data."""

from onepass.streams.opening import open
from onepass.streams.stream import Chunk, Position, Stream

__all__ = ["Chunk", "Position", "Stream", "open"]

"""The command line: `onepass learn`, `predict`, `compare`, `tune`, `learners` and `demo`."""

from onepass.cli.application import main

__all__ = ["main"]

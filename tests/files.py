"""Model files that are changed behind the back of onepass."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file, save_file


def header_of(file: Path) -> Any:
    content = file.read_bytes()
    size = int.from_bytes(content[:8], "little")
    return json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["onepass"])


def rewrite(file: Path, change: Callable[[Any, dict[str, Any]], None]) -> None:
    """Change a model file's header and arrays in place."""
    header, arrays = header_of(file), load_file(file)
    change(header, arrays)
    save_file(arrays, file, {"onepass": json.dumps(header)})


def put(*path: str, value: Any) -> Callable[[Any, dict[str, Any]], None]:
    def change(header: Any, arrays: dict[str, Any]) -> None:
        for key in path[:-1]:
            header = header[key]
        header[path[-1]] = value

    return change


def array(name: str, change: Callable[[Any], Any]) -> Callable[[Any, dict[str, Any]], None]:
    def replace(header: Any, arrays: dict[str, Any]) -> None:
        arrays[name] = change(arrays[name])

    return replace

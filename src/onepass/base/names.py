"""Features by name."""

from __future__ import annotations

from collections.abc import Iterable


class Names:
    """The names of features, in the order in which they came.

    The versions of a state share it: each knows as many names as it has features, and takes those beyond for unknown. So a writer may
    add names while others read, and names that were added in vain are no names at all.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._order = list(names)
        self._places = {name: j for j, name in enumerate(self._order)}

    def place(self, name: str, n: int) -> int | None:
        """The place of a name among the first n; None if it is not one of them."""
        j = self._places.get(name)
        return j if j is not None and j < n else None

    def places(self, names: Iterable[str], n: int) -> list[int | None]:
        """The places of some names among the first n, None for each that is not one of them."""
        found = list(map(self._places.get, names))
        return found if len(self._order) == n else [j if j is not None and j < n else None for j in found]

    def __getitem__(self, j: int) -> str:
        return self._order[j]

    def first(self, n: int) -> list[str]:
        """The first n names."""
        return self._order[:n]

    def grown(self, newcomers: Iterable[str], n: int) -> Names:
        """The first n names, then the newcomers. Others may be there beyond n, of a version that came to nothing: they stay with it."""
        names = self if len(self._order) == n else Names(self._order[:n])
        for name in newcomers:
            names._order.append(name)
            names._places[name] = len(names._order) - 1
        return names

    def are_unique(self) -> bool:
        return len(self._places) == len(self._order)

    def __len__(self) -> int:
        return len(self._order)

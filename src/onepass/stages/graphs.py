"""Graphs as counts of neighbourhoods and of paths, inside the stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils._param_validation import Interval

from onepass.base.inputs import readonly
from onepass.base.parameters import COUNT, POSITIVE, among, parameter, parametric
from onepass.base.state import Array
from onepass.compiled.objects import EXPONENTIAL, GEOMETRIC, RANDOM_WALKS
from onepass.compiled.structures import Neighbourhoods, Paths
from onepass.stages.structures import Kept, Structures, bounds_of, numbers_of, symbols_of, texts_of

ENDLESS = 2**31  # steps: by then no sum has noticed a term for long
NEARLY = 0.999  # 1, beyond which a series has no end; still nearer to it, one takes too long
SERIES = {"geometric": GEOMETRIC, "exponential": EXPONENTIAL}
FORMS = (
    "A graph is a list of edges (node, node) or (node, node, label), a pair (labels of the nodes, edges), a dict with nodes and edges,"
    " or a graph of networkx."
)


@parametric
class WeisfeilerLehman(Structures):
    """Graphs as sparse rows: how often each neighbourhood of up to `rounds` steps is in them.

    In round 0 a node has its own label; in round i + 1 it has (its label of round i, those of its neighbours). The dot product of two
    rows is the Weisfeiler-Lehman subtree kernel, sum over the labels of all rounds of count(x) count(z). Nodes without labels are
    alike. Where edges have labels, neighbours are told apart by them, too; in directed graphs a node sees where its edges lead.

    A graph is a list of edges (node, node) or (node, node, label); a pair (labels, edges), with the labels in a list, whose nodes are
    0, 1, ..., or in a dict; {"nodes": labels, "edges": edges}; or a graph of networkx, whose nodes and edges may have the attribute
    "label".

    References
    ----------
    N. Shervashidze, P. Schweitzer, E. J. van Leeuwen, K. Mehlhorn, K. M. Borgwardt: Weisfeiler-Lehman graph kernels. JMLR 12 (2011),
    2539-2561.

    Examples
    --------
    >>> from onepass import PAClassifier, WeisfeilerLehman, pipeline
    >>> model = pipeline(WeisfeilerLehman(2), PAClassifier())
    >>> ring, chain = [(0, 1), (1, 2), (2, 0)], [(0, 1), (1, 2)]
    >>> for edges, label in [(ring, "ring"), (chain, "chain"), (ring, "ring")]:
    ...     model.learn_one((["C", "C", "C"], edges), label)
    >>> model.predict_one((["C", "C", "C", "N"], [(0, 1), (1, 2), (2, 3), (3, 0)]))
    'ring'
    """

    rounds: int = parameter(3, Interval(Integral, 0, 64, closed="both"), text="How many steps a neighbourhood reaches.")
    n_features: int = parameter()
    normed: bool = parameter()

    _objects: ClassVar[str] = "graphs"

    def _flat(self, examples: list[Any]) -> tuple[Any, Array]:
        graphs = flat_graphs(type(self).__name__, examples)
        record = Neighbourhoods(graphs.bounds, symbols_of(graphs.labels), *graphs.links, int(self.rounds))
        return record, np.diff(graphs.bounds) * (record.rounds + 1)

    def _parts(self, example: Any) -> Iterable[str]:
        graph = flat_graphs(type(self).__name__, [example])
        labels, (starts, neighbours, _) = texts_of(graph.labels), graph.links
        around = [sorted(labels[u] for u in neighbours[i:j]) for i, j in pairwise(starts)]
        yield from labels
        for r in range(1, self.rounds + 1):
            yield from (
                f"{label}({' '.join(those)})" + (f" {r}" if r > 1 else "") for label, those in zip(labels, around, strict=True)
            )


@parametric
class ShortestPaths(Structures):
    """Graphs as sparse rows: how often two labels are so many steps apart.

    The dot product of two rows is the shortest-path kernel: sum over (label, label, distance) of count(x) count(z), counted over all
    ordered pairs of different nodes with a path between them. Nodes without labels are alike. A graph with n nodes and m edges takes
    O(n m) steps. Graphs are given as to :class:`WeisfeilerLehman`; labels of edges do not matter.

    References
    ----------
    K. M. Borgwardt, H.-P. Kriegel: Shortest-path kernels on graphs. ICDM 2005, 74-81.

    Examples
    --------
    >>> from onepass import ShortestPaths
    >>> chain = [("a", "b"), ("b", "c")]
    >>> sorted(abs(ShortestPaths(normed=False).transform([chain]).data).tolist())  # of distance 2 and 1
    [2.0, 4.0]
    """

    n_features: int = parameter()
    normed: bool = parameter()

    _objects: ClassVar[str] = "graphs"

    def _flat(self, examples: list[Any]) -> tuple[Any, Array]:
        graphs = flat_graphs(type(self).__name__, examples)
        starts, neighbours, _ = graphs.links
        sizes = np.diff(graphs.bounds)
        return Paths(graphs.bounds, symbols_of(graphs.labels), starts, neighbours), sizes * (sizes - 1)

    def _parts(self, example: Any) -> Iterable[str]:
        graph = flat_graphs(type(self).__name__, [example])
        labels, (starts, neighbours, _) = texts_of(graph.labels), graph.links
        for source, label in enumerate(labels):
            distances, queue = {source: 0}, [source]
            for u in queue:
                if u != source:
                    yield f"{label} - {labels[u]}: {distances[u]}"
                for v in neighbours[starts[u] : starts[u + 1]].tolist():
                    if v not in distances:
                        distances[v] = distances[u] + 1
                        queue.append(v)


@parametric
class RandomWalks(Kept):
    """Graphs for kernel learners with kernel="structure": the kernel of random walks.

    K(x, z) is the sum, over k = 0, 1, ..., of weight^k (or weight^k / k!, if the series is "exponential") times the number of pairs of
    walks of k steps, one in each graph, that pass nodes with equal labels; walks of no step count whatever the labels are. Without
    `steps` the series has an end only if weight r^2 < 1, with r the largest absolute eigenvalue of the graph's adjacency matrix: graphs
    where that is not so, or hardly, are refused. With n and m nodes and e and f edges, each k takes a pair O(e m + n f) operations.
    Graphs are given as to :class:`WeisfeilerLehman`; labels of edges do not matter.

    References
    ----------
    T. Gartner, P. Flach, S. Wrobel: On graph kernels: hardness results and efficient alternatives. COLT 2003, 129-143.
    S. V. N. Vishwanathan, N. N. Schraudolph, R. Kondor, K. M. Borgwardt: Graph kernels. JMLR 11 (2010), 1201-1242.

    Examples
    --------
    >>> from onepass import RandomWalks
    >>> chain = [("a", "b"), ("b", "c")]
    >>> RandomWalks(weight=0.1, steps=1, normed=False).gram([chain])  # 9 pairs of nodes, and 4 x 4 of edges
    array([[10.6]])
    """

    weight: float = parameter(0.05, POSITIVE, text="What each step of a walk multiplies it by.")
    steps: int | None = parameter(None, COUNT, None, text="The most steps of a walk. None: there is no end.")
    series: str = parameter("geometric", among(*SERIES), text="How walks of k steps count: weight^k, or weight^k / k!.")
    normed: bool = parameter()

    _objects: ClassVar[str] = "graphs"

    def _kernel(self) -> tuple[float, float, float, float]:
        return RANDOM_WALKS, self.weight, ENDLESS if self.steps is None else self.steps, SERIES[self.series]

    def _bodies(self, examples: list[Any]) -> tuple[Array, Array]:
        graphs = flat_graphs(type(self).__name__, examples)
        (starts, neighbours, _), symbols = graphs.links, numbers_of(symbols_of(graphs.labels))
        bodies = [np.empty(0)]
        for t, (first, last) in enumerate(pairwise(graphs.bounds.tolist())):
            own = starts[first : last + 1]
            near = neighbours[own[0] : own[-1]] - first
            self._check_end(t, np.repeat(np.arange(last - first), np.diff(own)), near, last - first)
            bodies.append(np.concatenate([[last - first + 1], symbols[first:last], np.diff(own) + 1, near + 1]))
        return np.concatenate(bodies), bounds_of(list(map(len, bodies[1:])))

    def _check_end(self, t: int, sources: Array, targets: Array, n: int) -> None:
        """Refuse a graph in which walks become more faster than they count less."""
        if self.steps is not None or self.series == "exponential" or not len(sources):
            return
        adjacency = np.zeros((n, n))
        adjacency[sources, targets] = 1
        largest = float(np.abs(np.linalg.eigvals(adjacency)).max())
        if self.weight * largest**2 > NEARLY:
            most = NEARLY / largest**2
            raise ValueError(
                f"In graph {t} the sum over all walks has no end with weight={self.weight}: take one below {most:.3g}, or limit the"
                " `steps`."
            )


class Graphs(NamedTuple):
    """Graphs one after the other: where the nodes of each begin and end, the labels of all nodes, and their neighbours (`linked`)."""

    bounds: Array
    labels: list[Any]
    links: tuple[Array, Array, Array]


def flat_graphs(taker: str, examples: list[Any]) -> Graphs:
    """Graphs of any form, one after the other."""
    labels, sizes = list[Any](), list[int]()
    sources, targets, bonds = list[int](), list[int](), list[Any]()
    for t, x in enumerate(examples):
        try:
            nodes, begins, ends, between = _taken_apart(x)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{taker} takes graphs, and example {t} is none: {error} {FORMS}") from None
        sources += [len(labels) + i for i in begins]
        targets += [len(labels) + i for i in ends]
        bonds += between
        labels += nodes
        sizes.append(len(nodes))
    links = _linked(len(labels), np.array(sources, np.int64), np.array(targets, np.int64), bonds)
    return Graphs(bounds_of(sizes), labels, links)


def _taken_apart(x: Any) -> tuple[list[Any], list[int], list[int], list[Any]]:
    """The labels of a graph's nodes; from where to where its edges lead, in both directions unless they have one, and their labels."""
    labels, edges, directed = _told(x)
    edges = edges.tolist() if isinstance(edges, np.ndarray) else list(edges)
    if any(isinstance(edge, str) for edge in edges):
        raise TypeError("an edge is a text.")
    try:
        columns = [list(column) for column in zip(*edges, strict=True)] if edges else [[], []]
    except ValueError:
        raise ValueError("some of its edges have a label and others have none, or one is no pair of nodes.") from None
    if len(columns) not in (2, 3):
        raise ValueError(f"an edge has {len(columns)} parts.")
    begins, ends = columns[:2]
    if labels is None:
        labels = dict.fromkeys([*begins, *ends], "")
    named = isinstance(labels, Mapping)
    places = {node: i for i, node in enumerate(labels if named else range(len(labels)))}
    try:
        sources, targets = [places[node] for node in begins], [places[node] for node in ends]
    except KeyError as error:
        raise ValueError(f"an edge leads to {error.args[0]!r}, which is none of its nodes.") from None
    bonds = columns[2] if len(columns) == 3 else [None] * len(edges)
    if not directed:
        sources, targets, bonds = sources + targets, targets + sources, bonds + bonds
    return list(labels.values() if named else labels), sources, targets, bonds


def _told(x: Any) -> tuple[Any, Any, bool]:
    """The labels of a graph's nodes, in a list or a dict, or None; its edges; and whether they have a direction."""
    if callable(getattr(x, "is_directed", None)):
        return dict(x.nodes(data="label", default="")), x.edges(data="label"), x.is_directed()
    if isinstance(x, Mapping):
        if "edges" not in x or not x.keys() <= {"nodes", "edges"}:
            raise ValueError(f"it is a dict with {', '.join(map(repr, x)) or 'nothing'}.")
        return x.get("nodes"), x["edges"], False
    if isinstance(x, tuple):
        if len(x) != 2:
            raise ValueError(f"it is a tuple of {len(x)}.")
        return *x, False
    if not isinstance(x, list | np.ndarray):
        raise TypeError(f"it is {type(x).__name__}.")
    return None, x, False


def _linked(n: int, sources: Array, targets: Array, bonds: list[Any]) -> tuple[Array, Array, Array]:
    """Where the neighbours of each node begin and end, the neighbours, and the hashes of the labels of the edges there; each edge once,
    however often it was named."""
    between = np.zeros(len(sources), np.uint64)
    if any(bond is not None for bond in bonds):
        between = symbols_of(["" if bond is None else bond for bond in bonds])
        order = np.lexsort((between, targets, sources))
        sources, targets, between = sources[order], targets[order], between[order]
        new = (np.diff(sources, prepend=-1) != 0) | (np.diff(targets, prepend=-1) != 0)
        new[1:] |= between[1:] != between[:-1]
        sources, targets, between = sources[new], targets[new], between[new]
    else:
        sources, targets = np.divmod(np.unique(sources * n + targets), max(n, 1))
        between = between[: len(sources)]
    return readonly(np.searchsorted(sources, np.arange(n + 1))), readonly(targets), readonly(between)

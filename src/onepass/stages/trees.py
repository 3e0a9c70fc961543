"""Trees as counts of their subtrees, inside the stream."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any, ClassVar, NoReturn

import numpy as np
from sklearn.utils._param_validation import Interval

from onepass.base.inputs import readonly
from onepass.base.parameters import POSITIVE, parameter, parametric
from onepass.base.state import Array
from onepass.compiled.objects import PARTIAL_TREES, SUBSET_TREES, WITH_LEAVES, WITHOUT, tree_bodies
from onepass.compiled.structures import EMPTY, SECOND, UNCLOSED, UNOPENED, WHOLE, Trees, parse_all
from onepass.stages.structures import Kept, Structures, bounds_of, codes_of, texts_of

FLAWS = {
    EMPTY: "has no nodes",
    UNOPENED: "has a closing bracket without an opening one",
    UNCLOSED: "has an opening bracket without a closing one",
    SECOND: "goes on after its end: a tree has one root",
}
Nodes = tuple[Array, Array, Array, Array, Array]  # what `Trees` begins with


@parametric
class Subtrees(Structures):
    """Trees as sparse rows: how often each subtree, a node with everything below it, is in them.

    The dot product of two rows is the subtree kernel, sum over pairs of equal subtrees of L^(inner nodes of the subtree), where L is
    the `decay`; a leaf counts L. A tree is a text in brackets, "(S (NP Bears) (VP (V eat) (NP honey)))", or an object as NLTK has
    them, with a method `label` and children to iterate over. "(bear)" is a leaf, as "bear" is.

    References
    ----------
    S. V. N. Vishwanathan, A. J. Smola: Fast kernels for string and tree matching. NIPS 2002, 569-576.

    Examples
    --------
    >>> from onepass import PAClassifier, Subtrees, pipeline
    >>> model = pipeline(Subtrees(), PAClassifier())
    >>> for verb, label in [("(V eat) (NP honey)", "food"), ("(V sleep)", "rest"), ("(V eat) (NP fish)", "food")]:
    ...     model.learn_one(f"(S (NP Bears) (VP {verb}))", label)
    >>> model.predict_one("(S (NP Foxes) (VP (V eat)))")
    'food'
    """

    decay: float = parameter(
        0.4,
        Interval(Real, 0, 1, closed="right"),
        text="What each inner node of a subtree multiplies its count in the kernel by.",
    )
    leaves: bool = parameter(True, "boolean", text="Whether leaves are subtrees.")
    n_features: int = parameter()
    normed: bool = parameter()

    _objects: ClassVar[str] = "trees"

    def _decay(self) -> float:
        return float(self.decay)

    def _flat(self, examples: list[Any]) -> tuple[Any, Array]:
        nodes = flat_trees(type(self).__name__, examples)
        return Trees(*nodes, bool(self.leaves)), np.diff(nodes[0])

    def _parts(self, example: Any) -> Iterable[str]:
        _, codes, begins, ends, children = flat_trees(type(self).__name__, [example])
        pile = list[str]()
        for begin, end, count in zip(begins.tolist()[::-1], ends.tolist()[::-1], children.tolist()[::-1], strict=True):
            label = codes[begin:end].tobytes().decode("utf-32-le", "surrogatepass")
            below = [pile.pop() for _ in range(count)]
            pile.append(f"({' '.join([label, *below])})" if below else label)
            if count or self.leaves:
                yield pile[-1]


class KeptTrees(Kept):
    """Trees for kernel learners."""

    _objects: ClassVar[str] = "trees"
    _by_production: ClassVar[bool]

    def _bodies(self, examples: list[Any]) -> tuple[Array, Array]:
        nodes = flat_trees(type(self).__name__, examples)
        bodies = np.empty(3 * nodes[0][-1])
        tree_bodies(*nodes, self._by_production, bodies)
        return bodies, 3 * nodes[0]


@parametric
class SubsetTrees(KeptTrees):
    """Trees for kernel learners with kernel="structure": the kernel of subset trees.

    K(x, z) is the sum, over all pairs of equal fragments of two trees, of decay^(productions of the fragment), where each node of
    a fragment has all its children or none of them. For nodes with the same production (the labels of a node and of its children),
    common(a, b) = decay prod_i (1 + common(a_i, b_i)) over the children that are no leaves; else it is 0. A pair of trees takes at
    most O(|x| |z|) steps. Trees are given as to :class:`Subtrees`.

    References
    ----------
    M. Collins, N. Duffy: Convolution kernels for natural language. NIPS 2001, 625-632.

    Examples
    --------
    >>> from onepass import SubsetTrees
    >>> SubsetTrees(decay=1.0, leaves=False, normed=False).gram(["(S (A a) (B b))"])  # A; B; S with or without each of them
    array([[6.]])
    """

    decay: float = parameter(
        0.4, Interval(Real, 0, 1, closed="right"), text="What each production of a fragment multiplies it by."
    )
    leaves: bool = parameter(True, "boolean", text="Whether leaves are fragments.")
    normed: bool = parameter()

    _by_production = True

    def _kernel(self) -> tuple[float, float, float, float]:
        return SUBSET_TREES, self.decay, WITH_LEAVES if self.leaves else WITHOUT, 1


@parametric
class PartialTrees(KeptTrees):
    """Trees for kernel learners with kernel="structure": the kernel of partial trees.

    As :class:`SubsetTrees`, but a fragment may leave out children: common(a, b) is 0 for nodes with different labels, depth decay^2
    terminal if one of them is a leaf, and else depth (decay^2 + the sum, over equally long subsequences of the children of both, of
    decay^(children left out in between) prod common(a_i, b_j)). A pair of trees with up to b children a node takes at most
    O(|x| |z| b^3) steps.

    References
    ----------
    A. Moschitti: Efficient convolution kernels for dependency and constituent syntactic trees. ECML 2006, 318-329.

    Examples
    --------
    >>> from onepass import KernelPA, PartialTrees, pipeline
    >>> model = pipeline(PartialTrees(), KernelPA(kernel="structure", budget=100))
    >>> for text, label in [("(S (N it) (V is))", "statement"), ("(S (V is) (N it))", "question")] * 2:
    ...     model.learn_one(text, label)
    >>> model.predict_one("(S (V was) (N it))")
    'question'
    """

    decay: float = parameter(
        0.4, Interval(Real, 0, 1, closed="right"), text="What a child that is left out multiplies a fragment by."
    )
    depth: float = parameter(0.4, Interval(Real, 0, 1, closed="right"), text="What each node of a fragment multiplies it by.")
    terminal: float = parameter(1.0, POSITIVE, text="How much more leaves count.")
    normed: bool = parameter()

    _by_production = False

    def _kernel(self) -> tuple[float, float, float, float]:
        return PARTIAL_TREES, self.decay, self.depth, self.terminal


def flat_trees(taker: str, examples: Sequence[Any]) -> Nodes:
    """Trees as nodes one after the other: where those of a tree begin and end, the letters of all labels, where each label begins and
    ends, and how many children each node has."""
    if all(isinstance(x, str) for x in examples):
        return _from_brackets(list(examples))
    labels, counts, sizes = list[Any](), list[int](), list[int]()
    for t, x in enumerate(examples):
        size, pile = len(labels), [x]
        if isinstance(x, str):
            _, codes, begins, ends, children = _from_brackets([x], t)
            labels += [codes[i:j].tobytes().decode("utf-32-le", "surrogatepass") for i, j in zip(begins, ends, strict=True)]
            counts += children.tolist()
            pile.clear()
        elif not callable(getattr(x, "label", None)):
            raise TypeError(f"{taker} takes trees, in brackets or as NLTK has them, and example {t} is {type(x).__name__}.")
        while pile:
            node = pile.pop()
            below = list(node) if callable(getattr(node, "label", None)) else []
            labels.append(node.label() if callable(getattr(node, "label", None)) else node)
            counts.append(len(below))
            pile.extend(reversed(below))
        sizes.append(len(labels) - size)
    codes, bounds = codes_of(texts_of(labels))
    return bounds_of(sizes), codes, bounds[:-1], bounds[1:], readonly(np.array(counts, np.int64))


def _from_brackets(texts: list[str], first: int = 0) -> Nodes:
    codes, bounds = codes_of(texts)
    nodes, (begins, ends, children) = np.empty(len(bounds), np.int64), np.empty((3, len(codes)), np.int64)
    flaw, t, place = parse_all(codes, bounds, nodes, begins, ends, children)
    if flaw != WHOLE:
        _refuse(first + t, texts[t], flaw, place - bounds[t])
    count = nodes[-1]
    return readonly(nodes), codes, *(readonly(part[:count]) for part in (begins, ends, children))


def _refuse(t: int, text: str, flaw: int, place: int) -> NoReturn:
    where = f", at letter {place}" if flaw in (UNOPENED, SECOND) else ""
    shown = text if len(text) <= 60 else f"{text[:60]}..."
    raise ValueError(f"Tree {t} {FLAWS[flaw]}{where}: {shown!r}. Write it as (label child child ...).")

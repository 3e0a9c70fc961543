"""Strings, graphs and trees as rows: their dot products are the kernels by definition, and as other systems compute them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
from scipy.sparse import csr_array

from onepass import (
    ActiveLearner,
    AROWClassifier,
    KernelPA,
    PAClassifier,
    ShortestPaths,
    Spectrum,
    Subtrees,
    WeisfeilerLehman,
    load,
    pipeline,
)
from onepass.evaluate import prequential
from shared import dataset_file, golden, snapshot

WIDE = 10**9  # so that nothing collides
RNG = np.random.default_rng(0)


class Graph:
    """What networkx has, as far as it is asked for it."""

    def __init__(self, labels: dict[Any, Any], edges: list[Any], directed: bool = False) -> None:
        self._labels, self._edges, self._directed = labels, edges, directed

    def is_directed(self) -> bool:
        return self._directed

    def nodes(self, data: str, default: Any) -> Any:
        assert data == "label"
        return [(node, default if label is None else label) for node, label in self._labels.items()]

    def edges(self, data: str) -> Any:
        assert data == "label"
        return [(*edge, None)[:3] for edge in self._edges]


class Tree(list[Any]):
    """What NLTK has."""

    def __init__(self, label: Any, children: list[Any]) -> None:
        super().__init__(children)
        self._label = label

    def label(self) -> Any:
        return self._label


def drawn_string(n: int = 12) -> str:
    return "".join(RNG.choice(list("abé"), RNG.integers(0, n)))


def drawn_graph() -> tuple[list[str], list[tuple[int, int, str]]]:
    n = int(RNG.integers(1, 8))
    pairs = [(i, j, str(RNG.choice(["-", "="]))) for i in range(n) for j in range(i) if RNG.random() < 0.35]
    return RNG.choice(["C", "N", "Cl"], n).tolist(), pairs


def drawn_tree(depth: int = 4) -> Tree | str:
    if depth == 0 or (depth < 4 and RNG.random() < 0.3):
        return str(RNG.choice(["x", "yes"]))
    return Tree(str(RNG.choice(["S", "NP"])), [drawn_tree(depth - 1) for _ in range(RNG.integers(0, 4))])


def written(tree: Tree | str) -> str:
    return tree if isinstance(tree, str) else f"({' '.join([tree.label(), *map(written, tree)])})"


STRINGS = ["", "a", *(drawn_string() for _ in range(8))]
GRAPHS = [([], []), (["C"], []), (["C", "C"], [(0, 0, "-")]), *(drawn_graph() for _ in range(8))]
TREES = ["x", "(S)", *(drawn_tree() for _ in range(8))]
BRACKETS = [written(tree) for tree in TREES]


# --- kernels by definition ---


def spectrum(x: str, k: int) -> Counter[Any]:
    return Counter(x[i : i + k] for i in range(len(x) - k + 1))


def mismatch(x: str, k: int, m: int) -> Counter[Any]:
    words = spectrum(x, k)
    near = {
        u: sum(n for word, n in words.items() if sum(a != b for a, b in zip(u, word, strict=True)) <= m)
        for u in map("".join, product("abé", repeat=k))
    }
    return Counter(near)


def neighbourhoods(graph: Any, rounds: int, directed: bool = False) -> Counter[Any]:
    labels, edges = graph
    links = {(i, j, bond) for i, j, bond in edges} | {(j, i, bond) for i, j, bond in edges if not directed}
    now, counts = list(labels), Counter[Any](labels)
    for _ in range(rounds):
        now = [(own, tuple(sorted((bond, repr(now[j])) for i, j, bond in links if i == v))) for v, own in enumerate(now)]
        counts.update(now)
    return counts


def paths(graph: Any) -> Counter[Any]:
    labels, edges = graph
    n = len(labels)
    far = np.where(np.eye(n, dtype=bool), 0.0, np.inf)
    for i, j, _ in edges:
        far[i, j] = far[j, i] = min(far[i, j], 1)
    for k in range(n):
        far = np.minimum(far, far[:, k : k + 1] + far[k])
    return Counter((labels[i], labels[j], far[i, j]) for i in range(n) for j in range(n) if i != j and far[i, j] < np.inf)


def dot(a: Counter[Any], b: Counter[Any]) -> float:
    return sum(n * b[u] for u, n in a.items())


def nodes_of(tree: Any) -> list[Any]:
    return [tree, *(node for child in (tree if isinstance(tree, Tree) else []) for node in nodes_of(child))]


def production(node: Any) -> Any:
    label = node.label() if isinstance(node, Tree) else node
    return label, [child.label() if isinstance(child, Tree) else child for child in (node if isinstance(node, Tree) else [])]


def common(a: Any, b: Any, decay: float, leaves: bool) -> float:
    """Section 5 of Moschitti 2006: subtrees that two nodes have in common, leaves as KeLP counts them."""
    if production(a) != production(b):
        return 0.0
    if not production(a)[1]:
        return decay if leaves else 0.0
    below = zip(a, b, strict=True)
    return decay * float(np.prod([common(c, d, decay, True) for c, d in below if production(c)[1] or production(d)[1]]))


def subtrees(a: Any, b: Any, decay: float, leaves: bool) -> float:
    return sum(common(u, v, decay, leaves) for u in nodes_of(a) for v in nodes_of(b))


Kernel = Callable[[Any, Any], float]
CASES: dict[str, tuple[Any, list[Any], Kernel]] = {
    **{f"spectrum {k}": (Spectrum(k), STRINGS, lambda a, b, k=k: dot(spectrum(a, k), spectrum(b, k))) for k in (1, 2, 4)},
    "blended": (
        Spectrum(3, blended=True),
        STRINGS,
        lambda a, b: sum(dot(spectrum(a, k), spectrum(b, k)) for k in (1, 2, 3)),
    ),
    **{
        f"mismatch {k} {m}": (Spectrum(k, m, "abéa"), STRINGS, lambda a, b, k=k, m=m: dot(mismatch(a, k, m), mismatch(b, k, m)))
        for k, m in [(1, 1), (3, 1), (3, 2), (2, 5)]
    },
    **{
        f"neighbourhoods {r}": (
            WeisfeilerLehman(r),
            GRAPHS,
            lambda a, b, r=r: dot(neighbourhoods(a, r), neighbourhoods(b, r)),
        )
        for r in (0, 1, 3)
    },
    "directed": (
        WeisfeilerLehman(2),
        [Graph(dict(enumerate(labels)), edges, directed=True) for labels, edges in GRAPHS],
        lambda a, b: dot(*(neighbourhoods(([*g._labels.values()], g._edges), 2, directed=True) for g in (a, b))),
    ),
    "paths": (ShortestPaths(), GRAPHS, lambda a, b: dot(paths(a), paths(b))),
    **{
        f"subtrees {decay} {leaves}": (
            Subtrees(decay, leaves),
            TREES[2:],
            lambda a, b, decay=decay, leaves=leaves: subtrees(a, b, decay, leaves),
        )
        for decay, leaves in [(0.4, True), (0.7, False), (1.0, True)]
    },
}


def products(stage: Any, X: Any) -> np.ndarray:
    rows = stage.transform(X)
    columns, places = np.unique(rows.indices, return_inverse=True)
    dense = csr_array((rows.data, places, rows.indptr), shape=(rows.shape[0], len(columns))).toarray()
    return dense @ dense.T


@pytest.mark.plain
@pytest.mark.compiled
@pytest.mark.parametrize("name", CASES)
def test_dot_products_are_the_kernel(name: str) -> None:
    stage, X, kernel = CASES[name]
    expected = np.array([[kernel(a, b) for b in X] for a in X])
    assert expected.any()
    np.testing.assert_allclose(products(stage.set_params(n_features=WIDE, normed=False), X), expected, rtol=1e-12, atol=1e-12)
    lengths = np.sqrt(expected.diagonal())
    lengths[lengths == 0] = 1.0
    np.testing.assert_allclose(
        products(stage.set_params(normed=True), X), expected / np.outer(lengths, lengths), rtol=1e-12, atol=1e-12
    )


# --- what other systems compute ---


def upper(stage: Any, X: Any) -> np.ndarray:
    return products(stage, X)[np.triu_indices(len(X))]


def molecules() -> tuple[list[Any], np.ndarray]:
    graphs, classes = [], []
    for line in dataset_file("mutag.klp").splitlines():
        label, _, rest = line.partition(" |BG:inline|")
        nodes, _, edges = rest.removesuffix("|EG|").partition("%%")
        graphs.append((dict(node.split() for node in nodes.split("&&")), [tuple(edge.split()) for edge in edges.split("&&")]))
        classes.append(int(label))
    return graphs, np.array(classes)


def test_graphs_as_grakel() -> None:
    graphs, kernels = molecules()[0][:30], golden("graph_kernels.json")["kernels"]
    stages = {f"wl{r}": WeisfeilerLehman(r, WIDE) for r in range(4)} | {"sp_labels": ShortestPaths(WIDE)}
    for name, stage in stages.items():
        np.testing.assert_allclose(upper(stage, graphs), kernels[name]["normalised"], atol=1e-11)
        assert np.array_equal(upper(stage.set_params(normed=False), graphs), kernels[name]["values"])
    bare = [edges for _, edges in graphs]
    assert np.array_equal(upper(ShortestPaths(WIDE, False), bare), kernels["sp"]["values"])


def test_strings_as_strkernel() -> None:
    said = golden("string_kernels.json")["spectrum_and_mismatch"]
    lines = dataset_file("promoters.csv").splitlines()
    strings = ["".join(lines[i].split(",")[1:-1]) for i in said["rows"]]
    assert len(said["kernels"]) > 8
    for name, values in said["kernels"].items():
        k, m = (*map(int, name.split("_")[1:]), 0)[:2]
        collisions = 2 if name == "mismatch_6_1" else 0  # the hashes of two of its words differ in their last 32 bits only
        found = upper(Spectrum(k, m, "acgt", n_features=WIDE, normed=False), strings)
        assert np.abs(found - values).max() <= collisions, name


def test_trees_as_by_two_plain_programs() -> None:
    lines = dataset_file("question-trees.t.klp").splitlines()
    rows = Subtrees(0.4, n_features=WIDE).transform([line.split("|BT:grct| ")[1].split(" |ET|")[0] for line in lines])
    np.testing.assert_allclose(rows[:-1].multiply(rows[1:]).sum(axis=1), golden("tree_kernel_subtree.txt").ravel(), atol=1e-11)


def read(text: str) -> Tree:
    """A tree as KeLP writes it, every node in brackets."""
    root = Tree("", [])
    path = [root]
    for part in re.findall(r"[()]|[^()]+", text):
        if part == ")":
            path.pop()
        elif part != "(":
            path[-1].append(Tree(part, []))
            path.append(path[-1][-1])
    return root[0]


def common_to_kelp(a: Any, b: Any) -> float:
    """Children that are no leaves and whose productions differ give the factor 1, and not 0."""
    if production(a) != production(b):
        return 0.0
    below = [(c, d) for c, d in zip(a, b, strict=True) if production(c)[1] or production(d)[1]]
    return 0.4 * float(np.prod([common_to_kelp(c, d) if production(c) == production(d) else 1.0 for c, d in below]))


def test_where_kelp_differs_is_known() -> None:
    """KeLP's own figures of the subtree kernel: that one change of the definition gives them all, and without it many differ."""
    texts = [line.split("|BT:grct| ")[1].split(" |ET|")[0] for line in dataset_file("question-trees.t.klp").splitlines()]
    theirs, ours = (golden(f"tree_kernel_{name}.txt").ravel() for name in ("stk", "subtree"))
    trees = [nodes_of(read(text)) for text in texts]
    own = [sum(common_to_kelp(a, b) for a in tree for b in tree) for tree in trees]
    pairs = [sum(common_to_kelp(a, b) for a in one for b in other) for one, other in pairwise(trees)]
    np.testing.assert_allclose(pairs / np.sqrt([a * b for a, b in pairwise(own)]), theirs, atol=1e-6)
    assert (np.abs(theirs - ours) > 1e-6).sum() == 269


# --- the same in all ways ---

SAME: dict[str, list[tuple[Any, list[list[Any]]]]] = {
    "strings": [
        (
            Spectrum(2, blended=True),
            [
                ["abca", "b"],
                [b"abca", b"b"],
                [["a", "b", "c", "a"], ["b"]],
                [("a", b"b", "c", "a"), "b"],
                [np.array(list("abca")), "b"],
            ],
        ),
        (Spectrum(2), [[[1, 20, 3], [20, 3]], [["1", "20", "3"], [20.0, np.int64(3)]]]),
        (Spectrum(1), [["", "a"], [None, "a"], [float("nan"), "a"], [[], ["a"]]]),
    ],
    "graphs": [
        (
            stage,
            [
                [(["C", "N", "O"], [(0, 1), (1, 2)]), ([1, 1], [])],
                [({"x": "C", "y": "N", "z": "O"}, [("y", "x"), ("z", "y"), ("y", "z")]), ({5: 1.0, 6: "1"}, [])],
                [{"nodes": ["C", "N", "O"], "edges": np.array([[0, 1], [2, 1]])}, {"nodes": ("1", "1"), "edges": []}],
                [Graph({"x": "C", "y": "N", "z": "O"}, [("x", "y"), ("y", "z")]), Graph({1: 1, 2: 1}, [])],
            ],
        )
        for stage in (WeisfeilerLehman(2), ShortestPaths())
    ]
    + [
        (
            WeisfeilerLehman(2),
            [
                [[("a", "b"), ("b", "c")]],
                [{"edges": [(7, 8), (8, 9)]}],
                [np.array([[0, 1], [1, 2]])],
                [(["", "", ""], [(0, 1), (1, 2)])],
                [Graph(dict.fromkeys("abc"), [("a", "b"), ("b", "c")])],
            ],
        )
    ],
    "trees": [
        (
            Subtrees(),
            [
                ["(S (NP it) (VP (V is)))", "it"],
                ["(S(NP(it))(VP(V(is))))", "(it)"],
                [" ( S ( NP it )\n\t(VP (V is) ) ) ", " it "],
                [Tree("S", [Tree("NP", ["it"]), Tree("VP", [Tree("V", [Tree("is", [])])])]), "it"],
            ],
        ),
        (Subtrees(leaves=False), [["( (S a))"], [Tree("", [Tree("S", ["a"])])]]),
    ],
}


@pytest.mark.plain
@pytest.mark.parametrize("kind", SAME)
def test_the_same_object_in_other_words_is_the_same_row(kind: str) -> None:
    for stage, ways in SAME[kind]:
        first, *others = (stage.transform(X) for X in ways)
        for rows in others:
            assert np.array_equal(rows.toarray(), first.toarray())


@pytest.mark.plain
@pytest.mark.parametrize("kind", [networkx.Graph, networkx.DiGraph])
def test_graphs_of_networkx(kind: Any) -> None:
    """Theirs, and those of the class above, which stands for them."""
    for labels, edges in GRAPHS:
        graph = kind()
        graph.add_nodes_from((i, {"label": label}) for i, label in enumerate(labels))
        graph.add_edges_from((i, j, {"label": bond}) for i, j, bond in edges)
        same = Graph(dict(enumerate(labels)), edges, directed=kind is networkx.DiGraph)
        for stage in (WeisfeilerLehman(2), ShortestPaths()):
            assert np.array_equal(*(rows.toarray() for rows in (stage.transform([graph]), stage.transform([same]))))


OBJECTS: dict[str, tuple[Any, list[Any]]] = {
    "Spectrum": (Spectrum(2, n_features=64), STRINGS * 2),
    "tokens": (Spectrum(1, n_features=64), [list(string) for string in STRINGS] * 2),
    "WeisfeilerLehman": (WeisfeilerLehman(2, 64), GRAPHS * 2),
    "dicts": (WeisfeilerLehman(2, 64), [{"nodes": nodes, "edges": edges} for nodes, edges in GRAPHS] * 2),
    "ShortestPaths": (ShortestPaths(64), [Graph(dict(enumerate(labels)), edges) for labels, edges in GRAPHS] * 2),
    "Subtrees": (Subtrees(n_features=64), TREES * 2),
}


def model_of(stage: Any, learner: Any = None) -> Any:
    return pipeline(stage.copy(), AROWClassifier(classes=["no", "yes"]) if learner is None else learner)


@pytest.mark.plain
@pytest.mark.parametrize("name", OBJECTS)
def test_cuts_saving_and_single_objects_do_not_matter(name: str, tmp_path: Path) -> None:
    stage, X = OBJECTS[name]
    y = np.array(["yes", "no", "no"])[RNG.integers(0, 3, len(X))]
    whole = model_of(stage).partial_fit(X, y)
    model = model_of(stage).partial_fit(X[:5], y[:5])
    for x, label in zip(X[5:9], y[5:9], strict=True):
        model.learn_one(x, label)
    model.save(tmp_path / "model")
    model = load(tmp_path / "model")
    scores = model.test_then_train(X[9:], y[9:])
    assert [snapshot(step) for _, step in model.steps] == [snapshot(step) for _, step in whole.steps]
    again = model_of(stage).partial_fit(X[:9], y[:9])
    for t in range(9, len(X)):
        assert again.decision_function(X[t : t + 1])[0] == scores[t - 9]
        again.learn_one(X[t], y[t])
    assert [model.predict_one(x) for x in X] == model.predict(X).tolist()
    assert np.array_equal(stage.transform(X).toarray(), np.vstack([stage.transform_one(x).toarray() for x in X]))
    assert stage.transform(X[:0]).shape == (0, 64)


@pytest.mark.plain
@pytest.mark.parametrize("name", OBJECTS)
def test_parts_are_called_what_they_are(name: str) -> None:
    stage, X = OBJECTS[name]
    for wide in (False, True):
        stage = stage.copy().set_params(n_features=2**20 if wide else 3)
        model = model_of(stage, PAClassifier(classes=[0, 1])).fit(X, np.arange(len(X)) % 2)
        for x in X:
            said = model.explain_one(x, 1)
            assert np.isclose(sum(said.contributions.values()) + said.bias, model.decision_function([x])[0])


PARTED = (["C", "N", "O", "O"], [(0, 1), (2, 3)])
SMALL: list[
    tuple[Any, list[Any], list[int]]
] = [  # objects, and how long their rows are: 1, or 0 where there is nothing to count
    (Spectrum(3), ["", "ab", "abc"], [0, 0, 1]),
    (Spectrum(3, 1, "abc"), ["", "ab", "abc"], [0, 0, 1]),
    (Spectrum(3, blended=True), ["", "ab"], [0, 1]),
    (WeisfeilerLehman(3), [([], []), (["C"], []), (["C", "N"], []), PARTED], [0, 1, 1, 1]),
    (ShortestPaths(), [([], []), (["C"], []), (["C", "N"], []), PARTED], [0, 0, 0, 1]),
    (Subtrees(), ["x", "(S)", "(S x)"], [1, 1, 1]),
    (Subtrees(leaves=False), ["x", "(S)", "(S x)"], [0, 0, 1]),
]


@pytest.mark.plain
@pytest.mark.parametrize(("stage", "X", "lengths"), SMALL)
def test_objects_with_little_in_them(stage: Any, X: list[Any], lengths: list[int]) -> None:
    """Empty, too short, of one node, without edges: rows of unit length or of nothing, never NaN, and learners take them."""
    rows = stage.transform(X)
    np.testing.assert_allclose(np.sqrt((rows * rows).sum(axis=1)), lengths)
    for learner in (PAClassifier(), AROWClassifier(), KernelPA(kernel="linear", budget=2)):
        model = model_of(stage, learner).fit(X * 2, np.arange(2 * len(X)) % 2)
        assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.plain
def test_parts_of_a_graph_that_nothing_joins() -> None:
    """Their counts add up, and no path leads from one to another."""
    for stage in (WeisfeilerLehman(2, normed=False), ShortestPaths(normed=False)):
        whole, one, other = stage.transform([PARTED, (["C", "N"], [(0, 1)]), (["O", "O"], [(0, 1)])]).toarray()
        assert np.array_equal(whole, one + other)


@pytest.mark.plain
def test_letters_are_code_points() -> None:
    """A letter and a mark are not the letter that both make together; an emoji with a tone has two."""
    composed, apart = "\u00e9", "e\u0301"
    assert products(Spectrum(1), [composed, apart])[0, 1] == 0
    assert np.array_equal(products(Spectrum(1, normed=False), ["👍🏽", "👍"]), [[2, 1], [1, 1]])
    assert products(Subtrees(), [f"(S {composed})", f"(S {apart})"])[0, 1] == 0


def test_names_of_parts() -> None:
    def names(stage: Any, x: Any) -> set[str]:
        return set(stage._called(stage._latest(), [x], None).values())

    assert names(Spectrum(2), "abab") == {"ab", "ba"}
    assert names(Spectrum(2, 1, "ab"), "ab") == {"ab", "bb", "aa"}
    assert names(Spectrum(2), ["to", "be", 3]) == {"to be", "be 3"}
    assert names(WeisfeilerLehman(2), (["C", "N"], [(0, 1)])) == {"C", "N", "C(N)", "N(C)", "C(N) 2", "N(C) 2"}
    assert names(ShortestPaths(), (["C", "N"], [(0, 1)])) == {"C - N: 1", "N - C: 1"}
    assert names(Subtrees(), "(S (NP it) is)") == {"it", "is", "(NP it)", "(S (NP it) is)"}


@pytest.mark.plain
@pytest.mark.parametrize("name", OBJECTS)
def test_what_runs_models_takes_objects(name: str) -> None:
    stage, X = OBJECTS[name]
    y = (np.arange(len(X)) % 3 == 0).astype(int)
    result = prequential(model_of(stage, PAClassifier()), (X, y))
    assert result.n == len(X)
    active = ActiveLearner(model_of(stage, PAClassifier(classes=[0, 1])), random_state=0).partial_fit(X, y)
    active.learn_one(X[-1], 1)
    assert active.predict_one(X[-1]) in (0, 1)
    budget = model_of(stage, KernelPA(kernel="linear", budget=4)).fit(X, y)
    assert budget.predict(X).shape == (len(X),)


# --- what is refused ---

BAD: list[tuple[Any, Any, str]] = [
    (Spectrum(), 3, "example 0 is int"),
    (Spectrum(), {"a": 1}, "example 0 is dict"),
    (Spectrum(), [["a"]], "label must be a text or a number"),
    (Spectrum(), ["a", None], "label must be a text or a number"),
    (WeisfeilerLehman(), "abc", "it is str"),
    (WeisfeilerLehman(), 7, "it is int"),
    (WeisfeilerLehman(), (["C"], [], []), "a tuple of 3"),
    (WeisfeilerLehman(), (["C"], [(0, 1)]), "leads to 1, which is none of its nodes"),
    (WeisfeilerLehman(), (["C"], [(0, -1)]), "leads to -1"),
    (WeisfeilerLehman(), ({"a": "C"}, [("a", "b")]), "leads to 'b'"),
    (WeisfeilerLehman(), ["a-b"], "an edge is a text"),
    (WeisfeilerLehman(), [(0, 1), (1, 2, "x")], "others have none"),
    (WeisfeilerLehman(), [(0, 1, 2, 3)], "an edge has 4 parts"),
    (WeisfeilerLehman(), [3], "not iterable"),
    (WeisfeilerLehman(), [([1], [2])], "unhashable"),
    (WeisfeilerLehman(), {"vertices": []}, "a dict with 'vertices'"),
    (WeisfeilerLehman(), ([None], []), "label must be a text or a number"),
    (ShortestPaths(), None, "ShortestPaths takes graphs, and example 0 is none: it is NoneType"),
    (Subtrees(), "", "Tree 0 has no nodes"),
    (Subtrees(), "(S (NP)", "an opening bracket without a closing one"),
    (Subtrees(), "(S))", "a closing bracket without an opening one, at letter 3"),
    (Subtrees(), "(S) (S)", "goes on after its end: a tree has one root, at letter 4"),
    (Subtrees(), ["S", "NP"], "example 0 is list"),
    (Subtrees(), Tree("S", [None]), "label must be a text or a number"),
]


@pytest.mark.plain
@pytest.mark.parametrize(("stage", "bad", "said"), BAD)
def test_bad_objects_change_nothing(stage: Any, bad: Any, said: str) -> None:
    good = next(X[-1] for other, X in OBJECTS.values() if type(other) is type(stage))
    model = model_of(stage, PAClassifier()).fit([good] * 2, [0, 1])
    before = [snapshot(step) for _, step in model.steps]
    for call in (model.predict_one, lambda x: model.learn_one(x, 1), lambda x: model.partial_fit([x], [1])):
        with pytest.raises((TypeError, ValueError), match=said):
            call(bad)
    with pytest.raises((TypeError, ValueError), match=r"(example|Tree) 1|label must be"):
        model.partial_fit([good, bad], [0, 1])
    assert [snapshot(step) for _, step in model.steps] == before


@pytest.mark.plain
@pytest.mark.parametrize(
    ("stage", "single"),
    [
        (Spectrum(), "abc"),
        (Spectrum(), b"abc"),
        (WeisfeilerLehman(), Graph({}, [])),
        (WeisfeilerLehman(), {"edges": []}),
        (Subtrees(), Tree("S", [])),
        (Subtrees(), import_module("pandas").DataFrame({"tree": ["(S)"]})),
    ],
)
def test_a_single_object_is_no_table(stage: Any, single: Any) -> None:
    with pytest.raises(TypeError, match=r"takes a list or a column of"):
        stage.transform(single)


@pytest.mark.parametrize(
    "stage", [Spectrum(0), Spectrum(2, 1), Spectrum(20, 9, "acgt"), WeisfeilerLehman(-1), Subtrees(0.0), Subtrees(1.5)]
)
def test_bad_parameters_are_refused(stage: Any) -> None:
    with pytest.raises(ValueError, match=r"alphabet|words are near|parameter of"):
        stage.fit([])


def test_columns_of_frames_are_taken() -> None:
    pandas, polars = import_module("pandas"), import_module("polars")
    expected = Spectrum(1).transform(["ab", ""]).toarray()
    for column in (pandas.Series(["ab", None]), polars.Series(["ab", None]), np.array(["ab", ""])):
        assert np.array_equal(Spectrum(1).transform(column).toarray(), expected)


@pytest.mark.plain
def test_a_tree_may_be_deep() -> None:
    deep = "x"
    for _ in range(3000):
        deep = Tree("S", [deep])
    text = "(S " * 3000 + "x" + ")" * 3000
    assert np.array_equal(Subtrees(1.0).transform([text]).data, Subtrees(1.0).transform([deep]).data)


# --- how good ---


def test_questions_are_sorted_by_their_trees() -> None:
    """Support vector machines on tree kernels have 88 to 91 %."""
    (trees, labels), (test, answers) = map(questions, ("question-trees.klp", "question-trees.t.klp"))
    model = pipeline(Subtrees(), AROWClassifier(max_iter=5)).fit(trees, labels)
    assert model.score(test, answers) >= 0.88


def questions(name: str) -> tuple[list[str], list[str]]:
    lines = dataset_file(name).splitlines()
    return [line.split("|BT:grct| ")[1].split(" |ET|")[0] for line in lines], [line.split(" ")[0] for line in lines]

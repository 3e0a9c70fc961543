"""Objects that kernel learners keep: kernels by definition and as others compute them, and what learners make of them."""

from __future__ import annotations

from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import onepass
from onepass import (
    BSGD,
    KernelPA,
    PAClassifier,
    PartialTrees,
    RandomWalks,
    Spectrum,
    StandardScaler,
    Subsequences,
    SubsetTrees,
    UnitNorm,
    load,
    pipeline,
)
from onepass.compiled.objects import HEADER, PARTIAL_TREES, PLAIN, RANDOM_WALKS, SUBSET_TREES
from shared import dataset_file, golden, snapshot

RNG = np.random.default_rng(0)
Tree = tuple[str, list[Any]]


def drawn_tree(depth: int = 3) -> Tree:
    children = 0 if depth == 0 else int(RNG.integers(0 if depth < 3 else 1, 4))
    return str(RNG.choice(["S", "NP", "x"])), [drawn_tree(depth - 1) for _ in range(children)]


def written(tree: Tree) -> str:
    return f"({' '.join([tree[0], *map(written, tree[1])])})"


STRINGS = ["", "a", "é", *("".join(RNG.choice(list("abé"), RNG.integers(1, 11))) for _ in range(9))]
GRAPHS: list[Any] = [([], []), (["C"], []), (["C", "C"], [(0, 0)])]
for size in RNG.integers(2, 6, 7).tolist():
    some = [(i, j) for i in range(size) for j in range(i) if RNG.random() < 0.5]
    GRAPHS.append((RNG.choice(["C", "Cl"], size).tolist(), some))
TREES = [("x", []), ("S", []), *(drawn_tree() for _ in range(10))]


# --- kernels by definition ---


def subsequences(s: str, t: str, n: int, decay: float) -> float:
    def places(x: str) -> list[tuple[str, int]]:
        return [("".join(x[i] for i in chosen), chosen[-1] - chosen[0] + 1) for chosen in combinations(range(len(x)), n)]

    return sum(decay ** (span + other) for u, span in places(s) for v, other in places(t) if u == v)


def nodes_of(tree: Tree) -> list[Tree]:
    return [tree, *(node for child in tree[1] for node in nodes_of(child))]


def subset_trees(a: Tree, b: Tree, decay: float, leaves: bool) -> float:
    def common(a: Tree, b: Tree) -> float:
        if (a[0], [c[0] for c in a[1]]) != (b[0], [c[0] for c in b[1]]):
            return 0.0
        if not a[1]:
            return decay if leaves else 0.0
        return decay * prod(1 + (common(c, d) if c[1] and d[1] else 0.0) for c, d in zip(a[1], b[1], strict=True))

    return sum(common(u, v) for u in nodes_of(a) for v in nodes_of(b))


def partial_trees(a: Tree, b: Tree, decay: float, depth: float, terminal: float) -> float:
    def skipped(chosen: tuple[int, ...]) -> int:
        return chosen[-1] - chosen[0] + 1 - len(chosen)

    def common(a: Tree, b: Tree) -> float:
        if a[0] != b[0]:
            return 0.0
        if not a[1] or not b[1]:
            return depth * decay**2 * terminal
        pairs = [
            decay ** (skipped(chosen) + skipped(others))
            * prod(common(a[1][i], b[1][j]) for i, j in zip(chosen, others, strict=True))
            for p in range(1, min(len(a[1]), len(b[1])) + 1)
            for chosen in combinations(range(len(a[1])), p)
            for others in combinations(range(len(b[1])), p)
        ]
        return depth * (decay**2 + sum(pairs))

    return sum(common(u, v) for u in nodes_of(a) for v in nodes_of(b))


def random_walks(a: Any, b: Any, weight: float, steps: int | None, exponential: bool) -> float:
    (labels, edges), (others, links) = a, b

    def adjacency(n: int, pairs: Any) -> np.ndarray:
        return np.array([[float((i, j) in pairs or (j, i) in pairs) for j in range(n)] for i in range(n)]).reshape(n, n)

    same = np.array([u == v for u in labels for v in others], float)
    both = np.kron(adjacency(len(labels), edges), adjacency(len(others), links)) * np.outer(same, same)
    ones, total, term = np.ones(len(both)), 0.0, np.ones(len(both))
    for k in range(1, 400 if steps is None else steps + 2):
        total += float(ones @ term)
        term = weight / (k if exponential else 1) * both @ term
    return total


CASES: dict[str, tuple[Any, Any, Any]] = {
    **{
        f"subsequences {n} {decay}": (
            Subsequences(n, decay),
            STRINGS,
            lambda a, b, n=n, decay=decay: subsequences(a, b, n, decay),
        )
        for n, decay in [(1, 0.5), (2, 0.5), (3, 0.9), (5, 1.0)]
    },
    **{
        f"subset trees {leaves}": (SubsetTrees(0.4, leaves), TREES, lambda a, b, leaves=leaves: subset_trees(a, b, 0.4, leaves))
        for leaves in (True, False)
    },
    **{
        f"partial trees {decay}": (
            PartialTrees(decay, 0.3, terminal),
            TREES,
            lambda a, b, decay=decay, terminal=terminal: partial_trees(a, b, decay, 0.3, terminal),
        )
        for decay, terminal in [(0.4, 1.0), (0.8, 5.0)]
    },
    **{
        f"random walks {weight} {steps} {series}": (
            RandomWalks(weight, steps, series),
            GRAPHS,
            lambda a, b, w=weight, k=steps, series=series: random_walks(a, b, w, k, series == "exponential"),
        )
        for weight, steps, series in [(0.05, None, "geometric"), (1.0, 3, "geometric"), (0.5, None, "exponential")]
    },
}


@pytest.mark.plain
@pytest.mark.compiled
@pytest.mark.parametrize("name", CASES)
def test_the_kernel_is_what_it_is_said_to_be(name: str) -> None:
    stage, X, kernel = CASES[name]
    expected = np.array([[kernel(a, b) for b in X] for a in X])
    assert expected.any()
    given = [written(tree) for tree in X] if X is TREES else X
    np.testing.assert_allclose(stage.set_params(normed=False).gram(given), expected, rtol=1e-12, atol=1e-15)
    lengths = np.sqrt(expected.diagonal())
    lengths[lengths == 0] = 1.0
    np.testing.assert_allclose(
        stage.set_params(normed=True).gram(given), expected / np.outer(lengths, lengths), rtol=1e-11, atol=1e-15
    )


# --- what other systems compute ---


def test_subsequences_as_python_ssk() -> None:
    said = golden("string_kernels.json")["ssk"]
    promoters = ["".join(line.split(",")[1:-1]) for line in dataset_file("promoters.csv").splitlines()]
    cases = said["words"] + [[promoters[i], promoters[j], *rest] for i, j, *rest in said["promoters"]["values"]]
    assert len(cases) > 100
    for s, t, n, decay, value in cases:
        assert np.isclose(Subsequences(n, decay, normed=False).gram([s, t])[0, 1], value, rtol=1e-11, atol=1e-12)
    for s, t, n, decay, value in said["sums_over_lengths"]["values"]:
        found = sum(Subsequences(length, decay, normed=False).gram([s, t])[0, 1] for length in range(1, n + 1))
        assert np.isclose(found, value, rtol=1e-11)


def test_subsequences_of_the_paper() -> None:
    """Section 6 of the paper, to its three digits."""
    strings = ["science is organized knowledge", "wisdom is organized life"]
    found = [Subsequences(n, 0.5).gram(strings)[0, 1] for n in range(2, 7)]
    np.testing.assert_allclose(found, [0.580, 0.478, 0.439, 0.406, 0.369], atol=5e-4)


def test_partial_trees_as_kelp() -> None:
    lines = dataset_file("question-trees.t.klp").splitlines()
    trees = [line.split("|BT:grct| ")[1].split(" |ET|")[0] for line in lines]
    products = PartialTrees(0.4, 0.4, 5.0).gram(trees)
    np.testing.assert_allclose(products.diagonal(1), golden("tree_kernel_ptk.txt"), atol=1e-5)


def test_random_walks_as_grakel() -> None:
    kernels, graphs = golden("graph_kernels.json")["kernels"], list[Any]()
    for line in dataset_file("mutag.klp").splitlines()[:30]:
        nodes, _, edges = line.split("|BG:inline|")[1].removesuffix("|EG|").partition("%%")
        graphs.append((dict(node.split() for node in nodes.split("&&")), [tuple(edge.split()) for edge in edges.split("&&")]))
    bare = [edges for _, edges in graphs]
    for name, given, stage in [
        ("rw_geometric_0.05", bare, RandomWalks(0.05)),
        ("rw_labels_geometric_0.05", graphs, RandomWalks(0.05)),
        ("rw_labels_geometric_0.1", graphs, RandomWalks(0.1)),
        ("rw_steps4_0.1", bare, RandomWalks(0.1, 4)),
        ("rw_labels_steps4_0.1", graphs, RandomWalks(0.1, 4)),
        ("rw_exponential_0.1", bare, RandomWalks(0.1, series="exponential")),
    ]:
        found = stage.set_params(normed=False).gram(given)[np.triu_indices(30)]
        np.testing.assert_allclose(found, kernels[name]["values"], rtol=1e-10)


def test_walks_without_an_end_are_refused() -> None:
    """The largest eigenvalue of a triangle is 2."""
    triangle, pair = [(0, 1), (1, 2), (2, 0)], [(0, 1)]
    with pytest.raises(ValueError, match=r"In graph 1 .* take one below 0\.25, or limit the `steps`"):
        RandomWalks(0.25).transform([pair, triangle])
    assert np.isclose(RandomWalks(0.2, normed=False).gram([triangle])[0, 0], 9 / (1 - 0.2 * 4))
    assert RandomWalks(0.25, steps=2).transform([triangle]).shape[0] == 1


# --- what learners make of them ---

OBJECTS: dict[str, tuple[Any, list[Any]]] = {
    "Subsequences": (Subsequences(2), STRINGS * 2),
    "tokens": (Subsequences(1), [[letter * 3 for letter in string] for string in STRINGS] * 2),
    "SubsetTrees": (SubsetTrees(), [written(tree) for tree in TREES] * 2),
    "PartialTrees": (PartialTrees(), [written(tree) for tree in TREES] * 2),
    "RandomWalks": (RandomWalks(), GRAPHS * 2),
}
LEARNERS = sorted(name for name, cls in onepass.learners().items() if "kernel" in cls().get_params())


def labels_for(X: list[Any], kind: str = "classes") -> Any:
    y = np.arange(len(X)) % 3
    return y.astype(float) if kind == "numbers" else y


@pytest.mark.plain
@pytest.mark.parametrize("name", LEARNERS)
def test_every_kernel_learner_learns_as_from_given_values(name: str) -> None:
    """The kernel of a stage and the same values, given, lead to the same scores."""
    stage, X = OBJECTS["PartialTrees"]
    cls, y = onepass.learners()[name], labels_for(X, "numbers" if name.endswith("Regressor") else "classes")
    options: dict[str, Any] = {"budget": 6} if "budget" in cls().get_params() else {}
    options |= {"maintenance": "project"} if name == "BSGD" else {}
    options |= {"random_state": 0} if "random_state" in cls().get_params() else {}
    model = pipeline(stage.copy(), cls(kernel="structure", **options)).fit(X, y)
    given = cls(kernel="precomputed", **options).fit(stage.gram(X), y)
    assert model.learner.support_size_ == given.support_size_ > 0
    np.testing.assert_allclose(scores(model, X), scores(given, stage.gram(X)), rtol=1e-7, atol=1e-9)


def scores(model: Any, X: Any) -> Any:
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


@pytest.mark.plain
@pytest.mark.parametrize("name", OBJECTS)
def test_cuts_saving_and_single_objects_do_not_matter(name: str, tmp_path: Path) -> None:
    stage, X = OBJECTS[name]
    y = labels_for(X)

    def fresh() -> Any:
        return pipeline(stage.copy(), KernelPA(kernel="structure", classes=[0, 1, 2], budget=5, average=True, random_state=0))

    whole = fresh().partial_fit(X, y)
    model = fresh().partial_fit(X[:5], y[:5])
    for x, label in zip(X[5:9], y[5:9], strict=True):
        model.learn_one(x, int(label))
    model.save(tmp_path / "model")
    model = load(tmp_path / "model")
    scores = model.test_then_train(X[9:], y[9:])
    assert [snapshot(step) for _, step in model.steps] == [snapshot(step) for _, step in whole.steps]
    again = fresh().partial_fit(X[:9], y[:9])
    for t in range(9, len(X)):
        assert np.array_equal(again.decision_function(X[t : t + 1])[0], scores[t - 9])
        again.learn_one(X[t], int(y[t]))
    assert [model.predict_one(x) for x in X] == model.predict(X).tolist()


SMALL: list[tuple[Any, list[Any], list[int]]] = [  # objects, and their value with themselves: 1, or 0 where nothing is counted
    (Subsequences(3), ["", "ab", "abc", "e\u0301a", "\u00e9a"], [0, 0, 1, 1, 0]),
    (SubsetTrees(), ["x", "(S)", "(S x)"], [1, 1, 1]),
    (SubsetTrees(leaves=False), ["x", "(S x)"], [0, 1]),
    (PartialTrees(), ["x", "(S)", "(S x)"], [1, 1, 1]),
    (RandomWalks(0.1), [([], []), (["C"], []), (["C", "N"], []), (["C", "N", "O"], [(0, 1)])], [0, 1, 1, 1]),
]


@pytest.mark.plain
@pytest.mark.parametrize(("stage", "X", "own"), SMALL)
def test_objects_with_little_in_them(stage: Any, X: list[Any], own: list[int]) -> None:
    """Empty, too short, of one node, without edges: values are 1, 0 or between, never NaN, and learners take them."""
    values = stage.gram(X)
    np.testing.assert_allclose(values.diagonal(), own)
    assert ((values >= 0) & (values <= 1 + 1e-12)).all()
    for learner in (KernelPA(kernel="structure", budget=2), BSGD(kernel="structure", budget=2, maintenance="project")):
        model = pipeline(stage.copy(), learner).fit(X * 2, np.arange(2 * len(X)) % 2)
        assert np.isfinite(model.decision_function(X)).all()


# --- what is refused ---


@pytest.mark.plain
def test_objects_are_for_learners_that_take_them() -> None:
    for steps in (
        [Subsequences(), PAClassifier()],
        [Subsequences(), KernelPA()],
        [Subsequences(), UnitNorm(), KernelPA(kernel="structure")],
        [Spectrum(), KernelPA(kernel="structure")],
        [StandardScaler(), KernelPA(kernel="structure")],
    ):
        with pytest.raises(ValueError, match=r"Put a stage like onepass\.Subsequences before"):
            pipeline(*steps).fit(["ab", "ba"], [0, 1])
    with pytest.raises(ValueError, match="takes objects, not rows of numbers"):
        KernelPA(kernel="structure").fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(ValueError, match="Row 0 of X is no object"):
        KernelPA(kernel="structure").fit(csr_array([[1.0], [2.0]]), [0, 1])
    with pytest.raises(ValueError, match="merge"):
        pipeline(Subsequences(), BSGD(kernel="structure")).fit(["ab", "ba"], [0, 1])
    with pytest.raises(AttributeError, match="have no features"):
        Subsequences().get_feature_names_out()


@pytest.mark.plain
@pytest.mark.parametrize("n", [3, 300])
def test_objects_for_another_kernel_change_nothing(n: int) -> None:
    learner = KernelPA(kernel="structure").fit(Subsequences(2).transform(["ab", "ba", "bb"]), [0, 1, 0])
    before = snapshot(learner)
    other = Subsequences(2).transform(["ab"]).copy()
    other.data = np.where(np.arange(len(other.data)) == 2, float(n), other.data)
    for call in (learner.predict, lambda X: learner.partial_fit(X, [0])):
        with pytest.raises(ValueError, match="Row 0 of X is no object for the kernel of those before it"):
            call(other)
    assert snapshot(learner) == before


@pytest.mark.plain
@pytest.mark.parametrize("kind", [SUBSET_TREES, PARTIAL_TREES])
def test_what_is_no_tree_is_refused(kind: int) -> None:
    """Rows may come from anywhere: nothing in them may lead out of an array."""
    good = [5.0, 6.0, 7.0, 1.0, 1.0, 3.0, 1.0, 1.0, 3.0]  # two leaves and their parent: symbols, sizes, children + 1
    header = [float(kind), float(PLAIN), 0.5, 1.0, 1.0]
    assert len(header) == HEADER

    def row(body: list[float]) -> csr_array:
        values = np.array(header + body)
        return csr_array((values, np.arange(len(values)), [0, len(values)]), shape=(1, 2**20))

    learner = KernelPA(kernel="structure", classes=[0, 1]).partial_fit(row(good), [1])
    for place in range(3, 9):
        for wrong in (-1.0, 2.0, 1e9, 1e300, 0.5):
            bad = [*good[:place], wrong, *good[place + 1 :]]
            if wrong != good[place]:
                with pytest.raises(ValueError, match="no object"):
                    learner.predict(row(bad))
    with pytest.raises(ValueError, match="no object"):
        learner.predict(row(good[:-1]))


@pytest.mark.plain
def test_what_is_no_graph_is_refused() -> None:
    good = [
        3.0,
        5.0,
        6.0,
        2.0,
        2.0,
        2.0,
        1.0,
    ]  # two nodes and an edge: nodes + 1, symbols, neighbours + 1, and each of them + 1
    header = [float(RANDOM_WALKS), float(PLAIN), 0.1, 2.0, 1.0]

    def row(body: list[float]) -> csr_array:
        values = np.array(header + body)
        return csr_array((values, np.arange(len(values)), [0, len(values)]), shape=(1, 2**20))

    learner = KernelPA(kernel="structure", classes=[0, 1]).partial_fit(row(good), [1])
    assert learner.predict(row(good)).shape == (1,)
    for place in (0, 3, 4, 5, 6):
        for wrong in (-1.0, 9.0, 1e9, 1e300, 0.5):
            with pytest.raises(ValueError, match="no object"):
                learner.predict(row([*good[:place], wrong, *good[place + 1 :]]))
    for body in (good[:-1], [*good, 1.0], []):
        with pytest.raises(ValueError, match="no object"):
            learner.predict(row(body))


@pytest.mark.plain
def test_bad_objects_change_nothing() -> None:
    model = pipeline(SubsetTrees(), KernelPA(kernel="structure")).fit(["(S a)", "(S b)"], [0, 1])
    before = [snapshot(step) for _, step in model.steps]
    for bad in ("(S", 3, None):
        with pytest.raises((TypeError, ValueError), match=r"SubsetTrees takes trees|Tree 0 has an opening"):
            model.learn_one(bad, 1)
    assert [snapshot(step) for _, step in model.steps] == before
    strings = pipeline(Subsequences(), KernelPA(kernel="structure")).fit(["ab", "ba"], [0, 1])
    with pytest.raises(TypeError, match="Subsequences takes strings or lists of tokens, and example 1 is int"):
        strings.partial_fit(["a", 3], [0, 1])


@pytest.mark.parametrize(
    "stage", [Subsequences(0), Subsequences(257), Subsequences(2, 0.0), SubsetTrees(1.5), PartialTrees(0.4, 0.4, 0.0)]
)
def test_bad_parameters_are_refused(stage: Any) -> None:
    with pytest.raises(ValueError, match="parameter of"):
        stage.fit([])

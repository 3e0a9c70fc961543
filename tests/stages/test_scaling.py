"""Scaling of dicts: the features of the first are columns of a table, those that come up later are not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import onepass
from onepass import Imputer, PAClassifier, StandardScaler, pipeline

plain = pytest.mark.plain
RNG = np.random.default_rng(7)
X = (RNG.normal(3.0, [1.0, 10.0, 0.1, 2.0], (60, 4)) * (RNG.random((60, 4)) < 0.8)).round(3)
X[0] = [3.0, -2.0, 3.1, 1.0]
Y = X @ [1.0, 0.1, 3.0, -1.0] > 8


def dicts(rows: Any, zeros: bool) -> list[dict[str, float]]:
    return [{f"f{j}": value for j, value in enumerate(row) if value or zeros} for row in rows.tolist()]


@plain
@pytest.mark.parametrize(
    ("stages", "zeros"),
    [([], False), ([], True), ([Imputer()], False), ([Imputer()], True), ([Imputer(indicator=True)], True)],
    ids=str,
)
def test_dicts_are_scaled_as_arrays(stages: list[Any], zeros: bool) -> None:
    """Up to the order in which dense and sparse sums are added up. An absent feature has no indicator: with those, zeros are told."""
    table, named, single = (pipeline(*[stage.copy() for stage in stages], StandardScaler(), PAClassifier()) for _ in range(3))
    told = table.test_then_train(X, Y, classes=[False, True])
    again = named.test_then_train(dicts(X, zeros), Y, classes=[False, True])
    np.testing.assert_allclose(again, told, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(named[-2].mean_, table[-2].mean_, rtol=1e-13)
    np.testing.assert_allclose(named[-2].var_, table[-2].var_, rtol=1e-12)
    for x, y in zip(dicts(X, zeros), Y.tolist(), strict=True):
        single.learn_one(x, y)
    assert single.decision_function(dicts(X, zeros)).tolist() == named.decision_function(dicts(X, zeros)).tolist()
    assert [named.decision_function([x])[0] for x in dicts(X, zeros)] == named.decision_function(dicts(X, zeros)).tolist()


def naive(examples: list[dict[str, float]], far: float = math.inf) -> list[dict[str, float]]:
    """Each example scaled by those before it, in the plainest way; an absent feature is 0, and nothing is further away than `far`."""
    columns, scaled = list(examples[0]), []
    for t, x in enumerate(examples):
        now = {}
        for name in dict.fromkeys([*columns, *x]):
            past = [other.get(name, 0.0) for other in examples[:t]]
            deviation, value, centred = float(np.std(past or [0.0])), x.get(name, 0.0), name in columns
            if deviation > 0:
                z = (value - float(np.mean(past)) if centred else value) / deviation
                now[name] = max(-far, min(far, z))
            else:
                now[name] = 0.0 if centred else value
        scaled.append(now)
    return scaled


@plain
@pytest.mark.parametrize("clip", [None, 0.9])
def test_later_features_are_only_scaled(clip: float | None) -> None:
    examples = dicts(X[:30], False)
    for t in range(9, 30, 2):
        examples[t] |= {"late": 5.0 + t % 3, f"rare{t}": 2.0}
    scaler, shown, scaled = StandardScaler(clip=clip), [], naive(examples, clip or math.inf)
    for x in examples:
        shown.append(scaler.transform_one(x) if shown else dict.fromkeys(x, 0.0))
        scaler.learn_one(x)
    for t, (ours, theirs) in enumerate(zip(shown, scaled, strict=True)):
        assert ours.keys() | {"late", f"rare{t}"} == theirs.keys() | {
            "late",
            f"rare{t}",
        }  # `transform_one` leaves out what is new
        assert all(math.isclose(ours[name], theirs[name], rel_tol=1e-9, abs_tol=1e-12) for name in ours)
    block = StandardScaler(clip=clip).learn_transform(examples).toarray()
    assert [row[row != 0].size for row in block] == [sum(value != 0 for value in x.values()) for x in scaled]
    names = scaler.get_feature_names_out().tolist()
    for row, x in zip(block.tolist(), scaled, strict=True):
        assert row == pytest.approx([x.get(name, 0.0) for name in names], rel=1e-9, abs=1e-12)


@plain
def test_what_is_far_counts_as_being_at_the_bound() -> None:
    """A table: the same numbers, cut off; by whole and by halves; the moments are those of all numbers."""
    wild = X.copy()
    wild[40, 1] = 1e6
    plain_scaler, cut, halves = StandardScaler(), StandardScaler(clip=1.5), StandardScaler(clip=1.5)
    shown = plain_scaler.learn_transform(wild)
    assert cut.learn_transform(wild).tolist() == np.clip(shown, -1.5, 1.5).tolist()
    assert np.abs(shown).max() > 1e4
    parts = [halves.learn_transform(wild[:33]), halves.learn_transform(wild[33:])]
    assert np.concatenate(parts).tolist() == np.clip(shown, -1.5, 1.5).tolist()
    assert cut.mean_.tolist() == plain_scaler.mean_.tolist()
    assert cut.var_.tolist() == plain_scaler.var_.tolist()


@plain
def test_csr_stays_sparse_unless_a_table_came_first() -> None:
    rows = sp.csr_array(X)
    assert StandardScaler().fit(rows).transform(rows).nnz == rows.nnz
    of_table = StandardScaler().fit(X)
    np.testing.assert_allclose(of_table.transform(rows).toarray(), of_table.transform(X), rtol=1e-12, atol=1e-15)


@plain
def test_files_keep_what_is_a_column(tmp_path: Any) -> None:
    whole, first = (pipeline(StandardScaler(), PAClassifier()) for _ in range(2))
    examples = [{**x, "late": 1.5 + t % 2} if t > 20 else x for t, x in enumerate(dicts(X, False))]
    whole.partial_fit(examples, Y)
    first.partial_fit(examples[:30], Y[:30]).save(tmp_path / "model")
    second = onepass.load(tmp_path / "model").partial_fit(examples[30:], Y[30:])
    assert second.decision_function(examples).tolist() == whole.decision_function(examples).tolist()

"""What is measured of learners of structures: scores along their passes, how sure they are, what they ask for, what they choose."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from onepass.active import ActiveLearner
from onepass.evaluate.sequences import SENTENCE_METRICS, TREE_METRICS, count, count_arcs
from onepass.experiments.cells import Task
from onepass.experiments.lab import seeded
from onepass.structured import SequenceTagger

METRICS = {
    "accuracy": (count, SENTENCE_METRICS["accuracy"]),
    "F1": (count, SENTENCE_METRICS["entity_f1"]),
    "UAS": (count_arcs, TREE_METRICS["uas"]),
    "LAS": (count_arcs, TREE_METRICS["las"]),
}
PENALTIES = [10.0**k for k in range(-2, 4)]  # of the SVM
NEAR = 0.05  # how far a share may be from another that is said to be the same


@dataclass(frozen=True)
class Part:
    """One of the experiments: data, learners, how many passes they make and what is measured, in per cent."""

    title: str
    data: str
    learners: dict[str, Any]
    passes: int
    measures: tuple[str, ...] = ("accuracy",)
    folds: bool = False
    outputs: bool = False  # structured ones, and not classes
    shuffled: bool = True


def stamp_of(data: Sequence[Any]) -> str:
    """A stamp of objects and outputs of any kind."""
    return hashlib.blake2b(repr([list(part) for part in data]).encode(), digest_size=16).hexdigest()


def scores_of(part: Part, model: Any, X: Any, y: Any) -> list[float]:
    """How good a model is by each measure of a part, in per cent."""
    if not part.outputs:
        return [100 * float(model.score(X, y))]
    told = model.predict(X)
    return [100 * float(of(counted(y, told).sum(axis=0))) for counted, of in (METRICS[name] for name in part.measures)]


def learning(part: Part, learner: str, data: Sequence[Any], seed: int, shares: Sequence[float] = (1.0,)) -> Task:
    """Test scores of a learner after shares of its first pass, and after each pass, every one in another order."""
    fresh, (X, y, X_test, y_test), stamp = seeded(part.learners[learner], seed), data, stamp_of(data)

    def measure() -> dict[str, Any]:
        model, rng = clone(fresh), np.random.default_rng(seed)
        seen = sorted({max(round(share * len(X)), 1) for share in shares})
        scores, known = list[list[float]](), {} if part.outputs else {"classes": np.unique(y)}
        for ends in [seen, *[[len(X)]] * (part.passes - 1)]:
            order = rng.permutation(len(X)) if part.shuffled else np.arange(len(X))
            for begin, end in pairwise([0, *ends]):
                chosen = order[begin:end]
                model.partial_fit([X[i] for i in chosen], [y[i] for i in chosen], **known)
                scores.append(scores_of(part, model, X_test, y_test))
        return {"seen": seen, "start": scores[: len(seen)], "passes": scores[len(seen) - 1 :]}

    key = {
        "passes": repr(fresh),
        "of": part.data,
        "content": stamp,
        "count": part.passes,
        "seed": seed,
        "measures": part.measures,
        "shares": list(shares),
        "shuffled": part.shuffled,
    }
    return Task(key, measure)


def machine(part: Part, data: Sequence[Any]) -> Task:
    """The test score of an SVM with the same kernel, its C by cross-validation in what it learns from."""
    stage, (X, y, X_test, y_test), stamp = next(iter(part.learners.values()))[0], data, stamp_of(data)

    def measure() -> dict[str, Any]:
        rows, tested = (clone(stage).transform(objects) for objects in (X, X_test))
        found = GridSearchCV(SVC(kernel="precomputed"), {"C": PENALTIES}, cv=5).fit((rows @ rows.T).toarray(), y)
        return {"score": 100 * float(found.score((tested @ rows.T).toarray(), y_test)), "C": found.best_params_["C"]}

    return Task({"svm": repr(stage), "of": part.data, "content": stamp}, measure)


def shuffled(data: Sequence[Any], seed: int) -> tuple[list[Any], list[Any]]:
    """The examples to learn from, in an order of the seed."""
    X, y, *_ = data
    order = np.random.default_rng(seed).permutation(len(X))
    return [X[i] for i in order], [y[i] for i in order]


def sureness(
    tagger: Any, ways: Mapping[str, Mapping[str, Any]], shares: Sequence[float], data: Sequence[Any], seed: int
) -> Task:
    """How well each way to say how sure a tag is finds the wrong ones, after one pass: the average precision of the least sure. And
    how many of the tags that are as sure as `shares` say are right, in per cent; None where the way gives no shares."""
    fresh, (_, _, X_test, y_test), stamp = seeded(tagger, seed), data, stamp_of(data)

    def measure() -> dict[str, Any]:
        model = clone(fresh).partial_fit(*shuffled(data, seed))
        right = np.concatenate(
            [np.array(a, object) == np.array(b, object) for a, b in zip(y_test, model.predict(X_test), strict=True)]
        )
        found = {}
        for name, way in ways.items():
            sure = np.concatenate(model.predict_confidence(X_test, **way))
            near = [right[np.abs(sure - share) <= NEAR] for share in shares if name != "lead"]
            found[name] = {
                "precision": float(average_precision_score(~right, -np.minimum(sure, np.finfo(float).max))),
                "right": [100 * float(one.mean()) if len(one) else None for one in near],
            }
        return {"wrong": 100 * float(1 - right.mean()), "ways": found}

    key = {"sureness": repr(fresh), "ways": {name: dict(way) for name, way in ways.items()}, "shares": list(shares)}
    return Task({**key, "content": stamp, "seed": seed}, measure)


def asking(tagger: Any, delta: float, data: Sequence[Any], seed: int) -> Task:
    """One pass of a tagger that asks for sentences; of one that is given as many at random; and of one that is given as many words."""
    fresh, (_, _, X_test, y_test), stamp = seeded(tagger, seed), data, stamp_of(data)

    def measure() -> dict[str, Any]:
        X, y = shuffled(data, seed)
        asked, paid = ActiveLearner(fresh, delta=delta, random_state=seed), 0
        for x, tags in zip(X, y, strict=True):
            before = asked.asked_ if asked.__sklearn_is_fitted__() else 0
            asked.learn_one(x, tags)
            paid += len(x) * (asked.asked_ - before)
        words = np.cumsum([len(x) for x in X])
        ends = {"sentences": asked.asked_, "words": int(np.searchsorted(words, paid)) + 1, "all": len(X)}
        scores = {name: 100 * clone(fresh).partial_fit(X[:end], y[:end]).score(X_test, y_test) for name, end in ends.items()}
        shares = {"asked": 100 * asked.asked_ / len(X), "paid": 100 * paid / int(words[-1])}
        return {"active": 100 * asked.score(X_test, y_test), **scores, **shares}

    return Task({"asking": repr(fresh), "delta": delta, "content": stamp, "seed": seed}, measure)


def lists_of(taggers: Mapping[str, Any], X: Sequence[Any], y: Sequence[Any], n: int) -> tuple[list[Any], list[Any]]:
    """The n best tags of each sentence by the first tagger. Their features are what its score lacks to that of the best, and how far
    each tagger thinks its own best tags ahead, all a word; their quality is the share of right tags."""
    proposed = next(iter(taggers.values())).predict_n_best(X, n)
    opinions = [
        ({tag: k for k, tag in enumerate(model.classes_.tolist())}, model.max_marginals(X)) for model in taggers.values()
    ]
    H, mu = list[Any](), list[Any]()
    for t, candidates in enumerate(proposed):
        words = np.arange(len(y[t]))
        leads = [(places, marginals[t] - marginals[t].max(axis=1, keepdims=True)) for places, marginals in opinions]
        features = [
            [score - candidates[0][1], *(lead[words, [places[tag] for tag in tags]].sum() for places, lead in leads)]
            for tags, score in candidates
        ]
        H.append(np.array(features) / len(words))
        mu.append([float(np.mean(np.array(tags) == np.array(y[t]))) for tags, _ in candidates])
    return H, mu


def choosing(
    learners: Mapping[str, Any], views: Mapping[str, Sequence[str]], sizes: tuple[int, int, int], data: Sequence[Any], seed: int
) -> Task:
    """The quality of what learners choose from the lists of weak taggers, one for each view of a word. `sizes`: how many sentences
    the taggers learn from, how many other ones have lists to learn from, and how long a list is."""
    (_, _, X_test, y_test), stamp = data, stamp_of(data)
    fresh = {name: seeded(learner, seed) for name, learner in learners.items()}

    def measure() -> dict[str, Any]:
        (X, y), (weak, more, n) = shuffled(data, seed), sizes
        taggers = {
            name: SequenceTagger(templates=list(view), random_state=seed).fit(X[:weak], y[:weak])
            for name, view in views.items()
        }
        train = lists_of(taggers, X[weak : weak + more], y[weak : weak + more], n)
        H, mu = lists_of(taggers, X_test, y_test, n)
        found = {"first choice": [one[0] for one in mu], f"best of the {n}": [max(one) for one in mu]}
        for name, learner in fresh.items():
            told = clone(learner).partial_fit(*train).predict(H)
            best = [one[0] if np.ndim(one) else one for one in told]  # of a whole order, the first
            found[name] = [one[int(k)] for one, k in zip(mu, best, strict=True)]
        return {name: 100 * float(np.mean(one)) for name, one in found.items()}

    key = {"choosing": {name: repr(one) for name, one in fresh.items()}, "views": {name: list(v) for name, v in views.items()}}
    return Task({**key, "sizes": sizes, "content": stamp, "seed": seed}, measure)


def trees_on_the_way(parser: Any, sentence: Any, after: Sequence[int], data: Sequence[Any], seed: int) -> Task:
    """The heads of one sentence after so many others, in one pass."""
    fresh, stamp = seeded(parser, seed), stamp_of(data)

    def measure() -> dict[str, Any]:
        model, (X, y) = clone(fresh), shuffled(data, seed)
        found = list[list[int]]()
        for begin, end in pairwise([0, *after]):
            model.partial_fit(X[begin:end], y[begin:end])
            found.append([int(head) for head, _ in model.predict_one(sentence)])
        return {"heads": found}

    return Task(
        {"trees": repr(fresh), "sentence": repr(sentence), "after": list(after), "content": stamp, "seed": seed}, measure
    )

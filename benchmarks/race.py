"""The race: onepass against scikit-learn, river and Vowpal Wabbit on the same streams, in the same order, in one pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from river import ensemble, forest, linear_model, multiclass, optim, tree
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.neural_network import MLPClassifier

import onepass
from benchmarks.growth import Growth, all_growth
from benchmarks.peers import OnePass, Peer, River, Run, ScikitLearn, VowpalWabbit
from benchmarks.streams import Stream, all_streams, shuffled

# For each learner that takes a row at a time: in the first part, in the second, and for adaptive random forests, the best known there.
SHORT, LONG, FOREST = 1.5, 3.0, 8.0


@dataclass(frozen=True)
class Line:
    """One learner on one stream. `ours` is the error of onepass on the same rows, which may be fewer than the stream has."""

    learner: str
    library: str
    n: int
    error: float
    ours: float
    rate: float


@dataclass(frozen=True)
class Facts:
    """What to know of a stream before its errors are read. `repeated` is the error of saying the last label again, `common` that of
    always saying the most frequent one, and `shuffled` that of PA-I once the order is lost."""

    name: str
    about: str
    rows: int
    features: int
    classes: int
    repeated: float
    common: float
    shuffled: float


@dataclass(frozen=True)
class Results:
    facts: list[Facts] = field(default_factory=list)
    same: dict[str, list[Line]] = field(default_factory=dict)  # stream -> the learners that several libraries have
    best: dict[str, list[Line]] = field(default_factory=dict)  # stream -> the best that each can do
    growth: list[Growth] = field(default_factory=list)


# --- the learners that several libraries have, with the same settings ---


def for_river(make: Callable[[], Any]) -> Callable[[Stream], Any]:
    """river's linear learners know two classes; for more there is one for each."""
    return lambda stream: make() if stream.binary else multiclass.OneVsRestClassifier(make())


def scikit_learn_pa(variant: str) -> Any:
    return SGDClassifier(loss="hinge", penalty=None, learning_rate=variant, eta0=1.0)


def scikit_learn_logistic() -> Any:
    return SGDClassifier(loss="log_loss", penalty=None, learning_rate="invscaling", eta0=1.0, power_t=0.5)


def river_logistic() -> Any:
    def rate() -> Any:
        return optim.schedulers.InverseScaling(1.0, 0.5)

    return linear_model.LogisticRegression(optim.SGD(rate()), intercept_lr=rate())


PLAIN_STEPS = "--sgd -l 1 --power_t 0.5"  # gradient descent with steps of 1 / sqrt(t), and nothing of what it does by default

SAME: dict[str, list[Peer]] = {
    "PA-I": [
        OnePass(onepass.PAClassifier),
        ScikitLearn(lambda: scikit_learn_pa("pa1"), SHORT),
        River(for_river(lambda: linear_model.PAClassifier(C=1.0, mode=1)), SHORT),
    ],
    "PA-II": [
        OnePass(lambda: onepass.PAClassifier(variant="II")),
        ScikitLearn(lambda: scikit_learn_pa("pa2"), SHORT),
        River(for_river(lambda: linear_model.PAClassifier(C=1.0, mode=2)), SHORT),
    ],
    "perceptron": [
        OnePass(onepass.Perceptron),
        ScikitLearn(Perceptron, SHORT),
        River(for_river(linear_model.Perceptron), SHORT),
    ],
    "logistic regression": [
        OnePass(lambda: onepass.OGDClassifier(loss="log", rate=1.0, adagrad=False)),
        ScikitLearn(scikit_learn_logistic, SHORT),
        River(for_river(river_logistic), SHORT),
        VowpalWabbit(f"{PLAIN_STEPS} --loss_function logistic"),
    ],
    "hinge loss": [
        OnePass(lambda: onepass.OGDClassifier(loss="hinge", rate=1.0, adagrad=False)),
        VowpalWabbit(f"{PLAIN_STEPS} --loss_function hinge"),
    ],
    "ALMA": [
        OnePass(lambda: onepass.ALMA(normalize=False, fit_intercept=False)),
        River(for_river(linear_model.ALMAClassifier), SHORT),
    ],
}


def same_learners(stream: Stream) -> list[Line]:
    lines = []
    for learner, (first, *others) in SAME.items():
        ours = first.run(stream)
        lines.append(line(learner, first, ours, ours))
        lines += [line(learner, peer, peer.run(stream), ours) for peer in others]
    return lines


def line(learner: str, peer: Peer, run: Run, ours: Run) -> Line:
    return Line(learner, peer.library, run.n, run.error, ours.error_of_first(run.n), run.rate)


# --- the best that each can do, with the same settings on all streams ---


def scaled(make: Callable[[], Any]) -> OnePass:
    """onepass scales the rows itself, on the clock."""
    return OnePass(lambda: onepass.pipeline(onepass.StandardScaler(), make()), scaled=False)


class FourierSGD:
    """scikit-learn's random Fourier features and gradient descent, with the settings of FOGD: a pipeline of the two has no
    `partial_fit`."""

    def __init__(self) -> None:
        self.linear = SGDClassifier(loss="hinge", penalty=None, learning_rate="constant", eta0=0.5)

    def partial_fit(self, X: Any, y: Any, classes: Any) -> None:
        if not hasattr(self, "classes_"):
            self.features = RBFSampler(gamma=1 / X.shape[1], n_components=800, random_state=0).fit(X)
            self.classes_ = classes
        self.linear.partial_fit(self.features.transform(X), y, classes=classes)

    def predict(self, X: Any) -> Any:
        return self.linear.predict(self.features.transform(X))


def chosen_by_nobody(budget: str) -> OnePass:
    """A committee that scales the rows itself, and has the same members on all streams."""
    return OnePass(lambda: onepass.Auto(budget, random_state=0), scaled=False)


def trees(make: Callable[[], Any], seconds: float, scaled: bool = False) -> River:
    return River(lambda _: make(), seconds, scaled=scaled, zeros=True)


def boosted() -> Any:
    return ensemble.ADWINBoostingClassifier(tree.HoeffdingTreeClassifier(), seed=0)


BEST: dict[str, Peer] = {
    "Auto": chosen_by_nobody("best"),
    'Auto, budget="fast"': chosen_by_nobody("fast"),
    'PAMO, C="auto", averaged': scaled(lambda: onepass.PAMOClassifier(C="auto", average=True, random_state=0)),
    'PAMO, C="auto"': scaled(lambda: onepass.PAMOClassifier(C="auto", random_state=0)),
    'PA-I, C="auto"': scaled(lambda: onepass.PAClassifier(C="auto")),
    "AROW": scaled(onepass.AROWClassifier),
    "FOGD": scaled(lambda: onepass.FOGD(random_state=0)),
    "FOGD, averaged": scaled(lambda: onepass.FOGD(average=True, random_state=0)),
    "LocalPA": scaled(onepass.LocalPA),
    "SGD on Fourier features": ScikitLearn(FourierSGD, LONG),
    "MLP of 100": ScikitLearn(lambda: MLPClassifier(random_state=0), LONG),
    "adaptive random forest": trees(lambda: forest.ARFClassifier(seed=0), FOREST),
    "adaptive random forest, scaled rows": trees(lambda: forest.ARFClassifier(seed=0), FOREST, scaled=True),
    "Mondrian forest": trees(lambda: forest.AMFClassifier(seed=0), LONG),
    "ADWIN boosting of trees": trees(boosted, LONG),
    "adaptive Hoeffding tree": trees(lambda: tree.HoeffdingAdaptiveTreeClassifier(seed=0), LONG),
    "--boosting 10": VowpalWabbit("--loss_function logistic --boosting 10", scaled=False),
    "pairs of features, --nn 5": VowpalWabbit("--loss_function logistic --interactions :: --nn 5", scaled=False),
    "pairs of features, scaled rows": VowpalWabbit("--loss_function logistic --interactions ::"),
}


def best_of_each(stream: Stream) -> list[Line]:
    """All of them. `ours` is that of the learner of onepass that is best on the whole stream, also where the rows are fewer."""
    runs = {name: peer.run(stream) for name, peer in BEST.items()}
    ours = min((run for name, run in runs.items() if BEST[name].library == "onepass"), key=lambda run: run.error)
    return [line(name, BEST[name], run, ours) for name, run in runs.items()]


# --- all of it ---


def facts(stream: Stream) -> Facts:
    order = shuffled(len(stream))
    mixed = Stream(stream.name, stream.about, stream.X[order], stream.scaled[order], stream.y[order])
    return Facts(
        stream.name,
        stream.about,
        len(stream),
        stream.X.shape[1],
        len(stream.classes),
        100 * float((stream.y[1:] != stream.y[:-1]).mean()),
        100 * float((stream.y != np.bincount(stream.y).argmax()).mean()),
        SAME["PA-I"][0].run(mixed).error,
    )


def race() -> Results:
    results = Results()
    for stream in all_streams():
        results.facts.append(facts(stream))
        results.same[stream.name] = same_learners(stream)
        results.best[stream.name] = best_of_each(stream)
        for line in results.same[stream.name] + results.best[stream.name]:
            print(
                f"{stream.name:9} {line.learner:30} {line.library:14} {line.n:8,} rows {line.error:6.2f} % "
                f"(onepass {line.ours:6.2f} %) {line.rate:13,.0f} examples/s",
                flush=True,
            )
    results.growth.extend(all_growth())
    return results

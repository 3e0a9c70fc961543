"""Classifiers and regressors: what their targets are, and the methods that follow from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit, softmax
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_consistent_length, column_or_1d

from onepass.base.binding import Bound
from onepass.base.conventions import ClassifierMixin, RegressorMixin
from onepass.base.engine import Pieces
from onepass.base.estimator import are_named
from onepass.base.inputs import Rows, named_values, one_row
from onepass.base.knowledge import Door, Start
from onepass.base.labels import Coded, check_labels, classes_of, coded, declared_classes, encode_labels, label_array
from onepass.base.learner import Learner
from onepass.base.offering import offered_if
from onepass.base.parameters import NOT_NEGATIVE, among, parameter, parametric
from onepass.base.state import Array, Field, State
from onepass.compiled.calibration import OFFSET, RESERVE, calibrate_binary, calibrate_multiclass, probabilities
from onepass.compiled.calibration import START as PLATT_START
from onepass.compiled.checks import balance
from onepass.compiled.loop import Weights
from onepass.compiled.losses import ManyClasses, Targets, TwoClasses
from onepass.compiled.targets import Standardised

# What probabilities take: the numbers that all classes share, and those of each (`compiled/calibration.py`).
PLATT = {
    "platt": Field("5", start=PLATT_START, exact=True, beside=True),
    "platt_classes": Field("classes terms", exact=True, beside=True, late=True),
    "platt_squares": Field("classes terms", start=RESERVE, exact=True, beside=True, late=True),
}


@parametric
class Labelled(ClassifierMixin, Learner):
    """A learner of labels, which may be declared beforehand."""

    _: KW_ONLY
    classes: Any = parameter(None, "array-like", None, text="The labels, if they are known beforehand.")

    @property
    def classes_(self) -> Array:
        """The labels, sorted."""
        classes = self._attribute("classes_").classes
        assert classes is not None
        return classes

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from the rows in their order, once, going on from where the model is."""
        self._learn(X, y, sample_weight, table_door(X, classes))
        return self

    def test_then_train(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Array:
        """`partial_fit` that returns the scores each row had before it was learned from.

        (n,) for two classes, (n, K) otherwise, the columns in the order of `classes_`; NaN where a label was not yet known.
        Exactly what `decision_function` would have said of the row just then.
        """
        pieces = Pieces()
        with self._lock:
            self._learn(X, y, sample_weight, table_door(X, classes), pieces)
            return self._joined(pieces)


def table_door(X: Any, classes: Any = None) -> Door:
    """What a table can tell a fresh model: as in scikit-learn, arrays have all features, and labels are told. Dicts tell neither."""
    return Door(classes, labels_come=are_named(X), features_come=are_named(X))


@parametric
class Classifier(Labelled):
    """A learner of one label a row. Up to two classes have the form "binary" (one score; 0 and above is `classes_[1]`); more have the
    form "multiclass" (a score a class; the largest wins, the first among equals). A model whose labels come up as they may begins
    with the first, learns from when it knows two, and turns into the second when a third comes."""

    _known_forms: ClassVar[tuple[str, ...]] = ("binary", "multiclass")

    _: KW_ONLY
    class_weight: Any = parameter(
        None,
        dict,
        among("balanced"),
        None,
        text='The weight of each class, by label. "balanced": the rarer a class has been so far, the more it weighs.',
    )
    calibrate: bool = parameter(
        False,
        "boolean",
        text="Whether to learn probabilities along the way, for `predict_proba`: by an online logistic regression on the scores that"
        " each example had before it was learned from.",
    )

    def decision_function(self, X: Any) -> Array:
        """The score of each row: (n,) for two classes, positive for `classes_[1]`; (n, K) for more. NaN while less than two labels
        are known."""
        return self._read(lambda state: self._decisions(X, state))

    def predict(self, X: Any) -> Array:
        """The label of each row."""
        return self._read(lambda state: self._predicted(X, state))

    def _predicted(self, X: Any, state: State) -> Array:
        assert state.classes is not None
        if len(state.classes) == 0:
            raise NotFittedError(f"This {type(self).__name__} instance has seen no label yet: it has nothing to predict.")
        scores = self._scores(X, state)
        if len(state.classes) == 1:
            return np.repeat(state.classes, len(scores))
        return state.classes[np.argmax(scores, axis=1) if scores.shape[1] > 1 else (scores[:, 0] >= 0).astype(np.intp)]

    def predict_one(self, x: Any) -> Any:
        """The label of one example; None while no label is known."""
        one = self._bound or self._binding()
        if one is None:
            return None
        answer = one.run_one(x, one.no_targets, one.none)
        if answer is None and isinstance(x, Mapping):
            answer = one.run_one(named_values(x), one.no_targets, one.none)  # text, or numbers of other types
        # Another state may have more features in the same arrays: those of this one have then learned from features it does not know.
        if answer is None or answer != answer or not (one.state is self._state or one.state is self._latest()):
            return self._read(lambda state: self._decided(self._scores(one_row(x), state), state))
        return one.labels[int(answer >= 0 if one.width == 1 else answer)]  # `_said`, less the call

    def _said(self, one: Bound, answer: float) -> Any:
        return one.labels[int(answer >= 0 if one.width == 1 else answer)]

    def _decided(self, scores: Array, state: State) -> Any:
        """The label that one example's scores mean; None while no label is known."""
        labels = self._bind(state).labels
        if not labels:
            return None
        return labels[int(scores.argmax()) if scores.size > 1 else int(scores.item() >= 0)]

    @offered_if(lambda self: self._check_probabilities())
    def predict_proba(self, X: Any) -> Array:
        """The probability of each class, a column a class, where `calibrate` is set."""
        return self._read(lambda state: self._chances(self._scores(X, state), state))

    @offered_if(lambda self: self._check_probabilities())
    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """The probability of each class by label, where `calibrate` is set; empty while no label is known."""
        if self._latest() is None:
            return {}
        return self._read(lambda state: self._chances_by_label(self._scores(one_row(x), state), state))

    def _chances_by_label(self, scores: Array, state: State) -> dict[Any, float]:
        assert state.classes is not None
        return dict(zip(state.classes.tolist(), self._chances(scores, state)[0].tolist(), strict=True))

    def _scores_are_logits(self) -> bool:
        """Whether the softmax of the scores, or the logistic function of the only one, is what the learner takes for probabilities."""
        return False

    def _gives_probabilities(self) -> bool:
        return self.calibrate or self._scores_are_logits()

    def _check_probabilities(self) -> None:
        if not self._gives_probabilities():
            name = type(self).__name__
            raise AttributeError(
                f"This {name} has no probabilities: they are learned along the way if it is made so, by {name}(calibrate=True)."
            )

    def _chances(self, scores: Array, state: State) -> Array:
        """The probability of each class, from scores; the only label there is has all of it."""
        assert state.classes is not None
        return np.ones((len(scores), len(state.classes))) if state.undecided else self._probabilities(scores, state)

    def _probabilities(self, scores: Array, state: State) -> Array:
        assert state.classes is not None
        if not self.calibrate:
            logits = scores.astype(np.float64)
            if state.form == "multiclass":
                return np.asarray(softmax(logits, axis=1))
            return np.hstack([1 - expit(logits), expit(logits)])
        out = np.empty((len(scores), len(state.classes)))
        probabilities(state.arrays["platt"], state.arrays["platt_classes"], scores, out)
        return out

    def _after(self, state: State, scores: Array, codes: Array, gate: Any, chances: Array) -> None:
        if "platt" not in state.arrays:
            if len(chances):
                chances[:] = self._probabilities(scores, state)
        elif state.form == "binary":
            calibrate_binary(state.arrays["platt"], scores, codes, gate.values, chances)
        else:
            calibrate_multiclass(*(state.arrays[name] for name in PLATT), scores, codes, gate.values, chances)

    # --- what the base asks ---

    def _fields_of_options(self) -> dict[str, Field]:
        counts = (
            {"class_counts": Field("classes", whole=True, beside=True, fades=True)} if self.class_weight == "balanced" else {}
        )
        return {**super()._fields_of_options(), **counts, **(PLATT if self.calibrate else {})}

    def _width(self, state: State) -> int:
        assert state.classes is not None
        return 1 if state.form == "binary" else len(state.classes)

    def _task(self, state: State) -> Any:
        return ManyClasses(2.0) if state.form == "multiclass" else TwoClasses(1.0)

    def _targets(self, y: Any, n: int) -> Array | Coded:
        return y if isinstance(y, Coded) and len(y) == n else label_array(y, n)

    def _for_stages(self, target: Array | Coded) -> Coded:
        return target if isinstance(target, Coded) else coded(target, np.unique(target))

    def _code(self, state: State) -> tuple[int, int, Any]:
        """Codes are a k + b: -1 and 1 in the form for two classes, else 0 .. K-1."""
        return (2, -1, state.dtype) if state.form == "binary" else (1, 0, np.int64)

    def _codes(self, state: State, y: Array | Coded) -> tuple[Array, int]:
        assert state.classes is not None
        a, b, dtype = self._code(state)
        codes = np.empty(len(y), dtype)
        return codes, encode_labels(y, state.classes, a, b, codes) if len(state.classes) else 0

    def _coder(self, state: State) -> Callable[[Any], Array | None]:
        assert state.classes is not None
        codes, _ = self._codes(state, state.classes)
        return {label: codes[k : k + 1] for k, label in enumerate(state.classes.tolist())}.get

    def _find_labels(self, target: Array | Coded, classes: Any, whole: bool, come: bool) -> Array:
        given = self.classes if classes is None else classes
        if given is not None:
            return declared_classes(given)
        if target.dtype.kind == "b":
            return np.array([False, True])
        if whole:
            labels = classes_of(np.asarray(target))
            if len(labels) < 2:
                raise ValueError(
                    f"The number of classes has to be greater than one; got {len(labels)} class. To start from one class, pass"
                    ' `classes`, or let labels come up with grow="labels".'
                )
            return labels
        if come:
            return np.asarray(target[:0])
        raise ValueError("classes must be passed on the first call to partial_fit.")

    def _first_state(self, start: Start, rows: Rows) -> State:
        labels = start.labels
        assert labels is not None
        self._check_class_weight(labels if len(labels) else None)
        return self._new_state("multiclass" if len(labels) > 2 else "binary", start)

    def _admit(self, state: State, target: Any) -> tuple[State, Any]:
        """A third label turns the form for two classes into that for many."""
        check_labels(state.classes, np.asarray([target]))
        assert state.classes is not None
        if state.form == "binary" and len(state.classes) == 2:
            state = self._turned(state)
        return state.with_class(target)

    def _turned(self, state: State) -> State:
        """A state of two classes in the form for many, where offsets belong to classes."""
        state = state.turn(self._layout("multiclass"))
        if "platt" in state.arrays:
            offset = state.arrays["platt"][OFFSET]
            state.arrays["platt_classes"][:, 0] = -offset / 2, offset / 2
            state.arrays["platt"][OFFSET] = 0
        return state

    def _check_classes(self, state: State, classes: Any) -> None:
        assert state.classes is not None
        if classes is not None and not np.array_equal(declared_classes(classes), state.classes):
            raise ValueError(f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {state.classes!r}")

    def _check_unchanged(self, state: State) -> None:
        super()._check_unchanged(state)
        self._check_class_weight(None if state.grow_classes else state.classes)

    def _check_class_weight(self, labels: Array | None) -> None:
        if self.class_weight is None:
            return
        if self._weights_are_switches():
            raise ValueError(
                f"{type(self).__name__} with these parameters has no loss term to weigh: class_weight must be None."
            )
        if isinstance(self.class_weight, dict):
            for label, weight in self.class_weight.items():
                if not isinstance(weight, Real) or not 0 <= float(weight) < math.inf:
                    raise ValueError(f"class_weight of {label!r} is {weight!r}; it must be a finite number, not negative.")
        if labels is not None and isinstance(self.class_weight, dict):
            unknown = [label for label in self.class_weight if label not in labels.tolist()]
            if unknown:
                raise ValueError(f"class_weight names {unknown}, but the classes are {labels.tolist()}.")

    def _gate(self, state: State, bound: Bound, codes: Array, weights: Array | None) -> Any:
        if self.class_weight is None:
            return super()._gate(state, bound, codes, weights)
        assert state.classes is not None
        a, b, _ = self._code(state)
        shares = np.ones(len(codes), state.dtype) if weights is None else weights.astype(state.dtype)
        if self.class_weight == "balanced":
            balance(codes, a, b, state.arrays["class_counts"], shares)
        else:
            by_class = np.array([self.class_weight.get(label, 1.0) for label in state.classes.tolist()])
            largest = by_class.max() * (1.0 if weights is None else weights.max())
            self._check_weights(np.array([largest]), state)
            shares *= by_class.astype(state.dtype)[((codes - b) // a).astype(np.intp)]
        return Weights(shares, state.dtype.type(1))


@parametric
class Regressor(RegressorMixin, Learner):
    """A learner of numbers. Predictions and scores are in the units of the targets, also where it learns in others."""

    _known_forms: ClassVar[tuple[str, ...]] = ("regression",)
    _offers: ClassVar[dict[str, Any]] = {
        "epsilon": parameter(
            0.1,
            NOT_NEGATIVE,
            matters=True,
            text="Errors up to this size do not count as loss; in deviations, with `scale_target`.",
        ),
    }

    _: KW_ONLY
    scale_target: bool = parameter(
        True,
        "boolean",
        text="Whether to learn how many deviations a target is from the mean, both as they are so far, so that parameters mean the same"
        " whatever the unit of the targets. For a linear model without an intercept, both are taken around 0.",
    )

    @property
    def target_mean_(self) -> float:
        """The mean of the targets so far, with `scale_target`; else 0."""
        return self._attribute("target_mean_").units[0]

    @property
    def target_scale_(self) -> float:
        """The deviation of the targets so far, with `scale_target`; else 1."""
        return self._attribute("target_scale_").units[1]

    def predict(self, X: Any) -> Array:
        """The number for each row."""
        return self._read(lambda state: self._predicted(X, state))

    def _predicted(self, X: Any, state: State) -> Array:
        return self._decisions(X, state)

    def predict_one(self, x: Any) -> float:
        """The number for one example; 0 before anything was learned."""
        one = self._bound or self._binding()
        if one is None:
            return 0.0
        answer = one.run_one(x, one.no_targets, one.none)
        # See Classifier.predict_one.
        if answer is None or answer != answer or not (one.state is self._state or one.state is self._latest()):
            return self._read(lambda state: self._decided(self._scores(one_row(x), state), state))
        return answer

    def _said(self, one: Bound, answer: float) -> float:
        return answer

    def _decided(self, scores: Array, state: State) -> float:
        """The number that one example's scores mean."""
        return float(scores.item())

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the rows in their order, once, going on from where the model is."""
        self._learn(X, y, sample_weight, table_door(X))
        return self

    def test_then_train(self, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """`partial_fit` that returns the prediction each row had before it was learned from."""
        pieces = Pieces()
        with self._lock:
            self._learn(X, y, sample_weight, table_door(X), pieces)
            return self._joined(pieces)

    # --- what the base asks ---

    def _task(self, state: State) -> Any:
        """An error of `epsilon`, where a learner has that parameter, is none."""
        return Targets(1.0, float(getattr(self, "epsilon", 0.0)))

    def _remedy(self) -> str:
        return super()._remedy() if self.scale_target else f"{super()._remedy()} Large targets need scale_target=True."

    def _fields_of_options(self) -> dict[str, Field]:
        moments = {"targets": Field("3", exact=True, beside=True)} if self.scale_target else {}
        return {**super()._fields_of_options(), **moments}

    def _loop_record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        record = super()._loop_record(state, arrays)
        if not self.scale_target:
            return record
        return Standardised(record, state.arrays["targets"], 0.0 if self._through_origin() else 1.0)

    @classmethod
    def _unpack(cls, header: dict[str, Any], arrays: dict[str, Array]) -> Self:
        parameters = {"scale_target": False, **header["parameters"]}  # files from before targets were scaled do not say
        return super()._unpack({**header, "parameters": parameters}, arrays)

    def _targets(self, y: Any, n: int) -> Array:
        if y is None:
            raise ValueError("This estimator requires y to be passed, but the target y is None.")
        target = np.asarray(y)
        if target.ndim != 1:
            target = column_or_1d(target, warn=True)
        if target.dtype.kind in "cmM":
            raise TypeError(f"Targets must be real numbers, got an array of {target.dtype}.")
        if target.dtype.kind not in "biuf":
            try:
                target = target.astype(np.float64)
            except OverflowError:
                raise ValueError("Input y contains a value too large for float64.") from None
        if len(target) != n:
            check_consistent_length(np.empty((n, 0)), target)
        if not np.isfinite(target.sum(dtype=np.float64)) and not np.isfinite(target).all():
            t = int(np.argmin(np.isfinite(target)))
            raise ValueError(f"Input y contains {'NaN' if np.isnan(target[t]) else 'infinity'} (row {t}).")
        return target

    def _for_stages(self, target: Array) -> Array:
        return target.astype(np.float64)

    def _codes(self, state: State, y: Array) -> tuple[Array, int]:
        with np.errstate(over="ignore"):
            codes = np.ascontiguousarray(y, state.dtype)
        if codes.dtype != y.dtype and not np.isfinite(codes).all():
            raise ValueError(f"Input y contains a value too large for {state.dtype!r}.")
        return codes, len(y)

    def _coder(self, state: State) -> Callable[[Any], Array | None]:
        code, largest = np.empty(1, state.dtype), float(np.finfo(state.dtype).max)

        def coder(y: Any) -> Array | None:
            if not isinstance(y, float | int) or not -largest < y < largest:
                return None
            code[0] = y
            return code

        return coder

    def _first_state(self, start: Start, rows: Rows) -> State:
        return self._new_state("regression", start)

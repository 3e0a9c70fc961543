"""Categories as features of their own, one a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from numbers import Integral
from typing import Any, ClassVar

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.utils._param_validation import Interval

from onepass.base import Field, Stage, State
from onepass.base.estimator import are_named
from onepass.base.inputs import Rows, check_name, check_values, named_values, rows_by_name
from onepass.base.knowledge import Door, Start
from onepass.base.names import Names
from onepass.base.parameters import COUNT, parameter, parametric
from onepass.base.stage import FLOAT64
from onepass.base.state import Array
from onepass.compiled.loop import T
from onepass.stages.hashing import Hasher, category

CATEGORICAL = (nw.String, nw.Boolean, nw.Categorical, nw.Enum)


class Ledger:
    """What is new in some examples: values, and how many of them each column has by now, kept at the place of its others."""

    def __init__(self) -> None:
        self.values: set[str] = set()
        self.counts: dict[str, int] = {}


@parametric
class OneHot(Stage):
    """Categories as features, one a value: "name=value" is a feature of value 1. Numbers stay as they are.

    Values of text and truth values are categories, and so are columns of such types, and those that are declared. A value has the
    column in which it came up first, up to `max_values` of a column; all that come later share one more, "name (other)". With
    `n_features` there are so many columns in any case, and a feature is in that of its hash (:class:`Hasher`). What is missing gives
    no feature. It takes dicts, and frames, whose rows are taken for dicts.

    In a stream, a value that is new has its column from then on, and a learner behind the stage grows with it. :class:`Table` scales
    numbers as well, and hashes all categories.

    Examples
    --------
    >>> from onepass import OneHot, PAClassifier, pipeline
    >>> stage = OneHot(columns=["rooms"], max_values=2)
    >>> stage.fit([{"city": "Rome", "rooms": 2, "size": 40.0}, {"city": "Oslo", "rooms": 3, "size": 70.0}]).transform_one(
    ...     {"city": "Rome", "rooms": 5, "size": 90.0}
    ... )
    {'city=Rome': 1.0, 'rooms (other)': 1.0, 'size': 90.0}
    >>> model = pipeline(OneHot(), PAClassifier())
    >>> model.learn_one({"city": "Rome", "member": True}, "stays")
    >>> model.learn_one({"city": "Oslo", "member": True}, "leaves")
    >>> model.predict_one({"city": "Oslo"})
    'leaves'
    """

    columns: Any = parameter(
        None,
        "array-like",
        None,
        kind="list of str",
        text="Columns whose values, also numbers, are categories, beside those of text and truth values.",
    )
    max_values: int = parameter(1000, COUNT, text="How many values of a column have columns of their own.")
    n_features: int | None = parameter(
        None,
        Interval(Integral, 1, 2**31 - 1, closed="both"),
        None,
        text="How many columns features are hashed to. None: as many as there are features.",
    )

    _takes_raw = True
    _forms: ClassVar[dict[str, dict[str, Field]]] = {
        "stage": {"values": Field("features")}
    }  # of a column, kept with its others

    @property
    def _fixes_width(self) -> bool:  # type: ignore[override]
        return self.n_features is not None

    @property
    def _brings_features(self) -> bool:  # type: ignore[override]
        return self.n_features is None

    def _fields(self, form: str) -> dict[str, Field]:
        return self._forms[form] if self.n_features is None else {}

    def transform_one(self, x: Any) -> Any:
        """One dict after the stage: a dict, or a sparse row where features are hashed."""
        return super().transform_one(x) if self.n_features is None else self.transform([x])

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names of the features, "name=value" and numbers; of hashes their numbers."""
        if self.n_features is None:
            return super().get_feature_names_out()
        return Hasher(self.n_features).get_feature_names_out()

    def _name_of(self, column: int) -> str:
        return super()._name_of(column) if self.n_features is None else Hasher(self.n_features)._name_of(column)

    # --- what the base asks ---

    def _check_rows(self, X: Any) -> None:
        for x in self._examples(X):
            check_values(named_values(self._named(x, None, Ledger())))

    def _enter(self, X: Any, weights: Array | None, door: Door) -> Rows:
        if self._state is None:
            grown = self.n_features is None
            self._state = self._new_state(
                "stage", Start(FLOAT64, self.n_features or 0, [] if grown else None, None, grown, False)
            )
        state, ledger = self._state, Ledger()
        examples: list[Mapping[str, Any]] = [self._named(x, state, ledger) for x in self._examples(X)]
        rows, newcomers = self._numbered(examples, state, grow=True)
        if newcomers:
            self._set_state(state.widened(rows.width, newcomers))
        state = self._writable()
        for others, count in ledger.counts.items():
            state.arrays["values"][1 + (self._place(others, state) or 0)] = count
        return rows

    def _rows(self, X: Any, state: State) -> Rows:
        return self._numbered(self._alone(X, state), state, grow=False)[0]

    def _foreseen(self, X: Any, state: State) -> Rows:
        return self._numbered(self._alone(X, state), state, grow=True)[0]

    def _called(self, state: State, X: Any, names: Any) -> Any:
        examples = self._alone(X, state)
        if self.n_features is not None:
            return Hasher(self.n_features)._called(state, examples, names)
        return [*self._check_named_features(state).first(state.n_features), *self._numbered(examples, state, grow=True)[1]]

    def _transformed(self, state: State, rows: Rows, taught: Array) -> Rows:
        if taught.any():  # a reader writes nothing, not even what is there
            state.arrays["count"][T] += np.count_nonzero(taught)
        return rows

    def _numbered(self, examples: list[Mapping[str, Any]], state: State, *, grow: bool) -> tuple[Rows, list[str]]:
        """Features by name as rows, and the names that are new."""
        if self.n_features is not None:
            return Hasher(self.n_features)._rows(examples, state), []
        return rows_by_name(examples, self._check_named_features(state), state.n_features, grow=grow)

    # --- one example ---

    def _examples(self, X: Any) -> Iterator[tuple[Mapping[str, Any], Any]]:
        """Examples as dicts, each with the columns that are categories whatever their values are."""
        X, declared = nw.to_native(X, pass_through=True), set(self.columns or ())
        if isinstance(X, Rows) and X.names is not None and not X.sparse:
            yield from ((dict(zip(X.names, x, strict=True)), declared) for x in X.data.tolist())
        elif nw.dependencies.is_into_dataframe(X):
            frame = nw.from_native(X, eager_only=True)
            declared |= {name for name, kind in frame.schema.items() if isinstance(kind, CATEGORICAL)}
            yield from ((x, declared) for x in frame.iter_rows(named=True))
        elif are_named(X):
            yield from ((x, declared) for x in X)
        else:
            raise TypeError("OneHot takes dicts or data frames: only columns with names can be told apart.")

    def _alone(self, X: Any, state: State) -> list[Mapping[str, Any]]:
        """Examples to predict, each as if it came next."""
        return [self._named(x, state, Ledger()) for x in self._examples(X)]

    def _named(self, example: tuple[Mapping[str, Any], Any], state: State | None, ledger: Ledger) -> dict[str, Any]:
        """One example as features by name; what is new in it is entered into the ledger."""
        x, declared = example
        named = dict[str, Any]()
        for name, value in x.items():
            check_name(name)
            if name not in declared and not isinstance(value, str | bool | np.bool_):
                if value is not None:
                    named[name] = value
            elif value is not None and value == value:
                feature = category(name, value)
                if self.n_features is None:
                    feature = self._admitted(feature, f"{name} (other)", state, ledger, named)
                named[feature] = 1.0
        return named

    def _admitted(self, feature: str, others: str, state: State | None, ledger: Ledger, named: dict[str, Any]) -> str:
        """The feature, if it is known or there is place for it, else that of all others, which a new column has from the start."""
        if feature in ledger.values or self._place(feature, state) is not None:
            return feature
        home = self._place(others, state)
        kept = 0 if home is None or state is None else int(state.arrays["values"][home + 1])
        count = ledger.counts.get(others, kept)
        if count >= self.max_values:
            return others
        if home is None and count == 0:
            named[others] = 0.0
        ledger.values.add(feature)
        ledger.counts[others] = count + 1
        return feature

    def _place(self, name: str, state: State | None) -> int | None:
        names = Names([]) if state is None or state.names is None else state.names
        return names.place(name, 0 if state is None else state.n_features)

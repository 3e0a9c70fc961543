"""What all kernel models have: a kernel, a support set, and a budget for it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY
from functools import cache
from numbers import Integral, Real
from typing import Any, ClassVar, NoReturn, Self

import numba
import numpy as np
from numba.core import config, types
from scipy.sparse import csr_array
from sklearn.utils._param_validation import Interval

from onepass.base import Field, Learner, ModelFileError, State
from onepass.base.inputs import ABOUT_OBJECTS, Rows
from onepass.base.knowledge import Start
from onepass.base.parameters import NOT_NEGATIVE, POSITIVE, among, parameter, parametric
from onepass.base.state import Array
from onepass.compiled import book
from onepass.compiled import objects as objects  # whose forms the loop finds
from onepass.compiled.eviction import POLICIES
from onepass.compiled.kernels import KERNELS, Custom, Given, Kernel, Structure
from onepass.compiled.stores import Dense, Numbered, Sparse
from onepass.compiled.support import Support

# CSR rows of so many features at the most are kept as dense columns, which are compared ten times faster.
NARROW = 1024

# How many vectors a support set has place for at the start, and the size at which one without a budget says that it hurts.
FIRST_SLOTS, FIRST_ENTRIES, HURTS = 64, 16, 8192

LARGEST = 2**31 - 1  # of budgets and degrees
UP_TO_LARGEST = Interval(Integral, 1, LARGEST, closed="both")

# Kinds of kernel that are no entries of KERNELS.
PRECOMPUTED, CUSTOM, STRUCTURE = -1, -2, -3
OTHERS = {"precomputed": PRECOMPUTED, "structure": STRUCTURE}

# What parameter selection tries for gamma.
GAMMAS = tuple(4.0**k for k in range(-5, 3))


@parametric
class KernelModel(Learner):
    """f(x) = sum_i A_i k(x_i, x) over the support vectors x_i, a row of coefficients A for each score."""

    _: KW_ONLY
    kernel: Any = parameter(
        "rbf",
        among(*KERNELS, *OTHERS),
        callable,
        text='The kernel k(x, z). "linear": x.z; "poly": (gamma x.z + coef0)^degree; "rbf": exp(-gamma |x - z|^2); "laplacian":'
        ' exp(-gamma |x - z|_1); "sigmoid": tanh(gamma x.z + coef0); "cosine": x.z / (|x| |z|); "chi2":'
        ' exp(-gamma sum (x - z)^2 / (x + z)) and "intersection": sum min(x, z), both for features that are not negative.'
        ' "precomputed": row t of X holds the kernel values of example t with all examples. "structure": that of the stage before the'
        " learner, such as :class:`onepass.Subsequences`. A function takes two 1-d arrays and"
        " returns a number; Numba compiles it.",
    )
    gamma: float | None = parameter(
        None,
        POSITIVE,
        None,
        matters=True,
        text="The scale of the kernel. None: 1 / n_features, of the features that are known at the first example.",
    )
    degree: int = parameter(3, UP_TO_LARGEST, text='The degree of "poly".')
    coef0: float = parameter(1.0, Interval(Real, None, None, closed="neither"), text='The constant of "poly" and "sigmoid".')
    fit_intercept: bool = parameter(False, text="Whether to add 1 to the kernel.")
    average: bool | str | float | None = parameter(
        more="A support vector that is dropped takes its share of the average with it; one that is projected or merged leaves it to"
        " the others."
    )

    _offers: ClassVar[dict[str, Any]] = {
        "budget": parameter(100, UP_TO_LARGEST, matters=True, text="The largest number of support vectors."),
    }

    # --- what a subclass may say ---

    def _most(self) -> int:
        """The most support vectors that may be held; 0 if any number may."""
        return 0

    def _guests(self) -> int:
        """How many slots beyond the budget the rule needs when it is used up."""
        return 0

    def _policy(self) -> int:
        return 0

    def _keeps(self) -> set[str]:
        """What else the rule needs of the support vectors: "pairs", their kernel values with each other; "inverse", the inverse of
        that matrix; "response", f at each of them, for which pairs are needed."""
        return set()

    # --- the support set ---

    @property
    def support_size_(self) -> int:
        """The number of support vectors."""
        return int(self._attribute("support_size_").arrays["book"][book.SIZE])

    @property
    def support_(self) -> Array:
        """Which example each support vector is, counted from 0 among those that were learned from."""
        return self._attribute("support_").arrays["born"][: self.support_size_].copy()

    @property
    def support_vectors_(self) -> Array | csr_array:
        """The support vectors, a row each; a `csr_array` if they are kept sparse. With kernel="precomputed" there are none: see
        `support_`."""
        if self.kernel == "precomputed":
            raise AttributeError('With kernel="precomputed" the support vectors are known by their numbers only: see support_.')
        return self._vectors(self._attribute("support_vectors_"))

    def _vectors(self, state: State) -> Any:
        arrays, n = state.arrays, int(state.arrays["book"][book.SIZE])
        if state.capacities["dense"]:
            return np.ascontiguousarray(arrays["Z"][1 : state.n_features + 1, :n].T)
        held = np.arange(state.capacities["entries"]) < arrays["length"][:n, None]
        indptr = np.concatenate([[0], np.cumsum(arrays["length"][:n])])
        parts = (arrays["values"][:n][held], arrays["index"][:n][held], indptr)
        return csr_array(parts, shape=(n, state.n_features))

    @property
    def dual_coef_(self) -> Array:
        """The coefficients of the support vectors, (1, n), or (K, n) for more than two classes; averaged if `average` is set. With
        `scale_target`, what they say is added to `target_mean_`."""
        state = self._attribute("dual_coef_")
        return state.dtype.type(state.units[1]) * self._averaged(state, "A")[:, : self.support_size_]

    # --- what the base asks ---

    def _fields(self, form: str) -> dict[str, Field]:
        scores = "classes" if form == "multiclass" else "one"
        return {
            "A": Field(f"{scores} support", additive=True),
            "Z": Field("features dense", foreseen=True),
            "index": Field("support entries", whole=True),
            "values": Field("support entries"),
            "length": Field("support", whole=True),
            "norms": Field("support"),
            "born": Field("support", whole=True),
            "itself": Field("support"),
            "gram": Field("pairs pairs"),
            "inverse": Field("inverse inverse"),
            "response": Field(f"{scores} response"),
            "book": Field("book", whole=True),
            "gamma": Field("one", exact=True),
        }

    def _sizes(self) -> dict[str, int]:
        return {"book": book.BOOK}

    def _capacities(self) -> dict[str, int]:
        return {"support": 0, "dense": 0, "entries": 0, "pairs": 0, "inverse": 0, "response": 0}

    def _first_state(self, start: Start, rows: Rows) -> State:
        fixed = callable(self.kernel) or self.kernel == "precomputed"
        if fixed and start.grow_features:
            raise ValueError(
                f"kernel={self.kernel!r} needs rows whose width is known from the start: pass arrays, and let no features grow."
            )
        if self.kernel == "precomputed" and start.grow_classes:
            raise ValueError('kernel="precomputed" needs labels that are known from the start: pass `classes`.')
        if self._takes_objects() and not rows.sparse:
            raise ValueError(f'kernel="structure" takes objects, not rows of numbers. {ABOUT_OBJECTS}')
        state: State = super()._first_state(start, rows)
        state.arrays["gamma"][0] = 1.0 / max(state.known, 1)
        state.arrays["book"][book.KIND] = self._kind()
        sparse = rows.sparse and (start.grow_features or rows.width > NARROW or self._takes_objects()) and not fixed
        entries = 1 if self.kernel == "precomputed" else FIRST_ENTRIES if sparse else 0
        return state.extended({"entries": entries, **self._more_slots(state, dense=entries == 0)})

    def _more_slots(self, state: State, *, dense: bool) -> dict[str, int]:
        """Twice the slots, or as many as there may be."""
        slots, most = max(FIRST_SLOTS, 2 * state.capacities["support"]), self._most()
        slots = min(slots, most + self._guests()) if most else slots
        return dict.fromkeys({"support", *self._keeps(), *({"dense"} if dense else ())}, slots)

    def _enlarged(self, state: State) -> State | None:
        page = state.arrays["book"]
        slots, entries = page[book.MORE_SLOTS], int(page[book.MORE_ENTRIES])
        page[[book.MORE_SLOTS, book.MORE_ENTRIES]] = 0
        more: dict[str, int] = {}
        if slots:
            if state.capacities["support"] == HURTS and not self._most():
                warnings.warn(
                    f"This {type(self).__name__} holds {HURTS} support vectors, and each prediction looks at all of them. They become"
                    f" more with every error. To keep the cost what it is, set {self._advice()}.",
                    stacklevel=2,
                )
            more = self._more_slots(state, dense=state.capacities["entries"] == 0)
        if entries:
            more["entries"] = max(entries, 2 * state.capacities["entries"])
        return state.extended(more) if more else None

    def _advice(self) -> str:
        """What would bound the support set."""
        return f"a budget, for example budget={HURTS // 8}"

    def _kind(self) -> int:
        return CUSTOM if callable(self.kernel) else OTHERS[self.kernel] if self.kernel in OTHERS else KERNELS[self.kernel]

    def _takes_objects(self) -> bool:
        return self.kernel == "structure"

    def _support(self, state: State, arrays: Mapping[str, Any]) -> Support:
        page = arrays["book"]
        kept = {axis for axis in ("pairs", "inverse", "response") if state.capacities[axis]}
        if page[book.KIND] != self._kind() or kept != self._keeps():
            raise ValueError(
                f"`kernel` and what decides on the arrays of a {type(self).__name__} can't change once learning has begun. Call fit to"
                " start anew."
            )
        if 0 < self._most() < page[book.SIZE]:
            raise ValueError(f"There are {page[book.SIZE]} support vectors already: the budget can't be {self._most()} now.")
        store: Any
        if self.kernel == "precomputed":
            kernel: Any = Given(state.n_features)
            store = Numbered(arrays["index"], arrays["norms"], state.n_features)
        else:
            gamma = float(arrays["gamma"][0] if self.gamma is None else self.gamma)
            kernel = Kernel(self._kind(), gamma, int(self.degree), float(self.coef0))
            if callable(self.kernel):
                kernel = Custom(compiled(self.kernel, state.dtype), state.n_features)
            if self._takes_objects():
                kernel = Structure(state.n_features)
            if state.capacities["dense"]:
                store = Dense(arrays["Z"], arrays["norms"])
            else:
                store = Sparse(arrays["index"], arrays["values"], arrays["length"], arrays["norms"])
        names = "born", "itself", "book", "gram", "inverse", "response"
        own = {name: arrays[name] for name in names}
        limits = {"budget": self._most(), "guests": self._guests(), "policy": self._policy()}
        return Support(kernel, store, **own, **limits, seed=state.seed)

    def _weights(self, sample_weight: Any, n: int) -> Array | None:
        weights = super()._weights(sample_weight, n)
        if weights is not None and self.kernel == "precomputed" and not weights.all():
            raise ValueError(
                'With kernel="precomputed" examples are known by their numbers: sample_weight may not be 0. Leave their rows and'
                " columns out."
            )
        return weights

    def _check_parameters(self) -> None:
        super()._check_parameters()
        by_class = getattr(self, "class_weight", None)
        if self.kernel == "precomputed" and isinstance(by_class, dict) and 0 in by_class.values():
            raise ValueError(
                'With kernel="precomputed" examples are known by their numbers: no class_weight may be 0. Leave their rows and columns'
                " out."
            )

    def _fails_late(self) -> bool:
        return callable(self.kernel) or self.kernel == "poly"  # a number that is not finite may come from a row that is

    def _first_bad(self, rows: Rows, dtype: np.dtype[Any]) -> int:
        negative = np.flatnonzero((rows.data < 0).sum(axis=1)) if self.kernel in ("chi2", "intersection") else np.empty(0, int)
        return min(super()._first_bad(rows, dtype), *negative[:1].tolist(), rows.n)

    def _refuse(self, rows: Rows, t: int, dtype: np.dtype[Any]) -> NoReturn:
        if self.kernel in ("chi2", "intersection") and (np.asarray(rows.values(t)) < 0).any():
            raise ValueError(
                f"Row {t} of X has a negative number: the kernel {self.kernel!r} is for features that are not negative."
            )
        if callable(self.kernel):
            self._refuse_values(rows, t, dtype)
        if self._takes_objects():
            raise ValueError(f"Row {t} of X is no object for the kernel of those before it. {ABOUT_OBJECTS}")
        super()._refuse(rows, t, dtype)

    def _refuse_values(self, rows: Rows, t: int, dtype: np.dtype[Any]) -> None:
        """Raise ValueError if the user's function gives no number for row t, which is sound, and a support vector or itself."""
        data = rows.part(t, t + 1).data
        others = [(f"support vector {i}", z) for i, z in enumerate(self._vectors(self._state or self._readable()))]
        with np.errstate(all="ignore"):
            x = np.ascontiguousarray(data.toarray() if rows.sparse else data, dtype)[0]
            for other, z in [*others, ("itself", x)] if np.isfinite(x @ x) else []:
                said = f"The kernel function {name_of(self.kernel)} has no value for row {t} of X and {other}: it"
                try:
                    value = float(plain(self.kernel)(x, z))
                except Exception as error:
                    raise ValueError(f"{said} raised {type(error).__name__}: {error}") from error
                if not np.isfinite(value):
                    raise ValueError(f"{said} gave {value}.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.positive_only = self.kernel in ("chi2", "intersection")
        return tags

    def _pack(self) -> tuple[dict[str, Any], dict[str, Array]]:
        if callable(self.kernel):
            raise ValueError("A model whose kernel is a function of yours can't be saved: files hold no code. Use pickle.")
        return super()._pack()

    @classmethod
    def _unpack(cls, header: dict[str, Any], arrays: dict[str, Array]) -> Self:
        model = super()._unpack(header, arrays)
        if model._state is not None:
            model._check_support(model._state)
        return model

    def _check_support(self, state: State) -> None:
        """Raise ModelFileError unless the loop can follow what the arrays say."""
        arrays, capacities = state.arrays, state.capacities
        n, index, length = arrays["book"][book.SIZE], arrays["index"], arrays["length"]
        sound = (
            0 <= n <= capacities["support"]
            and arrays["book"][book.KIND] == self._kind()
            and (self.kernel not in OTHERS or capacities["entries"] > 0)
            and capacities["dense"] in (0, capacities["support"])
            and all(
                capacities[axis] == (capacities["support"] if axis in self._keeps() else 0)
                for axis in ("pairs", "inverse", "response")
            )
            and bool(capacities["dense"]) != bool(capacities["entries"])
            and (index >= 0).all()
            and (index < max(state.n_features, 1)).all()
            and (length >= 0).all()
            and (length <= capacities["entries"]).all()
        )
        if not sound:
            raise ModelFileError("The model file is damaged: its support set is not one.")


@parametric
class Budgeted(KernelModel):
    """A kernel model that may have a budget, and a policy for when it is used up."""

    _: KW_ONLY
    budget: int | None = parameter(
        None,
        UP_TO_LARGEST,
        None,
        more="None: there is no limit, and learning becomes slower with every mistake.",
    )
    policy: str = parameter(
        "oldest",
        among(*POLICIES),
        text="Which support vector makes room when the budget is used up: none, so that the model learns no more; a random one; the"
        " oldest; or the most redundant one, which the others classify best.",
    )
    random_state: Any = parameter(text='The seed of the policy "random".')

    def _most(self) -> int:
        return int(self.budget or 0)

    def _policy(self) -> int:
        return POLICIES[self.policy]

    def _keeps(self) -> set[str]:
        return {"pairs", "response"} if self.budget is not None and self.policy == "redundant" else set()


class WithBudget(KernelModel):
    """A kernel model that always has a budget."""

    budget: int

    def _most(self) -> int:
        return int(self.budget)


class Shrinking(KernelModel):
    """A kernel model whose coefficients shrink with each example."""

    _offers: ClassVar[dict[str, Any]] = {
        "rate": parameter(0.5, POSITIVE, cautious="smaller", text="The step size: the coefficient of a new support vector."),
        "lam": parameter(
            0.0,
            NOT_NEGATIVE,
            text="The regularisation lambda: every example multiplies all coefficients by 1 - rate lam. rate lam must be less"
            " than 1.",
        ),
    }
    rate: float
    lam: float

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.rate * self.lam >= 1:
            raise ValueError(
                f"rate * lam must be less than 1, got {self.rate * self.lam:g}: every step would wipe out the model."
            )


@cache
def compiled(function: Callable[..., Any], dtype: np.dtype[Any]) -> Any:
    """A user's function of two arrays as machine code, which is called by its address: one learner serves all functions."""
    return _guarded(function) if config.DISABLE_JIT else _Function(function, dtype)


def _guarded(inner: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, with NaN where it raises or gives no finite number: no error comes through a call by address, and -inf may
    not pass for a small k(x, x)."""

    def call(x: Any, z: Any) -> Any:
        try:
            value = 1.0 * inner(x, z)  # which may be whole, or a truth value
        except Exception:
            value = np.nan
        return value if abs(value) < np.inf else np.nan

    return call


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that Numba may have compiled, as it was written."""
    return getattr(function, "py_func", function)


def name_of(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", function))


class _Function(types.WrapperAddressProtocol):
    def __init__(self, function: Callable[..., Any], dtype: np.dtype[Any]) -> None:
        row = types.Array(numba.from_dtype(dtype), 1, "C")
        self._signature = types.float64(row, row)
        try:
            inner = numba.njit(boundscheck=True)(plain(function))  # an index out of range is an error like any other
            inner.compile(self._signature.args)
            given = inner.nopython_signatures[0].return_type
            if not isinstance(given, types.Integer | types.Float | types.Boolean):
                raise TypeError(f"it gives {given}")
            self._code = numba.cfunc(self._signature)(_guarded(inner))
        except Exception as error:  # Numba has many
            raise ValueError(
                f"The kernel function {name_of(function)} can't be compiled by Numba as a function of two 1-d arrays that gives a"
                f" number: {error}"
            ) from error

    def __wrapper_address__(self) -> int:
        return int(self._code.address)

    def signature(self) -> Any:
        return self._signature

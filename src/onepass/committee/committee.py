"""Committees: several learners that answer as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from onepass.base import Classifier, Field, Learner, ModelFileError, Regressor, State
from onepass.base.knowledge import Start
from onepass.base.parameters import among, parameter, parameters, parametric
from onepass.base.saving import pack_steps
from onepass.base.state import Array
from onepass.committee.seats import Member, Unscaled, convened, make_ready
from onepass.committee.shares import SPREAD, START, AdaHedge, Chances, FixedShare, Numbers
from onepass.linear import AROWClassifier, AROWRegressor, PAClassifier, PARegressor

COMMON = ("grow", "max_iter", "classes", "class_weight", "calibrate")  # what a committee decides for all of its members
NOW = " now"  # what the second voice of a member is called, that of its present weights


def _are_shares(numbers: Array) -> bool:
    return bool((numbers >= 0).all()) and abs(float(numbers.sum()) - 1) < 1e-6


class Assembly(Learner):
    """What committees have in common: members, each with a part of the state, and shares."""

    _known: Any = None  # the members, and the edition of the parameters that they are of
    _products: ClassVar[tuple[str, ...]] = ()  # more voices: what all say, multiplied

    # --- what a subclass says ---

    def _appointed(self) -> dict[str, Any]:
        """All that may be members, by name."""
        raise NotImplementedError

    def _elected(self, start: Start) -> list[str]:
        """The members of a committee that starts with this knowledge."""
        return list(self._everyone())

    def _pool(self, state: State, voices: Array) -> Any:
        """The record of what makes one answer of theirs."""
        raise NotImplementedError

    def _scaling(self, state: State) -> Any:
        """The record of what comes between rows and members."""
        return Unscaled(0)

    def _rule(self, state: State) -> Any:
        """The record of how shares follow losses."""
        return FixedShare(SPREAD)

    def _fields_of_shares(self) -> dict[str, Field]:
        """The shares, and what their rule keeps beside them."""
        return {"shares": Field("shares", exact=True, beside=True)}

    # --- members ---

    def _everyone(self) -> dict[str, Any]:
        """All that may be members, by name, as they would be alone."""
        edition = self._edition
        if self._known is None or self._known[0] is not edition:
            self._known = edition, {name: self._apprentice(member) for name, member in self._appointed().items()}
        return self._known[1]

    def _apprentice(self, member: Any) -> Any:
        """A member that has learned nothing, and has the committee's average unless it has its own."""
        fresh = clone(member)
        if fresh.average is None:
            fresh.average = self.average
        return fresh

    def _voices(self) -> dict[str, tuple[int, int]]:
        """The places of the voices of each member: one, and another for its present weights where it has an average."""
        places, end = {}, 0
        for name, member in self._everyone().items():
            places[name] = (end, end + 1 + member._averages())
            end = places[name][1]
        return places

    def _heard(self, state: State) -> Array:
        """The places of all voices that are there."""
        return np.concatenate([np.arange(*places) for name, places in self._voices().items() if name in state.parts])

    def _with_parts(self, state: State) -> dict[str, Any]:
        """What the state is made of, as models: the members, with what they have learned."""
        found = {name: clone(member) for name, member in self._everyone().items() if name in state.parts}
        for name, member in found.items():
            member._state = state.parts[name]
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_known"}

    # --- what the base asks ---

    def _averages(self) -> bool:
        return False  # members have averages, and what is made of them has none

    def _fails_late(self) -> bool:
        return any(member._fails_late() for member in self._everyone().values())

    def _forgets(self) -> bool:
        return any(member._forgets() for member in self._everyone().values())

    def _weights_are_switches(self) -> bool:
        return any(member._weights_are_switches() for member in self._everyone().values())

    def _has_outgrown(self, state: State) -> bool:
        """Members keep their order: shares belong to places."""
        order = [name for name in state.parts if name in self._voices()]
        return order != [name for name in self._voices() if name in state.parts] or super()._has_outgrown(state)

    def _sizes(self) -> dict[str, int]:
        voices = max(end for _, end in self._voices().values())
        return {"voices": voices, "shares": voices + len(self._products)}

    def _new_state(self, form: str, start: Start) -> State:
        state = super()._new_state(form, start)
        state.parts = self._first_parts(form, start, self._elected(start))
        shares = state.arrays["shares"]
        heard = [*self._heard(state), *range(len(shares) - len(self._products), len(shares))]
        shares[heard] = 1 / len(heard)
        return state

    def _first_parts(self, form: str, start: Start, elected: list[str]) -> dict[str, State]:
        nameless = replace(start, names=None, buckets=None)
        return {name: self._everyone()[name]._new_state(form, nameless) for name in elected}

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        members, voices = list[Member](), self._voices()
        present = [name for name in voices if name in state.parts]
        for name in present:
            bound = self._everyone()[name]._bind(state.parts[name])
            members.append(Member(bound.model, bound.average, bound.count, bound.bias, bound.no_targets, bound.width))
        places, pool = np.array([voices[name] for name in present]), self._pool(state, self._heard(state))
        return convened(members, places, self._scaling(state), pool, np.empty(0, state.dtype))

    def _readiness(self, record: Any) -> Callable[[Any], None]:
        return partial(make_ready, getattr(record, "model", record))

    # --- what users read ---

    @property
    def shares_(self) -> dict[str, float]:
        """The share of each voice in the answers, by name; they sum to 1. A member with an average has a second voice, that of its
        present weights ("now"); where there are classes, so has the product of all."""
        self._attribute("shares_")
        return self._in_peace(self._shares_of)

    def _shares_of(self, state: State) -> dict[str, float]:
        shares, found = state.arrays["shares"], dict[str, float]()
        for name, (first, end) in self._voices().items():
            if name in state.parts:
                found |= dict(zip((name, name + NOW), shares[first:end].tolist(), strict=False))
        return found | dict(zip(self._products, shares[len(shares) - len(self._products) :].tolist(), strict=True))

    @property
    def members_(self) -> dict[str, Any]:
        """The members by name, as they would be if they had learned alone; copies."""
        self._attribute("members_")
        return self._in_peace(
            lambda state: {name: part.copy() for name, part in self._with_parts(state).items() if isinstance(part, Learner)}
        )

    # --- files ---

    def _pack(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Members are models within the model."""
        with self._lock:
            header, arrays = super()._pack()
            header["parameters"] |= self._packed_members()
            state = self._latest()
            steps, of_parts = pack_steps((self._everyone() if state is None else self._with_parts(state)).items())
        return {**header, "steps": steps}, {**{f"/{name}": array for name, array in arrays.items()}, **of_parts}

    @classmethod
    def _unpack(cls, header: dict[str, Any], content: dict[str, Any]) -> Self:
        parts = {name: part for name, part in content.items() if not name.startswith("/")}
        own = {name[1:]: array for name, array in content.items() if name.startswith("/")}
        committee = super()._unpack({**header, "parameters": cls._with_members(header["parameters"], parts)}, own)
        state = committee._state
        if state is not None:
            state.parts = {name: part._state for name, part in parts.items()}
            flaw = "a part has learned nothing" if None in state.parts.values() else state.flaw()
            flaw = flaw or ("its members are others" if not committee._knows(parts) else None)
            flaw = flaw or ("its shares are none" if not _are_shares(state.arrays["shares"]) else None)
            if flaw is not None:
                raise ModelFileError(f"The model file is damaged: {flaw}.")
        committee._keep_bound()
        return committee

    def _packed_members(self) -> dict[str, Any]:
        """The parameters that the parts of a file do not tell."""
        return {}

    @classmethod
    def _with_members(cls, packed: dict[str, Any], parts: dict[str, Any]) -> dict[str, Any]:
        """The parameters, with those that parts of the file are."""
        return packed

    def _knows(self, parts: dict[str, Any]) -> bool:
        """Whether the parts of a file may be parts of this."""
        everyone = self._everyone()
        return bool(parts) and all(type(part) is type(everyone.get(name)) for name, part in parts.items())


@parametric
class Voting(Classifier, Assembly):
    """A committee of classifiers."""

    _: KW_ONLY
    calibrate: bool = parameter(more="`predict_proba` is there without it.")

    _products: ClassVar[tuple[str, ...]] = ("product", "product" + NOW)
    _normalises: ClassVar[bool] = True

    def _fields(self, form: str) -> dict[str, Field]:
        return {
            **self._fields_of_shares(),
            "margins": Field("voices 4", start=START, exact=True, beside=True),
            "weights": Field(
                "voices 3", start=(1 / self._sizes()["voices"], 1.0, 1 / self._sizes()["voices"]), exact=True, beside=True
            ),
        }

    def _pool(self, state: State, voices: Array) -> Any:
        own = state.arrays
        heard = np.append(voices, [len(own["shares"]) - 2, len(own["shares"]) - 1])
        return Chances(self._task(state), voices, heard, own["shares"], self._rule(state), own["margins"], own["weights"])

    def _turned(self, state: State) -> State:
        state, everyone = super()._turned(state), self._everyone()
        state.parts = {name: everyone[name]._turned(part) if name in everyone else part for name, part in state.parts.items()}
        return state

    def _scores_are_logits(self) -> bool:
        return True


@parametric
class Averaging(Regressor, Assembly):
    """A committee of regressors."""

    _: KW_ONLY
    scale_target: bool = parameter(False, more="Members see to that themselves, those that need it.")

    def _fields(self, form: str) -> dict[str, Field]:
        return {**self._fields_of_shares(), "unit": Field("2", exact=True, beside=True)}

    def _pool(self, state: State, voices: Array) -> Any:
        return Numbers(voices, state.arrays["shares"], self._rule(state), state.arrays["unit"])


@parametric
class _Chosen(Assembly):
    """A committee whose members somebody has chosen."""

    members: Any = parameter(
        None,
        "array-like",
        None,
        kind="list of learners, or of (name, learner)",
        text="The members. What concerns labels, features and passes (`classes`, `class_weight`, `calibrate`, `grow`, `max_iter`) is"
        " the committee's affair, and is to be set there. Without names they are called by their classes.",
    )
    _: KW_ONLY
    fit_intercept: bool = parameter(text="Whether members have the constant feature 1, those at least that want one.")
    average: bool | str | float | None = parameter(
        text="The average of all members that have none of their own: True is polynomial decay, which forgets the start;"
        ' "uniform" is the plain mean; a number is a half-life in examples.'
    )
    shares: str = parameter(
        "fixed",
        among("fixed", "hedge", "adahedge"),
        text='How shares follow losses: "fixed" is fixed share, by which members come back when a stream drifts; "hedge" deals nothing'
        ' out anew; "adahedge" has no rate either, but one that falls as long as no member is better than the others.',
    )

    _kind: ClassVar[Any]  # of members
    _usual: ClassVar[tuple[Any, ...]]  # where none are given

    def _rule(self, state: State) -> Any:
        if self.shares == "adahedge":
            return AdaHedge(state.arrays["past"], state.arrays["cost"])
        return FixedShare(SPREAD if self.shares == "fixed" else 0.0)

    def _fields_of_shares(self) -> dict[str, Field]:
        if self.shares != "adahedge":
            return super()._fields_of_shares()
        past = {
            "past": Field("shares", exact=True, beside=True, fades=True),
            "cost": Field("one", exact=True, beside=True, fades=True),
        }
        return {**super()._fields_of_shares(), **past}

    def _named(self) -> list[tuple[str, Any]]:
        members = self._usual if self.members is None else self.members
        names = [type(member).__name__.lower() for member in members]
        return [
            tuple(member) if isinstance(member, tuple | list) else (name if names.count(name) == 1 else f"{name}-{i}", member)
            for i, (name, member) in enumerate(zip(names, members, strict=True), 1)
        ]

    def _appointed(self) -> dict[str, Any]:
        self._check_members()
        return dict(self._named())

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_members()

    def _check_members(self) -> None:
        """Refuse members that can't learn beside others."""
        who = type(self).__name__
        try:
            named = self._named()
            names = [name for name, _ in named]
        except (TypeError, ValueError):
            named, names = [], []
        if not named or not all(isinstance(name, str) for name in names):
            raise ValueError(f"The members of a {who} are a list of learners, or of pairs of a name and a learner.")
        if len(set(names)) < len(names) or not all(name.isprintable() and name for name in names):
            raise ValueError(f"The names of members must differ, and be of letters that can be printed: got {names}.")
        if any("/" in name or "__" in name or name.endswith(NOW) or name in self._products for name in names):
            raise ValueError(
                f"The names of members hold neither '/' nor '__', and are not those of other voices (they end in {NOW!r}): got {names}."
            )
        for name, member in named:
            if not isinstance(member, self._kind) or isinstance(member, Assembly):
                raise ValueError(
                    f"A {who} is made of {self._kind.__name__.lower()}s of onepass, and {name} is none: {member!r}."
                )
            member._ensure_parameters()
            own = type(member)
            if member._capacities() or member._needs_whole_data() or own._admit is not self._kind._admit:
                raise ValueError(
                    f"{own.__name__} can't be a member of a {who}: its state grows by itself, or it does not learn from one example"
                    " after the other."
                )
            defaults = {one.name: one.default for one, _ in parameters(own)}
            if changed := [key for key in COMMON if key in defaults and getattr(member, key) is not defaults[key]]:
                raise ValueError(f"{changed[0]!r} is the same for all members of a {who}: set it there, and not for {name}.")

    def _packed_members(self) -> dict[str, Any]:
        """Of each member, whether it was given with a name, and whether it has an average of its own."""
        if self.members is None:
            return {"members": None}
        if [name for name, _ in self._named()] != [*self._everyone()]:
            raise ValueError(
                f"The list of members of this {type(self).__name__} was changed in place: set members by `set_params(members=...)`."
            )
        own = [member.average is not None for _, member in self._named()]
        return {"members": [[isinstance(member, tuple | list), own] for member, own in zip(self.members, own, strict=True)]}

    @classmethod
    def _with_members(cls, packed: dict[str, Any], parts: dict[str, Any]) -> dict[str, Any]:
        if packed["members"] is None:
            return packed
        members = list[Any]()
        for (name, part), (named, own) in zip(parts.items(), packed["members"], strict=True):
            member = clone(part)
            if not own:
                member.average = None
            members.append((name, member) if named else member)
        return {**packed, "members": members}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of the committee and, with `deep`, of its members as member__parameter."""
        found: dict[str, Any] = super().get_params(deep=False)
        if deep and isinstance(self.members, list | tuple):
            for name, member in self._named():
                if isinstance(member, Learner):
                    found |= {f"{name}__{key}": value for key, value in member.get_params().items()}
        return found

    def set_params(self, **given: Any) -> Self:
        """Set parameters, those of the members as member__parameter."""
        super().set_params(**{key: value for key, value in given.items() if "__" not in key})
        of_members = {key: value for key, value in given.items() if "__" in key}
        if of_members:
            named = [(name, clone(member)) for name, member in self._named()]
            for key, value in of_members.items():
                name, _, parameter_ = key.partition("__")
                if name not in dict(named):
                    raise ValueError(f"There is no member {name!r}: they are {[name for name, _ in named]}.")
                dict(named)[name].set_params(**{parameter_: value})
            self.members = named
        return self


@parametric
class Committee(Voting, _Chosen):
    r"""Several classifiers over the same row in one pass, and one answer: by shares that follow their losses.

    Each member learns as if it were alone. Its scores, which may have any unit, are made probabilities, p_i = softmax(a_i z_i), z_i
    being scores divided by their usual size and a_i following the log loss of the member. The answer is the mixture

        p = sum_i s_i p_i,    s_i <- (1 - 0.0003) s_i exp(-[member i was wrong] / 2) / sum_j ... + 0.0003 / n.

    So it errs about as often as the best member, without a rate to tune; 0.0003 of the shares is dealt out anew after each example, so
    that a member can come back when the stream drifts. With `shares="hedge"` nothing is dealt out anew; with "adahedge", s_i is
    proportional to exp(-eta m_i), m_i being how often member i was wrong (by `sample_weight`) and eta = log(n) / (what mixing has cost
    so far).

    Beside the members, two kinds of voices have shares: of a member with an average, its present weights, which are better while a
    stream drifts; and the product of all, softmax(sum_i w_i a_i z_i), whose weights w follow its log loss, and which is better than
    each of them where they know different things: by the mean of its weights over the last thousand examples, and by those of now.

    Scores are log p, or for two classes log p_1 / p_0, so that `predict_proba` needs no calibration. Members see rows as they come: put
    a :class:`onepass.StandardScaler` before them, or take :class:`Auto`, which has one.

    References
    ----------
    Y. Freund, R. Schapire: A decision-theoretic generalization of on-line learning and an application to boosting. Journal of Computer
    and System Sciences 55 (1997), 119-139.
    M. Herbster, M. Warmuth: Tracking the best expert. Machine Learning 32 (1998), 151-178.
    S. de Rooij, T. van Erven, P. Grunwald, W. Koolen: Follow the leader if you can, hedge if you must. JMLR 15 (2014), 1281-1316.
    C. Mattern: Mixing strategies in data compression. Data Compression Conference 2012, 337-346.

    Examples
    --------
    A disc, of which linear members say little:

    >>> import numpy as np
    >>> from onepass import AROWClassifier, Committee, FOGD
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
    >>> y = (X**2).sum(axis=1) < 0.5
    >>> model = Committee([("line", AROWClassifier()), ("waves", FOGD(50, gamma=2.0, random_state=0))]).fit(X, y)
    >>> list(model.shares_), max(model.shares_, key=model.shares_.get) != "line"
    (['line', 'waves', 'product', 'product now'], True)
    """

    members: Any = parameter(more='None: AROW, and PA with C="auto".')

    _kind: ClassVar[Any] = Classifier
    _usual: ClassVar[tuple[Any, ...]] = (AROWClassifier(), PAClassifier(C="auto"))


@parametric
class CommitteeRegressor(Averaging, _Chosen):
    r"""Several regressors over the same row in one pass, and one answer: the mean of theirs, by shares that follow their errors.

    Each member learns as if it were alone. With e_i, the error of a member, and u, the mean of the committee's own squared errors so
    far, in which the past counts less and less,

        s_i <- (1 - 0.0003) s_i exp(-min(e_i^2 / u, 9) / 2) / sum_j ... + 0.0003 / n:

    Bayes' rule for normal errors of variance u, an outlier being no more than three deviations away. With `shares="hedge"` nothing is
    dealt out anew; with "adahedge", s_i is proportional to exp(-eta L_i), L_i being the sum of min(e_i^2 / u, 9) so far and
    eta = log(n) / (what mixing has cost so far). Of a member with an average, the present weights have a share as well.

    References
    ----------
    Y. Freund, R. Schapire: A decision-theoretic generalization of on-line learning and an application to boosting. Journal of Computer
    and System Sciences 55 (1997), 119-139.
    M. Herbster, M. Warmuth: Tracking the best expert. Machine Learning 32 (1998), 151-178.
    S. de Rooij, T. van Erven, P. Grunwald, W. Koolen: Follow the leader if you can, hedge if you must. JMLR 15 (2014), 1281-1316.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import AROWRegressor, CommitteeRegressor, PAMORegressor
    >>> x = np.random.default_rng(0).uniform(-2, 2, (3000, 1))
    >>> model = CommitteeRegressor([AROWRegressor(), PAMORegressor(random_state=0)]).fit(x, np.abs(x[:, 0]))
    >>> max(model.shares_, key=model.shares_.get)
    'pamoregressor'
    """

    members: Any = parameter(more="None: AROW and PA.")

    _kind: ClassVar[Any] = Regressor
    _usual: ClassVar[tuple[Any, ...]] = (AROWRegressor(), PARegressor())

"""The translator: subwords and a network, trained on a corpus, that goes on learning from its corrections."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import KW_ONLY, asdict, dataclass, fields, replace
from functools import cached_property
from numbers import Integral
from threading import local
from types import MappingProxyType
from typing import IO, Any, NamedTuple, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, validate_parameter_constraints

from onepass.base.conventions import BaseEstimator
from onepass.base.errors import DivergedError, ModelFileError
from onepass.base.parameters import COUNT, POSITIVE, among, parameter, parametric
from onepass.base.saving import Saved, name_of, pack_value, read, unpack_value
from onepass.base.state import Array
from onepass.base.writing import Locked
from onepass.translate.extra import torch
from onepass.translate.foreign import Foreign, ForeignWords
from onepass.translate.interactive import Effort, simulated
from onepass.translate.network import Transformer, loss_of, padded
from onepass.translate.search import Hypothesis, search
from onepass.translate.steps import MOMENTS, Moments, started, step
from onepass.translate.subwords import SPACE, Subwords
from onepass.translate.training import Pair, batches, gradient, train_step

log = logging.getLogger(__name__)

LONGEST = 500  # subwords of a sentence
DEEPEST = 100  # layers of a stack
RATES = {"sgd": 0.03, "adagrad": 0.003, "adadelta": 0.3, "adam": 0.0003}


class Progress(NamedTuple):
    """How far a training is: steps made and to be made, whole passes over the corpus, whether this step ended one, and its loss."""

    step: int
    total: int
    passes: int
    ends_pass: bool
    loss: float


@dataclass(frozen=True)
class Training:
    """A training that is not at its end: its seed, steps made, the moments of Adam, and a stamp of the corpus."""

    seed: int
    t: int
    moments: Moments
    corpus: str


@dataclass(frozen=True)
class Knowledge:
    """One version of what a translator knows. Learning makes another one."""

    network: Any
    subwords: Any
    w: Any
    rule: str
    moments: Moments
    t: int = 0  # steps since the moments began
    count: int = 0  # corrections that were learned from
    training: Training | None = None

    @cached_property
    def views(self) -> dict[str, Any]:
        """The weights by name."""
        return self.network.views(self.w)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "views"}  # each would be pickled as a whole vector


class _Steadily(local):
    """Sums by one thread: with more of them they are rounded in another order, and bits depend on the machine. PyTorch's setting is one
    for each thread that asks, which gets its own back in the end. Gradients can be had inside, whatever the caller has switched off."""

    _inside, _before = 0, 1

    @contextmanager
    def __call__(self) -> Iterator[None]:
        if not self._inside:
            self._before = torch.get_num_threads()
        self._inside += 1
        torch.set_num_threads(1)
        try:
            with torch.inference_mode(False), torch.enable_grad():
                yield
        finally:
            self._inside -= 1
            if not self._inside:
                torch.set_num_threads(self._before)


steadily = _Steadily()


class _Knowing(Saved, Locked, BaseEstimator):
    """What has versions of its knowledge; readers take one, and a writer puts another in its place."""

    _state: Knowledge | None = None
    # What was said along a stream by `onepass translate adapt`, for going on with it: an `evaluate.translations.Adaptation` as a dict.
    # In a file it is bytes: the header, where metadata are, has 100 MB at most.
    _said: Mapping[str, Any] = MappingProxyType({})

    def __sklearn_is_fitted__(self) -> bool:
        return self._state is not None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_lock"}

    def _known(self) -> Knowledge:
        if self._state is None:
            raise NotFittedError(
                "This Translator knows nothing yet: train it with fit, or by the command `onepass translate train`, or load one."
            )
        return self._state


@parametric
class Translator(_Knowing):
    r"""A Transformer that translates, and learns from each translation that its user corrects.

    p(y | x) = prod p(y_i | y_1 .. y_i-1, x) is trained on a corpus (`fit`, `train`). Then, sentence by sentence: `translate`, the user
    corrects, and `learn_one` takes one step along the gradient g of the loss -log p(y | x) / |y| of the correction, before the next
    sentence is translated; by default w -= min(C, loss / |g|^2) g. A step that makes the loss grow without bound is refused.

    It needs an extra: pip install "onepass[translate]".

    References
    ----------
    A. Vaswani, N. Shazeer, N. Parmar, J. Uszkoreit, L. Jones, A. Gomez, L. Kaiser, I. Polosukhin: Attention is all you need. NeurIPS
    2017.
    A. Peris, F. Casacuberta: Online learning for effort reduction in interactive neural machine translation. Computer Speech & Language
    58 (2019), 98-126.

    Examples
    --------
    >>> from onepass import Translator
    >>> german, english = ["ein Hund", "eine Katze", "ein Haus"], ["a dog", "a cat", "a house"]
    >>> model = Translator(C=0.1, max_iter=150, d=32, inner=64, random_state=0).fit(german, english)
    >>> model.translate("eine Katze")
    'a cat'
    >>> for _ in range(6):
    ...     model.learn_one("eine Katze", "a house cat")
    >>> model.translate("eine Katze"), model.translate("ein Hund"), model.translate("ein Hund", prefix="one ")
    ('a house cat', 'a dog', 'one dog')
    """

    step: str = parameter(
        "pa",
        among("pa", "sgd", "adagrad", "adadelta", "adam"),
        matters=True,
        text='How far a step goes along the gradient of a correction: "pa" is the passive-aggressive one, which C limits; the others'
        " have a `rate`.",
    )
    _: KW_ONLY
    rate: float | None = parameter(
        None,
        POSITIVE,
        None,
        cautious="smaller",
        text='How fast the other steps go. None: 0.03 for "sgd", 0.003 for "adagrad", 0.3 for "adadelta", 0.0003 for "adam".',
    )
    C: float = parameter(
        0.3, POSITIVE, cautious="smaller", text='For "pa", the longest step along the gradient of a correction.'
    )
    repeats: int = parameter(1, COUNT, matters=True, text="How many steps are made for each correction.")
    beam: int = parameter(4, COUNT, text="How many translations are kept while searching for the best; 1 is greedy.")
    vocabulary: int = parameter(
        4000, Interval(Integral, 300, None, closed="left"), text="The most subwords, of both languages."
    )
    d: int = parameter(128, COUNT, text="The width of the network; a multiple of 2 and of `heads`.")
    inner: int = parameter(512, COUNT, text="The width inside a layer.")
    layers: int = parameter(
        2, Interval(Integral, 1, DEEPEST, closed="both"), text="The layers of the encoder, and those of the decoder."
    )
    heads: int = parameter(4, COUNT, text="The heads of attention.")
    max_iter: int = parameter(10, COUNT, matters=True, text="How many passes `fit` and `train` make over a corpus.")
    random_state: Any = parameter(
        None, "random_state", text="The seed of the first weights, of dropout and of the order of the corpus."
    )

    # --- training ---

    def fit(self, X: Iterable[str], y: Iterable[str]) -> Self:
        """Start anew, and train on sentences and their translations to the end."""
        with self._lock:
            fresh = self.copy()  # readers see what was known before until all is learned
            fresh._state = None
            for _ in fresh.train(X, y):
                pass
            self._state, self._said = fresh._state, {}
        return self

    def train(self, X: Iterable[str], y: Iterable[str]) -> Iterator[Progress]:
        """Train on a corpus step by step, each at the caller's request; a training that was stopped, or saved and loaded, goes on where
        it stopped, to the same bits. Pairs with an empty side, and those with more than 500 subwords, are left out."""
        self._check_parameters()
        texts = _corpus(X, y)
        with self._lock, steadily():
            known = latest = self._state
            if known is None:
                seed = int(check_random_state(self.random_state).randint(2**31 - 1))
                subwords = Subwords.found([text for pair in texts for text in pair], self.vocabulary)
                network = Transformer(len(subwords), self.d, self.inner, self.layers, self.layers, self.heads)
                w = network.drawn(seed)
                begun = Training(seed, 0, started("adam", w), "")
                known = Knowledge(network, subwords, w, self.step, started(self.step, w), training=begun)
        pairs = _usable(known, texts)
        if len(pairs) < len(texts):
            log.warning("left out %d pairs of more than %d subwords", len(texts) - len(pairs), LONGEST)
        if not pairs:
            raise ValueError(f"All sentences of the corpus have more than {LONGEST} subwords: cut them up.")
        stamp = hashlib.blake2b(repr(pairs).encode(), digest_size=16).hexdigest()
        training = known.training
        if training is None:
            raise ValueError("The translator was trained to the end already: learn_one and partial_fit go on from there.")
        if training.corpus not in ("", stamp):
            raise ValueError(
                "The translator was trained on another corpus, and is not at the end of it: go on with that, or use fit."
            )
        plan = [batches(pairs, training.seed, number) for number in range(self.max_iter)]
        total, t = sum(map(len, plan)), 0
        for number, several in enumerate(plan):
            for i, places in enumerate(several):
                t += 1
                if t <= training.t:
                    continue
                with self._lock, steadily():
                    if self._state is not latest:
                        raise ValueError(
                            "The translator learned something else after the last step: this training can't go on from there."
                        )
                    batch = [pairs[place] for place in places]
                    loss, w, moments = train_step(known.network, known.w, training.moments, batch, training.seed, t, total)
                    if not math.isfinite(loss):
                        raise DivergedError(f"The loss of step {t} is {loss}: the training has diverged.")
                    training = replace(training, t=t, moments=moments, corpus=stamp)
                    known = latest = self._state = replace(known, w=w, training=None if t == total else training)
                ends = i + 1 == len(several)
                yield Progress(t, total, number + ends, ends, loss)

    def takes(self, source: str, target: str) -> bool:
        """Whether a pair can be learned from: no side is empty, or has more than 500 subwords."""
        return bool(_usable(self._known(), [(source, target)]))

    @property
    def trained_(self) -> bool:
        """Whether the training is at its end."""
        return self._known().training is None

    @property
    def size_(self) -> int:
        """The number of weights."""
        return int(self._known().network.size)

    # --- translating ---

    def translate(self, sentence: str, prefix: str = "") -> str:
        """The translation of a sentence, which begins with `prefix`: what its user has typed or accepted so far. If that ends with a
        blank its last word is whole; else the word may go on."""
        known = self._known()
        return str(known.subwords.decode(self._search(known, sentence, prefix, self.beam)[0].tokens))

    def n_best(self, sentence: str, n: int = 10, prefix: str = "") -> list[tuple[str, float]]:
        """At most n different translations, the best first, each with its log-probability."""
        if not isinstance(n, Integral) or n < 1:
            raise ValueError(f"n is a number from 1 on, got {n!r}.")
        known = self._known()
        found = dict[str, float]()
        for one in self._search(known, sentence, prefix, max(n, self.beam)):
            found.setdefault(known.subwords.decode(one.tokens), one.score)
        return list(found.items())[:n]

    def predict_one(self, x: str) -> str:
        """The translation of a sentence."""
        return self.translate(x)

    def predict(self, X: Iterable[str]) -> list[str]:
        """The translation of each sentence."""
        return [self.translate(sentence) for sentence in _texts(X, "sentences")]

    def loss(self, sentence: str, translation: str) -> float:
        """-log p(y | x) / |y| of a translation, over its subwords and the end."""
        known = self._known()
        with steadily(), torch.no_grad():
            return _loss(known, [_pair(known, sentence, translation)])

    def interactive(self, sentence: str, reference: str, unit: str = "word") -> Effort:
        """What it takes a user to get `reference` out of the translator, who accepts what is right so far, corrects the first "word" or
        "character" that is not, and is given another end for it; see :class:`Effort`."""
        _checked(reference, self._known().subwords.target, "reference")
        return simulated(lambda prefix: self.translate(sentence, prefix), reference, unit)

    def _search(self, known: Knowledge, sentence: str, prefix: str, beam: int) -> list[Hypothesis]:
        self._check_parameters()
        source = _checked(sentence, known.subwords.source, "sentence")
        most = 2 * len(source) + 10
        if prefix == "":
            with steadily(), torch.no_grad():
                return search(known.network, known.views, source, beam, most)
        # A text that can be learned may be cut within a subword, of which then each byte may be one.
        _checked(prefix, known.subwords.encode, "prefix", LONGEST + max(map(len, known.subwords.pieces)))
        whole, _, begun = prefix.rpartition(" ")
        forced, rest = known.subwords.encode(whole), f" {begun}".encode()

        def allowed(tokens: Sequence[int]) -> Any:
            typed = b"".join(known.subwords.pieces[token] for token in tokens)
            return known.subwords.allowed(rest[len(typed) :]) if len(typed) < len(rest) else None

        with steadily(), torch.no_grad():
            return search(known.network, known.views, source, beam, most + len(rest), forced, allowed)

    # --- learning ---

    def learn_one(self, x: str, y: str) -> None:
        """Learn from a sentence and the translation that its user wants."""
        self._check_parameters()
        with self._lock, steadily():
            known = self._ready()
            self._state = self._learned(known, _pair(known, x, y))

    def partial_fit(self, X: Iterable[str], y: Iterable[str]) -> Self:
        """Learn from sentences and their translations, one after the other; after an error none of them was learned from."""
        self.test_then_train(X, y, translate=False)
        return self

    def test_then_train(self, X: Iterable[str], y: Iterable[str], *, translate: bool = True) -> list[str]:
        """Translate each sentence, and then learn from it; the translations."""
        self._check_parameters()
        sources, targets = _texts(X, "sources"), _texts(y, "targets")
        _check_sides(sources, targets)
        found = list[str]()
        with self._lock:
            self._known()  # or there is nothing that learns, were it from no pair at all
            learner = self.copy()  # readers see what was known before until all is learned
            for source, target in zip(sources, targets, strict=True):
                if translate:
                    found.append(learner.translate(source))
                learner.learn_one(source, target)
            self._state = learner._state
        return found

    @property
    def t_(self) -> int:
        """The number of corrections that were learned from."""
        return self._known().count

    def _ready(self) -> Knowledge:
        """What is known, with the moments of the rule that is wanted; another rule starts its own."""
        known = self._known()
        if known.rule != self.step:
            return replace(known, rule=self.step, moments=started(self.step, known.w), t=0)
        return known

    def _learned(self, known: Knowledge, pair: Pair) -> Knowledge:
        sources, targets = padded([pair[0]]), padded([pair[1]])
        rate = self.C if self.step == "pa" else RATES[self.step] if self.rate is None else self.rate
        w, moments, t, losses = known.w, known.moments, known.t, list[float]()
        for _ in range(self.repeats):
            loss, g = gradient(known.network, w, sources, targets)
            losses.append(loss if math.isfinite(float(g.dot(g))) else math.inf)
            if not math.isfinite(losses[-1]):
                break
            t += 1
            w, moments = step(self.step, w, g, loss, float(rate), moments, t)
        after = replace(known, w=w, moments=moments, t=t, count=known.count + 1, training=None)
        if math.isfinite(losses[-1]):
            with torch.no_grad():
                losses.append(_loss(after, [pair]))
        first, loss = losses[0], losses[-1]
        if not (math.isfinite(loss) and loss <= first + math.log(known.network.vocabulary)):
            raise DivergedError(
                f"The step would bring the loss of the correction from {first:.3g} to {loss:.3g} and was not made: the weights are as"
                f" before. Make {'C' if self.step == 'pa' else 'rate'} smaller than {rate:g}."
            )
        return after

    # --- models of others ---

    @classmethod
    def adapting(cls, model: Any, tokenizer: Any, **parameters: Any) -> Self:
        """A translator that goes on with a model of Hugging Face (`transformers`) for sequence to sequence and its tokenizer. The model
        itself is not changed; `adapted` gives one that is."""
        translator = cls(**parameters)
        translator._check_parameters()
        network = Foreign(model)
        w = network.vector()
        words = ForeignWords(tokenizer, network)
        translator._state = Knowledge(network, words, w, translator.step, started(translator.step, w))
        return translator

    def adapted(self) -> Any:
        """A copy of the model that `adapting` was given, with the weights that it has by now."""
        known = self._known()
        if not isinstance(known.network, Foreign):
            raise ValueError("This translator is no model of another library: save it as it is.")
        module = deepcopy(known.network.module)
        module.load_state_dict(known.views, strict=False)
        return module

    def resume(self, path: str | os.PathLike[str] | IO[bytes]) -> Self:
        """Go on with what was learned about the model that `adapting` was given, when that was saved."""
        known, (header, arrays) = self._known(), read(path)
        try:
            if header["class"] != "Translator" or (header["known"] or {}).get("network") != _about(known.network):
                raise ModelFileError("it was not saved by a translator of this model")
            translator = type(self)(**{name: unpack_value(value) for name, value in header["parameters"].items()})
            translator._check_parameters()
            state, facts = _unpacked(header["known"], arrays, known.network, known.subwords), dict(header.get("metadata") or {})
        except Exception as error:  # whatever a damaged header leads to
            raise ModelFileError(f"{name_of(path)} can't be gone on with: {error}") from error
        with self._lock:
            self.set_params(**translator.get_params(deep=False))
            self._state, self._metadata = state, facts
        return self

    # --- what all models have ---

    def copy(self) -> Self:
        """An independent copy."""
        other = type(self)(**self.get_params(deep=False))
        other._state = self._state  # versions never change
        return other

    def _check_parameters(self) -> None:
        validate_parameter_constraints(self._parameter_constraints, self.get_params(deep=False), caller_name="Translator")  # type: ignore[attr-defined]
        if self.d % 2 or self.d % self.heads:
            raise ValueError(f"d must be a multiple of 2 and of heads, got d={self.d} and heads={self.heads}.")

    # --- files ---

    def _stamp(self) -> str:
        """What tells one's weights and subwords from another's."""
        known = self._known()
        content = known.w.numpy().tobytes() + known.subwords.content
        return hashlib.blake2b(content, digest_size=16).hexdigest()

    def _pack(self) -> tuple[dict[str, Any], dict[str, Array]]:
        self._check_parameters()  # or the file could not be loaded
        parameters = {name: pack_value(value) for name, value in self.get_params(deep=False).items()}
        header: dict[str, Any] = {"class": "Translator", "parameters": parameters, "known": None}
        known = self._state
        if known is None:
            return header, {}
        training = known.training
        packed = {"network": _about(known.network), "rule": known.rule, "t": known.t, "count": known.count}
        arrays = {"w": known.w, **known.moments}
        if training is not None:
            arrays |= {f"training/{name}": vector for name, vector in training.moments.items()}
        packed["training"] = None if training is None else {"seed": training.seed, "t": training.t, "corpus": training.corpus}
        found = {name: vector.numpy() for name, vector in arrays.items()}
        if isinstance(known.subwords, Subwords):
            found["subwords"] = np.frombuffer(known.subwords.content, np.uint8)
        if self._said:
            found["said"] = np.frombuffer(json.dumps(dict(self._said)).encode(), np.uint8)
        return {**header, "known": packed}, found

    @classmethod
    def _unpack(cls, header: dict[str, Any], arrays: dict[str, Array]) -> Self:
        translator = cls(**{name: unpack_value(value) for name, value in header["parameters"].items()})
        translator._check_parameters()
        packed = header["known"]
        if packed is None:
            return translator
        if "foreign" in packed["network"]:
            raise ModelFileError(
                f"it holds what was learned about a {packed['network']['foreign']} of yours: Translator.adapting(model,"
                " tokenizer).resume(path) goes on with it"
            )
        sizes = {name: _whole(packed["network"], name, 1) for name in (field.name for field in fields(Transformer))}
        deep = max(sizes["encoders"], sizes["decoders"])
        if max(sizes.values()) > 2**20 or deep > DEEPEST or sizes["d"] % sizes["heads"] or sizes["d"] % 2:
            raise ModelFileError(f"The model file is damaged: no network has the sizes {sizes}.")
        network, subwords = Transformer(**sizes), Subwords(_bytes(arrays, "subwords"))
        if len(subwords) != network.vocabulary:
            raise ModelFileError(
                f"The model file is damaged: it has {len(subwords)} subwords and weights for {network.vocabulary}."
            )
        if "said" in arrays:
            translator._said = _told(json.loads(_bytes(arrays, "said")))
        translator._state = _unpacked(packed, arrays, network, subwords)
        return translator


def _bytes(arrays: dict[str, Array], name: str) -> bytes:
    """The content of an array, which is taken out."""
    array = arrays.pop(name)
    if array.dtype != np.uint8 or array.ndim != 1:
        raise ModelFileError(f"The model file is damaged: its array {name!r} is no bytes.")
    return array.tobytes()


def _told(said: Any) -> dict[str, Any]:
    """What was said along a stream, checked."""
    kinds = {"references": list, "static": list, "learning": list, "translating": float, "stepping": float, "began": str}
    if not isinstance(said, dict) or {name: type(value) for name, value in said.items()} != kinds:
        raise ModelFileError("The model file is damaged: what it says of a stream is not what was written.")
    several, n = [said["references"], said["learning"], said["static"] or said["references"]], len(said["references"])
    if any(len(texts) != n or not all(isinstance(text, str) for text in texts) for texts in several):
        raise ModelFileError(
            "The model file is damaged: the sentences of its stream and their translations do not fit together."
        )
    return said


def _about(network: Any) -> dict[str, Any]:
    """What a file says of a network."""
    if isinstance(network, Transformer):
        return asdict(network)
    return {"foreign": type(network.module).__name__, "size": network.size}


def _unpacked(packed: dict[str, Any], arrays: dict[str, Array], network: Any, subwords: Any) -> Knowledge:
    """What a file holds of a network, checked."""
    rule, training = packed["rule"], packed["training"]
    names = ["w", *MOMENTS[rule], *(f"training/{name}" for name in MOMENTS["adam"] if training is not None)]
    if set(arrays) != set(names):
        raise ModelFileError(f"The model file is damaged: it has the arrays {sorted(arrays)}.")
    vectors = {name: _vector(name, arrays[name], network.size) for name in names}
    moments = {name: vectors[name] for name in MOMENTS[rule]}
    begun = None
    if training is not None:
        begun = _training(training, {name: vectors[f"training/{name}"] for name in MOMENTS["adam"]})
    return Knowledge(network, subwords, vectors["w"], rule, moments, _whole(packed, "t"), _whole(packed, "count"), begun)


def _training(packed: dict[str, Any], moments: Moments) -> Training:
    return Training(_whole(packed, "seed"), _whole(packed, "t"), moments, str(packed["corpus"]))


def _whole(packed: dict[str, Any], name: str, least: int = 0) -> int:
    value = packed[name]
    if type(value) is not int or not least <= value < 2**63:
        raise ModelFileError(f"The model file is damaged: it has {value!r} as {name!r}.")
    return value


def _vector(name: str, array: Array, size: int) -> Any:
    moment = name.rpartition("/")[2] == "n"
    if array.dtype != np.float32 or array.shape != (size,) or not np.isfinite(array).all() or (moment and (array < 0).any()):
        raise ModelFileError(f"The model file is damaged: its array {name!r} is not what a network of its sizes has.")
    with steadily():
        return torch.from_numpy(array).clone()  # aligned as if it had been computed, or sums might be rounded otherwise


# --- texts ---


def _texts(texts: Iterable[str], what: str) -> list[str]:
    if isinstance(texts, str):
        raise TypeError(f"Expected a list of {what}, got one text; for one there are learn_one and predict_one.")
    return list(texts)


def _corpus(X: Iterable[str], y: Iterable[str]) -> list[tuple[str, str]]:
    sources, targets = _texts(X, "sources"), _texts(y, "targets")
    _check_sides(sources, targets)
    for text in (*sources, *targets):
        _check_text(text)
    pairs = [
        (source, target)
        for source, target in zip(sources, targets, strict=True)
        if not _is_empty(source) and not _is_empty(target)
    ]
    if not pairs:
        raise ValueError("There are no sentences to learn from.")
    return pairs


def _check_sides(sources: Sequence[str], targets: Sequence[str]) -> None:
    if len(sources) != len(targets):
        raise ValueError(
            f"There are {len(sources):,} sources and {len(targets):,} targets: a sentence and its translation must have the same place."
        )


def _check_text(text: Any) -> None:
    if not isinstance(text, str):
        raise TypeError(f"A sentence is a text, got {type(text).__name__}.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"A sentence is a text, got {text[error.start]!r} in it, which is half a letter (a surrogate)."
        ) from None


def _is_empty(text: str) -> bool:
    """Whether there is no subword in it."""
    return not text.replace(SPACE, " ").strip()


def _checked(text: str, tokens_of: Callable[[str], list[int]], what: str, most: int = LONGEST) -> list[int]:
    _check_text(text)
    if _is_empty(text):
        raise ValueError(f"The {what} is empty: give one word at least.")
    tokens = tokens_of(text)
    if len(tokens) > most + 2:
        raise ValueError(
            f"The {what} has {len(text.split()):,} words, which are {len(tokens):,} subwords, and {most} are the most: cut it up."
        )
    return tokens


def _pair(known: Knowledge, source: str, target: str) -> Pair:
    subwords = known.subwords
    return _checked(source, subwords.source, "sentence"), _checked(target, subwords.target, "translation")


def _usable(known: Knowledge, texts: Iterable[tuple[str, str]]) -> list[Pair]:
    """The pairs that can be learned from, without the others."""
    found = list[Pair]()
    for source, target in texts:
        with suppress(ValueError):
            found.append(_pair(known, source, target))
    return found


def _loss(known: Knowledge, pairs: Sequence[Pair]) -> float:
    sources, targets = (padded(side) for side in zip(*pairs, strict=True))
    return float(loss_of(known.network, known.views, sources, targets))

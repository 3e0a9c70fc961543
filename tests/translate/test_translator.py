"""The translator: learning, bits, files, bad input."""

from __future__ import annotations

import io
import json
import pickle
import random
import threading
from dataclasses import replace
from operator import eq
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load as arrays_of
from safetensors.numpy import save as packed
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import onepass
from onepass import DivergedError, ModelFileError, Translator

torch = pytest.importorskip("torch", reason="it needs the extra, which `make test-translate` installs")
pytest.importorskip("sentencepiece")

pytest.importorskip("sacrebleu")

from onepass.evaluate.translations import Adaptation  # noqa: E402
from onepass.translate.translator import steadily  # noqa: E402

STEPS = ("adagrad", "adadelta", "sgd", "adam", "pa")
RATES = {"adagrad": 0.003, "adadelta": 0.3, "sgd": 0.05, "adam": 0.001}
NOUNS = {"Hund": "dog", "Katze": "cat", "Haus": "house", "Baum": "tree"}
VERBS = {"schläft": "rests", "läuft": "runs", "steht": "stands"}
PAIRS = [(f"der {a} {b}", f"the {c} {d}") for a, c in NOUNS.items() for b, d in VERBS.items()]
GERMAN, ENGLISH = map(list, zip(*PAIRS, strict=True))
STREAM = [("der Hund steht", "the hound stands"), ("der Baum schläft", "the tree dreams"), ("die Katze läuft", "the cat walks")]


def tiny(**parameters: Any) -> Translator:
    return Translator(**{"max_iter": 300, "d": 32, "inner": 64, "layers": 1, "heads": 2, "random_state": 0, **parameters})


@pytest.fixture(scope="module")
def trained() -> Translator:
    return tiny().fit(GERMAN, ENGLISH)


def bits(model: Translator) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in model._pack()[1].items()}


def saved(model: Translator) -> bytes:
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


def loaded(content: bytes) -> Any:
    return onepass.load(io.BytesIO(content))


# --- what it learns ---


def test_it_translates_what_it_was_trained_on(trained: Translator) -> None:
    assert sum(map(eq, trained.predict(GERMAN), ENGLISH)) >= 10
    assert trained.trained_


@pytest.mark.parametrize("step", STEPS)
def test_it_learns_from_corrections(trained: Translator, step: str) -> None:
    model = trained.copy().set_params(step=step, rate=RATES.get(step))
    source, wanted = STREAM[0]
    before, first = model.loss(source, wanted), bits(trained)
    for _ in range(5):
        model.learn_one(source, wanted)
    assert model.loss(source, wanted) < before - 0.1
    assert model.t_ == 5
    assert bits(trained) == first


def test_several_steps_are_steps(trained: Translator) -> None:
    once, twice = (trained.copy().set_params(step="sgd", repeats=n) for n in (1, 2))
    for _ in range(2):
        once.learn_one(*STREAM[0])
    twice.learn_one(*STREAM[0])
    assert bits(once) == bits(twice)
    assert (once.t_, twice.t_) == (2, 1)


# --- bits ---


@pytest.mark.parametrize("step", STEPS)
def test_resuming_gives_the_same_bits(trained: Translator, step: str) -> None:
    whole, stopped = (trained.copy().set_params(step=step) for _ in range(2))
    for pair in STREAM:
        whole.learn_one(*pair)
        stopped = loaded(saved(stopped))
        stopped.learn_one(*pair)
    assert bits(whole) == bits(stopped)
    assert whole.predict(GERMAN) == stopped.predict(GERMAN)
    cut = trained.copy().set_params(step=step)
    sources, targets = zip(*STREAM, strict=True)
    cut.partial_fit(sources[:1], targets[:1]).partial_fit(sources[1:], targets[1:])
    assert bits(cut) == bits(whole)


def test_a_training_that_was_stopped_goes_on_to_the_same_bits() -> None:
    whole = tiny(max_iter=7).fit(GERMAN, ENGLISH)
    model = tiny(max_iter=7)
    for progress in model.train(GERMAN, ENGLISH):
        if progress.step == 3:
            break
    assert not model.trained_
    model = loaded(saved(model))
    assert [progress.step for progress in model.train(GERMAN, ENGLISH)] == [4, 5, 6, 7]
    assert bits(model) == bits(whole)
    with pytest.raises(ValueError, match="trained to the end"):
        next(model.train(GERMAN, ENGLISH))


def test_another_corpus_is_not_gone_on_with() -> None:
    model = tiny(max_iter=3)
    next(model.train(GERMAN, ENGLISH))
    with pytest.raises(ValueError, match="another corpus"):
        next(model.train(GERMAN[1:], ENGLISH[1:]))


def test_more_letters_than_subwords() -> None:
    """The rare ones are spelled by their bytes."""
    letters = [chr(0x4E00 + i) for i in range(600)]
    model = tiny(max_iter=1, vocabulary=300).fit([*letters, "ein Hund"], [*letters, "a dog"])
    assert len(model._known().subwords) <= 300
    assert model._known().subwords.decode(model._known().subwords.encode(letters[-1])) == letters[-1]


def test_test_then_train_is_translating_and_learning(trained: Translator) -> None:
    one, other = trained.copy(), trained.copy()
    sources, targets = zip(*STREAM, strict=True)
    said = []
    for pair in STREAM:
        said.append(one.predict_one(pair[0]))
        one.learn_one(*pair)
    assert other.test_then_train(sources, targets) == said
    assert bits(one) == bits(other)


def test_threads_are_given_back(trained: Translator) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        model = trained.copy()
        model.learn_one(*STREAM[0])
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    other = trained.copy()
    other.learn_one(*STREAM[0])
    assert bits(model) == bits(other)


def test_readers_and_a_writer_side_by_side(trained: Translator) -> None:
    """Each reader sees one whole version: what it says is what one of the versions says."""
    model, versions, said = trained.copy().set_params(step="pa", C=0.3), [trained.copy()], list[str]()
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            said.append(model.translate(STREAM[0][0]))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for _ in range(6):
        model.learn_one(*STREAM[0])
        versions.append(model.copy())
    done.set()
    for reader in readers:
        reader.join()
    assert set(said) <= {version.translate(STREAM[0][0]) for version in versions}
    alone = trained.copy().set_params(step="pa", C=0.3)
    for _ in range(6):
        alone.learn_one(*STREAM[0])
    assert bits(alone) == bits(model)


def test_threads_have_their_own_setting(trained: Translator) -> None:
    """PyTorch's is one for each thread: who begins first and ends first gives its own back, whoever is inside."""
    first_inside, second_inside, first_outside = (threading.Event() for _ in range(3))
    found = []

    def first() -> None:
        torch.set_num_threads(2)
        with steadily():
            first_inside.set()
            second_inside.wait(10)
        found.append(torch.get_num_threads())
        first_outside.set()

    def second() -> None:
        first_inside.wait(10)
        with steadily():
            second_inside.set()
            first_outside.wait(10)

    threads = [threading.Thread(target=run) for run in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [2]


def test_readers_see_nothing_that_is_taken_back(trained: Translator) -> None:
    """While a call learns from many pairs, or all anew, the version from before it is there."""
    model, seen = trained.copy(), list[Any]()

    class Watched(Translator):
        def learn_one(self, x: str, y: str) -> None:
            seen.append((bits(model), model.t_))
            super().learn_one(x, y)

        def train(self, X: Any, y: Any) -> Any:
            for progress in super().train(X, y):
                seen.append((bits(model), model.t_))
                yield progress

    model = Watched(**{**trained.get_params(), "max_iter": 2})
    model._state = trained._state
    with pytest.raises(ValueError, match="empty"):
        model.partial_fit([*GERMAN[:2], ""], ENGLISH[:3])
    model.partial_fit(GERMAN[:2], ENGLISH[:2])
    assert model.t_ == 2
    learned = bits(model)
    model.fit(GERMAN, ENGLISH)
    assert seen == [(bits(trained), 0)] * 5 + [(learned, 2)] * 2
    assert model.t_ == 0


def test_learning_where_no_gradients_are_kept(trained: Translator) -> None:
    wanted = trained.copy()
    wanted.learn_one(*STREAM[0])
    wanted.learn_one(*STREAM[1])
    for without in (torch.no_grad, torch.inference_mode):
        model = trained.copy()
        with without():
            learner = loaded(saved(model))
            model.learn_one(*STREAM[0])
        learner.learn_one(*STREAM[0])
        for one in (model, learner):
            one.learn_one(*STREAM[1])
        assert bits(learner) == bits(wanted)
        assert bits(model) == bits(wanted)


def test_another_default_type_changes_nothing() -> None:
    wanted = bits(tiny(max_iter=1).fit(GERMAN, ENGLISH))
    torch.set_default_dtype(torch.float64)
    try:
        found = bits(tiny(max_iter=1).fit(GERMAN, ENGLISH))
    finally:
        torch.set_default_dtype(torch.float32)
    assert found == wanted


def test_another_rule_starts_its_own_moments(trained: Translator) -> None:
    model = trained.copy().set_params(step="adam")
    model.learn_one(*STREAM[0])
    model.set_params(step="sgd").learn_one(*STREAM[1])
    assert set(bits(model)) == {"subwords", "w"}


# --- prefixes and lists ---


@pytest.mark.parametrize("prefix", ["the", "the ", "the ho", "the dog re", "a ", "ünknöwn Ω ", "x", "the dog rests"])
def test_translations_begin_with_what_was_typed(trained: Translator, prefix: str) -> None:
    found = trained.translate("der Hund schläft", prefix=prefix)
    assert f"{found} ".startswith(prefix)


def test_a_prefix_of_the_best_translation_changes_nothing(trained: Translator) -> None:
    for source, target in PAIRS:
        for n in (1, 2):
            prefix = " ".join(target.split()[:n]) + " "
            assert trained.translate(source, prefix=prefix) == target


def test_n_best(trained: Translator) -> None:
    found = trained.n_best("der Hund schläft", 5)
    assert len(found) == 5
    assert found[0][0] == trained.translate("der Hund schläft") == "the dog rests"
    assert len({text for text, _ in found}) == 5
    n = len(trained._known().subwords.encode("the dog rests")) + 1
    assert found[0][1] == pytest.approx(-n * trained.loss("der Hund schläft", "the dog rests"), rel=1e-4)


def test_interactive(trained: Translator) -> None:
    assert trained.interactive("der Hund schläft", "the dog rests") == (0, 1, 3)
    effort = trained.interactive("der Hund schläft", "the hound rests")
    assert effort.strokes >= 1
    assert effort.length == 3
    typed = trained.interactive("der Hund schläft", "the hound rests", unit="character")
    assert 0 < typed.strokes < typed.length == 15


# --- bad input ---


def test_nothing_is_known_before_training() -> None:
    for ask in (lambda m: m.translate("x"), lambda m: m.learn_one("x", "y"), lambda m: m.t_):
        with pytest.raises(NotFittedError, match="translate train"):
            ask(tiny())


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("", "a", "sentence is empty"),
        (" \t", "a", "sentence is empty"),
        ("a", "", "translation is empty"),
        ("\u2581", "a", "sentence is empty"),
        ("a", "\u2581 \u2581", "translation is empty"),
        ("\ud800", "a", "surrogate"),
        ("a", "b \udfff", "surrogate"),
        ("Haus " * 10_000, "house", "10,000 words"),
        ("Haus", "house " * 10_000, "10,000 words"),
        (None, "a", "got NoneType"),
        (["a"], "a", "got list"),
    ],
)
def test_bad_pairs_change_nothing(trained: Translator, source: Any, target: Any, message: str) -> None:
    model = trained.copy()
    before = bits(model)
    with pytest.raises((ValueError, TypeError), match=message):
        model.learn_one(source, target)
    with pytest.raises((ValueError, TypeError), match=message):
        model.partial_fit([*GERMAN, source], [*ENGLISH, target])
    assert bits(model) == before


def test_bad_sentences_are_not_translated(trained: Translator) -> None:
    for sentence, message in (
        ("", "empty"),
        ("  ", "empty"),
        ("\u2581", "empty"),
        ("\ud800", "surrogate"),
        ("Haus " * 10_000, "cut it up"),
        (7, "got int"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            trained.translate(sentence)
    long = ("house " * 10_000, "cut it up"), ("x" * 8000, "cut it up"), ("the " + "x" * 8000, "cut it up")
    for prefix, message in (("  ", "empty"), *long, (7, "got int"), ("\ud800", "surrogate")):
        with pytest.raises((ValueError, TypeError), match=f"prefix.*{message}|{message}"):
            trained.translate("Haus", prefix=prefix)


def test_unknown_letters_are_spelled(trained: Translator) -> None:
    model = trained.copy().set_params(step="pa", C=0.5)
    assert isinstance(model.translate("Ωμέγα 漢字 🙂 \x00"), str)
    wanted = "the 漢 stands"
    before = model.loss("der 漢 steht", wanted)
    model.learn_one("der 漢 steht", wanted)
    assert model.loss("der 漢 steht", wanted) < before


@pytest.mark.parametrize(("step", "rate"), [("sgd", 1e6), ("adam", 100.0), ("adagrad", 1e30), ("adadelta", 1e8)])
def test_a_divergent_step_is_refused(trained: Translator, step: str, rate: float) -> None:
    model = trained.copy().set_params(step=step, rate=rate)
    before = bits(model)
    with pytest.raises(DivergedError, match="weights are as before"):
        model.learn_one(*STREAM[0])
    assert bits(model) == before
    assert model.predict(GERMAN[:2]) == ENGLISH[:2]
    model.set_params(rate=None).learn_one(*STREAM[0])


def test_an_error_tells_the_loss_of_before(trained: Translator) -> None:
    model = trained.copy().set_params(step="sgd", rate=30.0, repeats=3)
    with pytest.raises(DivergedError, match=f"from {model.loss(*STREAM[0]):.3g} to"):
        model.learn_one(*STREAM[0])


def test_sides_must_be_equal(trained: Translator) -> None:
    model = trained.copy()
    for call in (model.fit, model.partial_fit, model.test_then_train):
        with pytest.raises(ValueError, match="12 sources and 11 targets"):
            call(GERMAN, ENGLISH[1:])
    for nothing in ([], [""], ["\u2581"]):
        with pytest.raises(ValueError, match="no sentences"):
            model.fit(nothing, nothing)
    with pytest.raises(ValueError, match="no subwords"):
        model.fit(["\u2585"], ["\u2585"])  # sentencepiece's own mark of what it does not know
    with pytest.raises(TypeError, match="one text"):
        model.fit("ein Hund", "a dog")
    assert bits(model) == bits(trained)


@pytest.mark.parametrize("wrong", [{"step": "newton"}, {"rate": 0}, {"C": -1}, {"beam": 0}, {"d": 30, "heads": 4}, {"d": 31}])
def test_parameters_are_checked(trained: Translator, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        tiny(**wrong).fit(GERMAN, ENGLISH)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        trained.copy().set_params(**wrong).translate(GERMAN[0])


def test_no_file_is_written_that_could_not_be_loaded(trained: Translator) -> None:
    for wrong in ({"step": "newton"}, {"C": float("nan")}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            trained.copy().set_params(**wrong).save(io.BytesIO())


def test_a_training_does_not_undo_what_was_learned_between_its_steps() -> None:
    model = tiny()
    steps = model.train(GERMAN, ENGLISH)
    next(steps)
    model.learn_one(*STREAM[0])
    before = bits(model)
    with pytest.raises(ValueError, match="learned something else"):
        next(steps)
    assert bits(model) == before


def test_who_starts_anew_keeps_nothing_of_a_stream(trained: Translator) -> None:
    model = trained.copy()
    model._said = vars(Adaptation(references=["a dog"], learning=["a cat"]))
    assert loaded(saved(model))._said == model._said
    assert loaded(saved(model.set_params(max_iter=1).fit(GERMAN, ENGLISH)))._said == {}


@pytest.mark.parametrize(
    "wrong",
    [
        [1],
        5,
        "x",
        {},
        {"references": ["a"]},
        {"static": ["a"]},
        {"learning": [1]},
        {"learning": "a"},
        {"began": 1},
        {"more": 1},
    ],
)
def test_what_was_said_along_a_stream_is_checked(trained: Translator, wrong: Any) -> None:
    model, right = trained.copy(), vars(Adaptation(references=["a", "b"], learning=["c", "d"]))
    model._said = right | wrong if isinstance(wrong, dict) and wrong else {"x": wrong}
    with pytest.raises(ModelFileError, match="damaged"):
        loaded(saved(model))


def test_a_word_that_is_cut_has_more_subwords(trained: Translator) -> None:
    """The longest reference can be typed character by character."""
    model = trained.copy().set_params(beam=1)
    subwords, n = model._known().subwords, 500
    while not model.takes(GERMAN[0], " ".join(["stands"] * n)):
        n -= 1
    cut = " ".join(["stands"] * n)[:-1]
    assert len(subwords.encode(cut)) > 502
    assert model.translate(GERMAN[0], cut).startswith(cut)


@pytest.mark.parametrize("n", [0, -1, 1.5, "4"])
def test_lists_have_a_length(trained: Translator, n: Any) -> None:
    with pytest.raises(ValueError, match="n is"):
        trained.n_best(GERMAN[0], n)


@pytest.mark.parametrize(("reference", "message"), [(None, "NoneType"), ("house " * 10_000, "reference has 10,000 words")])
def test_references_are_checked(trained: Translator, reference: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        trained.interactive(GERMAN[0], reference)


# --- files ---


def test_files_hold_everything(trained: Translator) -> None:
    model = trained.copy().set_params(step="adam")
    model.learn_one(*STREAM[0])
    file = io.BytesIO()
    model.save(file, {"language": "de-en"})
    other = loaded(file.getvalue())
    assert bits(other) == bits(model)
    assert other.get_params() == model.get_params()
    assert other.metadata == {"language": "de-en"}
    assert other.t_ == 1
    fresh = loaded(saved(clone(model)))
    with pytest.raises(NotFittedError):
        fresh.translate("x")


def test_pickles_hold_weights_once(trained: Translator) -> None:
    model = trained.copy()
    model._state = replace(trained._state, count=1)  # nobody has looked at its weights
    before = len(pickle.dumps(model))
    model.translate(GERMAN[0])
    content = pickle.dumps(model)
    assert len(content) < 1.1 * before
    assert pickle.loads(content).translate(GERMAN[0]) == model.translate(GERMAN[0])


def test_damaged_files_are_refused(trained: Translator) -> None:
    model = trained.copy().set_params(step="adagrad")
    model.learn_one(*STREAM[0])
    content = saved(model)
    header = json.loads(safe_header(content)["onepass"])
    arrays = arrays_of(content)

    def broken(change: Any) -> bytes:
        about, tensors = json.loads(json.dumps(header)), {name: array.copy() for name, array in arrays.items()}
        change(about, tensors)
        return packed(tensors, {"onepass": json.dumps(about)})

    def set_sizes(name: str, value: Any) -> Any:
        return lambda about, _: about["known"]["network"].update({name: value})

    changes = [
        *(set_sizes(name, value) for name in header["known"]["network"] for value in (0, -1, 3, 2**40, "4", None, 1.5, True)),
        lambda about, _: about["known"].update(t=-1),
        lambda about, _: about["known"].update(count="many"),
        lambda about, _: about["known"].update(rule="newton"),
        lambda about, _: about["known"].update(training={"seed": 0, "t": 1, "corpus": ""}),
        lambda about, _: about.pop("known"),
        lambda about, _: about["parameters"].update(step="newton"),
        lambda about, _: about["parameters"].update(power=1),
        lambda _, tensors: tensors.pop("w"),
        lambda _, tensors: tensors.pop("n"),
        lambda _, tensors: tensors.update(w=tensors["w"][:-1].copy()),
        lambda _, tensors: tensors.update(w=tensors["w"].astype(np.float64)),
        lambda _, tensors: tensors["w"].__setitem__(5, np.nan),
        lambda _, tensors: tensors["n"].__setitem__(5, -1.0),
        lambda _, tensors: tensors.update(more=np.zeros(3, np.float32)),
        lambda _, tensors: tensors.update(subwords=tensors["subwords"][:-50].copy()),
        lambda _, tensors: tensors.update(subwords=np.zeros(10, np.uint8)),
        lambda _, tensors: tensors.update(subwords=np.zeros(0, np.uint8)),
        lambda _, tensors: tensors.update(subwords=tensors["subwords"].astype(np.int64)),
        lambda _, tensors: tensors.update(subwords=misspelled(tensors["subwords"])),
        lambda _, tensors: tensors.update(said=np.zeros(3, np.uint8)),
        lambda _, tensors: tensors.update(said=np.zeros(3, np.int64)),
    ]
    loaded(broken(lambda about, tensors: None))
    for change in changes:
        with pytest.raises(ModelFileError):
            loaded(broken(change))
    rng = random.Random(0)
    for _ in range(30):
        with pytest.raises(ModelFileError):
            loaded(content[: rng.randrange(len(content))])


def misspelled(subwords: Any) -> Any:
    """A subword that is no text: the mark of a word's beginning, with another first byte."""
    content = subwords.tobytes()
    assert b"\n\x03\xe2\x96\x81" in content
    return np.frombuffer(content.replace(b"\n\x03\xe2\x96\x81", b"\n\x03\xff\x96\x81"), np.uint8)


def safe_header(content: bytes) -> Any:
    size = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + size])["__metadata__"]


def test_files_are_on_disk(trained: Translator, tmp_path: Path) -> None:
    trained.save(tmp_path / "model.onepass")
    assert bits(onepass.load(tmp_path / "model.onepass")) == bits(trained)

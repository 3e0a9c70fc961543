"""`onepass translate`: train, stop and go on, adapt, run; the metrics of a stream."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import onepass
from onepass.cli import main
from onepass.evaluate.translations import Adaptation, adapt, effort, measure

pytest.importorskip("torch", reason="it needs the extra, which `make test-translate` installs")
pytest.importorskip("sacrebleu")

PAIRS = [
    (f"der {a} {b}", f"the {c} {d}")
    for a, c in (("Hund", "dog"), ("Baum", "tree"))
    for b, d in (("lebt", "lives"), ("ruht", "rests"))
]
STREAM = [
    ("der Hund lebt", "the hound lives here"),
    ("der Hund ruht", "the hound rests here"),
    ("der Baum ruht", "the tree rests here"),
] * 4


def onepass_run(*arguments: Any, code: int = 0) -> str:
    result = CliRunner().invoke(main, ["translate", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return str(result.output)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: Any) -> Path:
    folder: Path = tmp_path_factory.mktemp("translate")
    (folder / "corpus.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS))
    (folder / "stream.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in STREAM))
    for i, side in enumerate(("de", "en")):
        (folder / f"corpus.{side}").write_text("".join(f"{pair[i]}\n" for pair in PAIRS))
    (folder / "held.tsv").write_text("der Hund lebt\tthe dog lives\n")
    output = onepass_run(
        *("train", folder / "corpus.de", folder / "corpus.en", "--validate", folder / "held.tsv"),
        *("--save", folder / "model", "--passes", "120", "--width", "32"),
    )
    assert output.count("BLEU") == 120
    return folder


def test_run(folder: Path) -> None:
    (folder / "input").write_text("der Hund lebt\n\nder Baum ruht\n")
    assert onepass_run("run", folder / "model", folder / "input") == "the dog lives\n\nthe tree rests\n"
    (folder / "input").write_text(f"der Hund lebt\n{'Hund ' * 3000}\n")
    said = onepass_run("run", folder / "model", folder / "input", code=1)
    assert said.startswith("the dog lives\n")
    assert f"line 2 of {folder / 'input'}" in said


def test_training_stops_and_goes_on(folder: Path) -> None:
    arguments = ["train", folder / "corpus.tsv", "--validate", folder / "corpus.tsv", "--width", "32"]
    whole, half = folder / "whole", folder / "half"
    onepass_run(*arguments, "--passes", "4", "--save", whole)
    model = onepass.Translator(max_iter=4, d=32, inner=128, random_state=0)
    for progress in model.train(*map(list, zip(*PAIRS, strict=True))):
        if progress.step == 2:
            break
    model.save(half)
    onepass_run(*arguments, "--resume", half, "--save", half)
    assert bits(half) == bits(whole)
    assert "trained to the end" in onepass_run(*arguments, "--resume", half, "--save", half, code=1)


def test_pairs_that_cannot_be_translated_are_not_measured(folder: Path) -> None:
    held = folder / "some.tsv"
    held.write_text(f"der Hund lebt\tthe dog lives\n\tthe dog\nder Hund\t\n\u2581\tthe dog\n{'Hund ' * 3000}\tthe dog\n")
    arguments = ["train", folder / "corpus.tsv", "--save", folder / "model of some", "--width", "32", "--passes", "2"]
    assert "on 1 pairs" in onepass_run(*arguments, "--validate", held)


def test_a_pass_is_saved_before_it_is_measured(folder: Path, monkeypatch: Any) -> None:
    def failing(*_: Any) -> Any:
        raise ValueError("no measure")

    monkeypatch.setattr("onepass.evaluate.translations.measure", failing)
    arguments = ["train", folder / "corpus.tsv", "--validate", folder / "held.tsv", "--width", "32", "--passes", "2"]
    assert "no measure" in onepass_run(*arguments, "--save", folder / "first", code=1)
    assert not onepass.load(folder / "first").trained_


def test_a_signal_in_the_last_step_finds_it_finished(folder: Path, monkeypatch: Any) -> None:
    def train(self: Any, *arguments: Any) -> Any:
        for progress in steps(self, *arguments):
            if progress.step == progress.total:
                os.kill(os.getpid(), signal.SIGINT)
            yield progress

    steps = onepass.Translator.train
    monkeypatch.setattr(onepass.Translator, "train", train)
    arguments = ["train", folder / "corpus.tsv", "--validate", folder / "held.tsv", "--width", "32", "--passes", "2"]
    said = onepass_run(*arguments, "--save", folder / "finished")
    assert "has the translator" in said
    assert "--resume" not in said


def bits(path: Path) -> Any:
    """All that was learned and said; the seconds that it took are others each time."""
    model = onepass.load(path)
    said = {name: value for name, value in model._said.items() if not isinstance(value, float)}
    return said, {name: array.tobytes() for name, array in model._pack()[1].items() if name != "said"}


def test_adapt(folder: Path) -> None:
    output = onepass_run(
        "adapt", folder / "model", folder / "stream.tsv", "--step", "pa", "--rate", "0.1", "--save", folder / "learned"
    )
    for word in ("static BLEU", "learning TER", "second half", "nrefs:1|", "ms a step"):
        assert word in output
    learned = onepass.load(folder / "learned")
    assert (learned.t_, learned.step, learned.C) == (len(STREAM), "pa", 0.1)
    report = json.loads(
        onepass_run("adapt", folder / "model", folder / "stream.tsv", "--step", "pa", "--rate", "0.1", "--json")
    )
    second = report["figures"]["second half"]
    assert second["learning"]["chrF"] > second["static"]["chrF"]
    assert report["sentences"] == len(STREAM)


def test_adapting_goes_on_to_the_same_bits(folder: Path) -> None:
    whole, part = folder / "whole", folder / "part"
    first = json.loads(onepass_run("adapt", folder / "model", folder / "stream.tsv", "--save", whole, "--json"))
    lines = (folder / "stream.tsv").read_text().splitlines(keepends=True)
    (folder / "bad.tsv").write_text("".join(lines[:5]) + "der Hund\t \n")
    error = onepass_run("adapt", folder / "model", folder / "bad.tsv", "--save", part, code=1)
    assert "translation is empty" in error
    assert "sentence 6 of the stream" in error
    assert "5 sentences before is in" in error
    second = json.loads(
        onepass_run("adapt", folder / "model", folder / "stream.tsv", "--resume", part, "--save", part, "--json")
    )
    assert bits(part) == bits(whole)
    assert first == second
    (folder / "other.tsv").write_text("der Hund\tthe dog\n")
    refused = onepass_run("adapt", folder / "model", folder / "other.tsv", "--resume", part, code=1)
    assert "same stream" in refused


def test_a_signal_ends_after_the_sentence_at_hand(folder: Path, monkeypatch: Any) -> None:
    whole, part = folder / "whole", folder / "part"
    onepass_run("adapt", folder / "model", folder / "stream.tsv", "--save", whole)
    learn, count = onepass.Translator.learn_one, iter(range(100))

    def learn_and_press(self: Any, x: str, y: str) -> None:
        if next(count) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        learn(self, x, y)

    monkeypatch.setattr(onepass.Translator, "learn_one", learn_and_press)
    said = onepass_run("adapt", folder / "model", folder / "stream.tsv", "--save", part, code=130)
    assert "interrupted after 4 sentences" in said
    monkeypatch.undo()
    onepass_run("adapt", folder / "model", folder / "stream.tsv", "--resume", part, "--save", part)
    assert bits(part) == bits(whole)


@pytest.fixture
def waiting(folder: Path) -> Any:
    """Starts `onepass translate adapt` on standard input, and ends it when the test ends."""
    started = list[subprocess.Popen[str]]()

    def start(*arguments: Any) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "onepass", "translate", "adapt", folder / "model", "-", *arguments]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        started.append(subprocess.Popen([*map(str, command)], text=True, **pipes))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def sent(process: Any, pairs: Any) -> None:
    process.stdin.write("".join(f"{source}\t{target}\n" for source, target in pairs))
    process.stdin.flush()


def wait_for(path: Path, sentences: int, process: Any) -> None:
    end = time.monotonic() + 60
    while not path.exists() or onepass.load(path).t_ < sentences:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "no checkpoint came"
        time.sleep(0.1)


def test_a_checkpoint_is_gone_on_with(folder: Path, waiting: Any) -> None:
    whole, part = folder / "whole", folder / "killed"
    first = json.loads(onepass_run("adapt", folder / "model", folder / "stream.tsv", "--save", whole, "--json"))
    process = waiting("--save", part, "--checkpoint", "0.01s")
    sent(process, STREAM[:5])
    wait_for(part, 4, process)  # the fifth may be saved, or not
    process.kill()
    process.wait()
    second = json.loads(
        onepass_run("adapt", folder / "model", folder / "stream.tsv", "--resume", part, "--save", part, "--json")
    )
    assert bits(part) == bits(whole)
    assert first == second
    assert "--checkpoint needs --save" in onepass_run(
        "adapt", folder / "model", folder / "stream.tsv", "--checkpoint", "1s", code=2
    )


def test_a_checkpoint_that_cannot_be_written_ends_nothing(folder: Path, monkeypatch: Any) -> None:
    save, count = onepass.Translator.save, iter(range(100))

    def full_at_first(self: Any, *arguments: Any) -> None:
        if next(count) < 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        save(self, *arguments)

    monkeypatch.setattr(onepass.Translator, "save", full_at_first)
    part = folder / "late"
    said = onepass_run("adapt", folder / "model", folder / "stream.tsv", "--save", part, "--checkpoint", "0.001s")
    assert "no checkpoint after 1 sentences (No space left on device)" in said
    assert onepass.load(part).t_ == len(STREAM)


@pytest.fixture
def full(folder: Path, monkeypatch: Any) -> Path:
    """A folder on a disk that is full."""
    save, place = onepass.Translator.save, folder / "full"
    place.mkdir(exist_ok=True)

    def refused(self: Any, path: Any, *arguments: Any) -> None:
        if place in Path(path).parents:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        save(self, path, *arguments)

    monkeypatch.setattr(onepass.Translator, "save", refused)
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return place


def rescued(folder: Path, name: str) -> Any:
    return onepass.load(folder / f"{name}.{os.getpid()}")


def test_a_disk_that_stays_full_loses_nothing(folder: Path, full: Path) -> None:
    said = onepass_run("adapt", folder / "model", folder / "stream.tsv", "--save", full / "a", code=1)
    assert "learning TER" in said  # the figures are shown all the same
    assert "No space left on device" in said
    assert f"12 sentences before is in {folder / 'a'}" in said
    assert rescued(folder, "a").t_ == len(STREAM)
    (folder / "bad.tsv").write_text("der Hund lebt\tthe dog lives\nno tab\n")
    said = onepass_run("adapt", folder / "model", folder / "bad.tsv", "--save", full / "b", code=1)
    assert "line 2: expected a sentence, a tab" in said
    assert f"1 sentences before is in {folder / 'b'}" in said


def test_training_goes_on_while_a_disk_is_full(folder: Path, full: Path) -> None:
    said = onepass_run("train", folder / "corpus.tsv", "--passes", "3", "--width", "32", "--save", full / "c", code=1)
    assert said.count("no checkpoint after") == 2
    assert f"3 steps is in {folder / 'c'}" in said
    assert rescued(folder, "c").trained_


def test_a_rate_that_is_no_number_hurts_no_file(folder: Path) -> None:
    kept = folder / "kept"
    onepass_run("adapt", folder / "model", folder / "stream.tsv", "--save", kept)
    before = kept.read_bytes()
    for rate in ("nan", "inf", "1e999"):
        said = onepass_run(
            "adapt", folder / "model", folder / "stream.tsv", "--resume", kept, "--save", kept, "--rate", rate, code=1
        )
        assert "must be a float in the range (0.0, inf)" in said
        assert kept.read_bytes() == before


def test_another_model_is_not_that_which_a_stream_was_begun_with(folder: Path) -> None:
    part, stream = folder / "part", folder / "stream.tsv"
    onepass_run("adapt", folder / "model", stream, "--save", part)
    for static in ("--static", "--no-static"):
        onepass_run("adapt", folder / "model", stream, static, "--save", part)
        assert "did not begin as" in onepass_run("adapt", part, stream, static, "--resume", part, code=1)


def test_facts_of_ones_own_are_no_part_of_a_stream(folder: Path) -> None:
    """Metadata are the user's; what a stream is gone on with is not among them."""
    own, part = folder / "own", folder / "part"
    for facts in ({"origin": "godot"}, {"origin": {"seconds": 5}}):
        onepass.load(folder / "model").save(own, facts)
        onepass_run("adapt", folder / "model", folder / "stream.tsv", "--resume", own, "--save", part)
        assert onepass.load(part).t_ == len(STREAM)


def test_a_training_is_gone_on_with_as_it_was_begun(folder: Path) -> None:
    half, arguments = folder / "half", ["train", folder / "corpus.tsv", "--save", folder / "other"]
    model = onepass.Translator(max_iter=4, d=32, inner=128, random_state=0)
    next(model.train(*map(list, zip(*PAIRS, strict=True))))
    model.save(half)
    for name, value, own in (("passes", 9, 4), ("width", 64, 32), ("vocabulary", 900, 4000), ("seed", 7, 0)):
        said = onepass_run(*arguments, "--resume", half, f"--{name}", value, code=1)
        assert f"was begun with --{name} {own}" in said
    assert "a multiple of 4" in onepass_run(*arguments, "--width", "6", code=2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_wait_for_a_sentence(folder: Path, waiting: Any, number: int) -> None:
    part = folder / f"waiting{number}"
    process = waiting("--save", part, "--checkpoint", "0.01s")
    sent(process, STREAM[:3])
    wait_for(part, 2, process)
    process.send_signal(number)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 128 + number
    assert f"go on with --resume {part}" in said


def test_a_signal_before_the_first_sentence(folder: Path, monkeypatch: Any) -> None:
    def pressed(_: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        yield from STREAM

    monkeypatch.setattr("onepass.streams.parallel.pairs", pressed)
    assert "before a first sentence" in onepass_run("adapt", folder / "model", "-", "--save", folder / "none", code=130)
    assert not (folder / "none").exists()


def test_a_stream_is_gone_on_with_as_it_was_begun(folder: Path, monkeypatch: Any) -> None:
    whole, part = folder / "whole", folder / "part"
    lines = (folder / "stream.tsv").read_text().splitlines(keepends=True)
    short, shorter = folder / "short.tsv", folder / "shorter.tsv"
    short.write_text("".join(lines[:5]))
    shorter.write_text("".join(lines[:4]))
    model, stream = folder / "model", folder / "stream.tsv"
    first = json.loads(onepass_run("adapt", model, stream, "--beam", "1", "--save", whole, "--json"))
    onepass_run("adapt", model, short, "--beam", "1", "--save", part)
    beams, translate = set[int](), onepass.Translator.translate

    def watched(self: Any, *arguments: Any) -> str:
        beams.add(self.beam)
        return translate(self, *arguments)

    monkeypatch.setattr(onepass.Translator, "translate", watched)
    assert first == json.loads(onepass_run("adapt", model, stream, "--resume", part, "--json"))
    assert beams == {1}
    monkeypatch.undo()
    assert "has 4 sentences, and 5" in onepass_run("adapt", model, shorter, "--resume", part, code=1)
    assert "--static" in onepass_run("adapt", model, stream, "--resume", part, "--no-static", code=1)
    onepass_run("adapt", model, short, "--no-static", "--save", part)
    assert "--no-static" in onepass_run("adapt", model, stream, "--resume", part, code=1)


def test_what_a_long_stream_said_can_be_saved(folder: Path) -> None:
    """The header of a file has 100 MB at most."""
    model, texts = onepass.load(folder / "model"), ["\u6f22" * 1000] * 20_000
    model._said = vars(Adaptation(references=texts, learning=texts))
    model.save(folder / "long")
    assert onepass.load(folder / "long")._said == model._said
    assert model.copy()._said == {}


def test_other_commands_know_translators(folder: Path) -> None:
    found = CliRunner().invoke(main, ["info", str(folder / "model")])
    assert found.exit_code == 0
    assert "Translator" in found.output
    for arguments in (["predict", str(folder / "model"), "x.csv"], ["learn", "x.csv", "--resume", str(folder / "model")]):
        found = CliRunner().invoke(main, arguments)
        assert found.exit_code == 1
        assert "see onepass translate --help" in found.output


def test_along_a_stream(folder: Path) -> None:
    model = onepass.load(folder / "model").set_params(step="pa", C=0.1)
    found = list(adapt(model.copy(), STREAM, static=model))[-1]
    assert found.static == model.predict([source for source, _ in STREAM])
    assert model.t_ == 0
    assert set(found.figures()) == {"whole", "first half", "second half"}
    learning, static = (sum(one.strokes for one in effort(model.copy(), STREAM, learn=learn)) for learn in (True, False))
    assert learning < static


def test_measures() -> None:
    found = measure(["the dog sleeps here"], ["the dog sleeps here"])
    assert [found[name].value for name in ("BLEU", "chrF", "TER")] == pytest.approx([100, 100, 0])
    assert "version:" in found["TER"].signature
    with pytest.raises(ValueError, match="1 translations of 2"):
        measure(["a"], ["a", "b"])

"""What needs none of the libraries of the extra: what is said where they are missing, the count of a user's effort, corpora."""

from __future__ import annotations

import lzma
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from onepass import Translator
from onepass.cli import main
from onepass.streams.parallel import pairs, sentences
from onepass.translate.extra import Later
from onepass.translate.interactive import Effort, simulated

HIDDEN = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "sentencepiece", "sacrebleu"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
"""


def test_a_missing_extra_is_named() -> None:
    with pytest.raises(ImportError, match=r'pip install "onepass\[translate\]"'):
        Later("no_such_library_of_ours").tensor  # noqa: B018
    assert not hasattr(Later("no_such_library_of_ours"), "__wrapped__")


def test_importing_needs_none_of_it() -> None:
    code = (
        HIDDEN
        + "from onepass import Translator\ntry:\n    Translator().fit(['a'], ['b'])\nexcept ImportError as e:\n    print(e)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "onepass[translate]"' in run.stdout


def test_the_command_says_what_is_missing(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.tsv"
    corpus.write_text("ein Hund\ta dog\n")
    code = HIDDEN + "from onepass.cli import main\nmain()"
    command = [sys.executable, "-c", code, "translate", "train", str(corpus), "--save", str(tmp_path / "model")]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert run.stderr.startswith("onepass: error: Translation needs")
    assert 'pip install "onepass[translate]"' in run.stderr


# --- a user's effort ---


def scripted(*answers: str) -> tuple[list[str], object]:
    """A translator that gives these answers, and the prefixes that it was asked with."""
    asked: list[str] = []

    def complete(prefix: str) -> str:
        asked.append(prefix)
        return answers[len(asked) - 1]

    return asked, complete


def test_a_right_translation_is_accepted() -> None:
    asked, complete = scripted("the dog sleeps")
    assert simulated(complete, "the dog sleeps") == Effort(0, 1, 3)
    assert asked == [""]


def test_words_are_corrected_one_after_the_other() -> None:
    asked, complete = scripted("a dog sleeps", "the cat sleeps", "the hound is asleep", "the hound sleeps here", "")
    assert simulated(complete, "the hound sleeps well") == Effort(
        4, 2, 4
    )  # one move: each mistake is just behind the word before
    assert asked == ["", "the ", "the hound ", "the hound sleeps ", "the hound sleeps well "]


def test_a_jump_is_a_mouse_action() -> None:
    _, complete = scripted("a dog sleeps here", "the dog sleeps there", "the dog sleeps here")
    assert simulated(complete, "the dog sleeps here") == Effort(2, 3, 4)


def test_what_is_too_much_is_one_stroke() -> None:
    _, complete = scripted("the dog sleeps and sleeps")
    assert simulated(complete, "the dog sleeps") == Effort(1, 2, 3)


def test_characters() -> None:
    asked, complete = scripted("the dog", "the house", "the hound")
    effort = simulated(complete, "the hound", unit="character")
    assert effort == Effort(2, 3, 9)
    assert asked == ["", "the h", "the houn"]
    assert effort.ksmr == pytest.approx(5 / 9)
    assert effort.ratio == pytest.approx(2 / 9)


def test_a_translator_that_never_listens_comes_to_an_end() -> None:
    assert simulated(lambda prefix: "no", "the dog sleeps") == Effort(3, 2, 3)


def test_bad_references() -> None:
    with pytest.raises(ValueError, match="empty"):
        simulated(str, "  ")
    with pytest.raises(ValueError, match="unit"):
        simulated(str, "a", unit="line")


# --- corpora ---


def test_two_files_and_two_columns(tmp_path: Path) -> None:
    german, english, both = tmp_path / "c.de", tmp_path / "c.en.xz", tmp_path / "c.tsv"
    german.write_text("ein\tHund \nübel\n", encoding="utf-8")
    english.write_bytes(lzma.compress(b"a dog\nbad"))
    both.write_text("Hund\tdog\nKatze\tcat\n")
    assert list(pairs(german, english)) == [("ein\tHund", "a dog"), ("übel", "bad")]
    assert list(pairs(both)) == [("Hund", "dog"), ("Katze", "cat")]
    assert list(sentences(both)) == ["Hund\tdog", "Katze\tcat"]


def test_unequal_sides(tmp_path: Path) -> None:
    long, short = tmp_path / "long", tmp_path / "short"
    long.write_text("a\nb\nc\n")
    short.write_text("a\nb\n")
    for sides in ((long, short), (short, long)):
        with pytest.raises(ValueError, match=r"short has 2 lines, and .*long has more"):
            list(pairs(*sides))


def test_bad_lines(tmp_path: Path) -> None:
    bad = tmp_path / "bad.tsv"
    bad.write_text("a\tb\na b\n")
    with pytest.raises(ValueError, match=r"bad.tsv, line 2: .*got 1 columns"):
        list(pairs(bad))
    bad.write_bytes(b"a\tb\n\xff\tb\n")
    with pytest.raises(ValueError, match="line 2: not UTF-8"):
        list(pairs(bad))


def test_another_model_is_no_translator(tmp_path: Path) -> None:
    from onepass import PAClassifier

    path = tmp_path / "model"
    PAClassifier().save(path)
    result = CliRunner().invoke(main, ["translate", "run", str(path)])
    assert result.exit_code == 1
    assert "which is no translator" in result.output


def test_parameters_are_kept() -> None:
    assert Translator("pa", C=0.5).get_params()["C"] == 0.5

"""Generators and loading of data sets."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import os
import re
import urllib.error
from pathlib import Path

import numpy as np
import pytest

from onepass import datasets
from onepass.datasets import catalogue, loading

LINES = b"+1 1:0.5 3:2\n-1 2:1e-1\n"


@pytest.fixture
def no_data(monkeypatch, tmp_path):
    """No folder of data, an empty cache and no network."""
    monkeypatch.delenv("ONEPASS_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def unreachable(address, timeout):
        raise urllib.error.URLError("no network")

    monkeypatch.setattr("urllib.request.urlopen", unreachable)
    return tmp_path


def serve(monkeypatch, content):
    """A site that has `content` at every address; returns the list of addresses asked for."""
    asked = []

    class Response:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def read(self):
            return content

    def answer(address, timeout):
        asked.append(address)
        return Response()

    monkeypatch.setattr("urllib.request.urlopen", answer)
    return asked


def declare(monkeypatch, name, content):
    """Let the catalogue know `content` as the only file of the data set."""
    entry = catalogue.FILES[name]
    file = entry.train[0]._replace(sha256=hashlib.sha256(content).hexdigest())
    monkeypatch.setitem(loading.FILES, name, entry._replace(train=(file,), test=()))


# --- generators ---


@pytest.mark.parametrize("make", [datasets.rotating_xor, datasets.sea, datasets.circles, datasets.hyperplane])
def test_generators_repeat_themselves_and_give_float64(make):
    X, y = make(300, random_state=3)
    again_X, again_y = make(300, random_state=3)
    other, _ = make(300, random_state=4)
    assert np.array_equal(X, again_X)
    assert np.array_equal(y, again_y)
    assert not np.array_equal(X, other)
    assert X.dtype == y.dtype == np.float64
    assert len(X) == len(y) == 300
    assert set(y) == {0.0, 1.0}


def test_rotating_xor_turns_counterclockwise_every_hundred():
    X, y = datasets.rotating_xor(1000, deviation=0.0, random_state=0)
    for step in range(10):
        part = slice(100 * step, 100 * step + 100)
        back = np.exp(-1j * np.deg2rad(10 * step)) * (X[part, 0] + 1j * X[part, 1])
        assert np.allclose(np.abs(back.real), 1)
        assert np.allclose(np.abs(back.imag), 1)
        assert np.array_equal(np.sign(back.real) != np.sign(back.imag), y[part] == 1)


def test_rotating_xor_overlaps_little():
    X, y = datasets.rotating_xor(100_000, rotate_every=100_000, random_state=0)
    wrong = np.mean((X[:, 0] * X[:, 1] < 0) != (y == 1))
    assert 0.0003 < wrong < 0.002


def test_sea_has_four_concepts_and_noise():
    X, y = datasets.sea(40_000, noise=0.1, random_state=0)
    for part, threshold in zip(np.split(np.arange(40_000), 4), [8, 9, 7, 9.5], strict=True):
        flipped = (X[part, 0] + X[part, 1] <= threshold) != (y[part] == 1)
        assert 0.08 < flipped.mean() < 0.12


def test_hyperplane_turns_at_the_given_speed():
    X, y = datasets.hyperplane(20_000, features=2, drift=np.pi / 20_000, noise=0.0, random_state=0)
    first, last = X[:500], X[-500:]
    normal = [np.linalg.lstsq(part, 2 * labels - 1)[0] for part, labels in ((first, y[:500]), (last, y[-500:]))]
    cosine = normal[0] @ normal[1] / np.linalg.norm(normal[0]) / np.linalg.norm(normal[1])
    assert cosine < -0.98


def test_hyperplane_needs_a_plane():
    with pytest.raises(ValueError, match="at least 2 features"):
        datasets.hyperplane(10, features=1)


# --- loading ---


@pytest.mark.parametrize(
    ("suffix", "pack"), [("", bytes), (".xz", lzma.compress), (".bz2", bz2.compress), (".gz", gzip.compress)]
)
def test_finds_plain_and_packed_files(no_data, suffix, pack):
    (no_data / f"mushrooms{suffix}").write_bytes(pack(LINES))
    data = datasets.load("mushrooms", folder=no_data)
    assert data.X.shape == (2, 112)
    assert data.X.toarray()[:, :3].tolist() == [[0.5, 0, 2], [0, 0.1, 0]]
    assert data.y.tolist() == [1, -1]
    assert data.X_test is None
    assert data.y_test is None


def test_the_given_folder_comes_before_the_environment(no_data, monkeypatch):
    for place, label in (("given", b"1"), ("environment", b"2")):
        (no_data / place).mkdir()
        (no_data / place / "mushrooms").write_bytes(label + b" 1:1\n")
    monkeypatch.setenv("ONEPASS_DATA", str(no_data / "environment"))
    assert datasets.load("mushrooms").y.tolist() == [2]
    assert datasets.load("mushrooms", folder=no_data / "given").y.tolist() == [1]


def test_without_network_the_error_says_which_file_goes_where(no_data):
    with pytest.raises(FileNotFoundError, match=r"The file a9a was not found.*no network.*ONEPASS_DATA") as caught:
        datasets.load("a9a")
    assert str(no_data / "cache" / "onepass") in str(caught.value)


@pytest.mark.parametrize(("name", "file"), [("elec2", "elec2.csv"), ("cbcl", "cbcl")])
def test_what_is_nowhere_to_be_fetched_says_so(no_data, name, file):
    with pytest.raises(FileNotFoundError, match=f"The file {re.escape(file)} was not found, and it can't be fetched"):
        datasets.load(name)


def test_fetches_once_into_the_cache(no_data, monkeypatch):
    declare(monkeypatch, "mushrooms", LINES)
    asked = serve(monkeypatch, LINES)
    assert len(datasets.load("mushrooms").y) == 2
    assert len(datasets.load("mushrooms").y) == 2
    assert asked == ["https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/mushrooms"]
    assert [path.name for path in (no_data / "cache" / "onepass").iterdir()] == ["mushrooms"]


def test_unpacks_what_it_fetches(no_data, monkeypatch):
    declare(monkeypatch, "ijcnn1", LINES)
    asked = serve(monkeypatch, bz2.compress(LINES))
    assert len(datasets.load("ijcnn1").y) == 2
    assert asked[0].endswith("binary/ijcnn1.bz2")


def test_a_wrong_checksum_keeps_nothing(no_data, monkeypatch):
    serve(monkeypatch, LINES)
    with pytest.raises(ValueError, match="checksum differs"):
        datasets.load("mushrooms")
    assert not (no_data / "cache").exists()


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"There is no data set 'a9b'.*a9a"):
        datasets.load("a9b")


def test_those_inside_scikit_learn_need_no_files(no_data):
    shapes = {name: datasets.load(name).X.shape for name in ("digits", "iris", "wine", "breast_cancer", "diabetes")}
    assert shapes == {
        "digits": (1797, 64),
        "iris": (150, 4),
        "wine": (178, 13),
        "breast_cancer": (569, 30),
        "diabetes": (442, 10),
    }


def test_reads_tables_images_and_texts(no_data):
    (no_data / "spambase.csv").write_text("0.5,1,0\n2,3,1\n")
    (no_data / "covtype.csv").write_text("Elevation,Cover\n7,3\n8,4\n")
    (no_data / "elec2.csv").write_text(",date,class\n0,0.25,UP\n1,0.5,DOWN\n")
    (no_data / "sms-spam.tsv").write_text("ham\thi there\nspam\twin\tnow\n", encoding="utf-8")
    for part, value in (("train", 255), ("t10k", 51)):
        image = bytes([0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, value, 0])
        (no_data / f"mnist-{part}-images-idx3-ubyte").write_bytes(image)
        (no_data / f"mnist-{part}-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 1, 7]))

    def read(name):
        data = datasets.load(name, folder=no_data)
        return data.X if isinstance(data.X, list) else data.X.tolist(), data.y.tolist()

    assert read("spambase") == ([[0.5, 1], [2, 3]], [0, 1])
    assert read("covtype") == ([[7], [8]], [3, 4])
    assert read("elec2") == ([[0.25], [0.5]], ["UP", "DOWN"])
    assert read("sms-spam") == (["hi there", "win\tnow"], ["ham", "spam"])
    mnist = datasets.load("mnist", folder=no_data)
    assert mnist.X.dtype == np.float32
    assert mnist.X.tolist() == [[1, 0]]
    assert mnist.X_test[0, 0] == np.float32(0.2)
    assert mnist.y.tolist() == [7]


def test_reads_sentences_strings_trees_and_graphs(no_data):
    for part in ("train", "test"):
        (no_data / f"ewt-{part}.conll").write_text("The\tDET\tDT\t2\tdet\ndog\tNOUN\tNN\t0\troot\n\nHo\tINTJ\tUH\t0\troot\n")
    (no_data / "promoters.csv").write_text("0,a,c,+\n1,g,t,-\n")
    (no_data / "ptc-mr.graphs.tsv").write_text("1\t0 1\t0-1:0\n-1\t2\t\n")
    (no_data / "question-trees.klp").write_text("DESC |BT:grct| (S(NP)) |ET|\n")
    (no_data / "question-trees.t.klp").write_text("LOC |BT:grct| (S(VP)) |ET|\n")
    ewt, ptc, questions = (datasets.load(name, folder=no_data) for name in ("ewt", "ptc", "questions"))
    assert (ewt.objects, ewt.task) == ("sentences", "tagging")
    assert (ewt.X_test, ewt.y_test) == ([["The", "dog"], ["Ho"]], [["DET", "NOUN"], ["INTJ"]])
    assert (ptc.X, ptc.y.tolist()) == ([(["0", "1"], [(0, 1, "0")]), (["2"], [])], ["1", "-1"])
    assert (questions.X, questions.y_test.tolist()) == (["(S(NP))"], ["LOC"])
    promoters = datasets.load("promoters", folder=no_data)
    assert (promoters.X, promoters.y.tolist(), promoters.objects) == (["ac", "gt"], ["+", "-"], "strings")


def test_sentences_and_their_translations(no_data):
    for part in ("train", "test_2016_flickr"):
        (no_data / f"multi30k-{part}.de").write_text("ein Hund \neine Katze\n")
        (no_data / f"multi30k-{part}.en").write_text("a dog\na cat\n")
    (no_data / "godot.de-en.tsv.xz").write_bytes(lzma.compress(b"Datei\tFile\n"))
    captions, messages = (datasets.load(name, folder=no_data) for name in ("multi30k", "godot"))
    assert (captions.task, captions.objects) == ("translation", "texts")
    assert (captions.X, captions.y) == (captions.X_test, captions.y_test) == (["ein Hund", "eine Katze"], ["a dog", "a cat"])
    assert (messages.X, messages.y, messages.X_test) == (["Datei"], ["File"], None)


@pytest.mark.skipif(not os.environ.get("ONEPASS_DATA"), reason="needs ONEPASS_DATA")
def test_the_real_files_are_what_the_catalogue_says():
    folder = Path(os.environ["ONEPASS_DATA"])
    for name, shape, test in (
        ("a9a", (32_561, 123), (16_281, 123)),
        ("svmguide1", (3_089, 4), (4_000, 4)),
        ("cbcl", (6_977, 361), (24_044, 361)),
        ("abalone", (4_177, 8), None),
        ("elec2", (45_312, 8), None),
    ):
        for file in (*catalogue.FILES[name].train, *catalogue.FILES[name].test):
            with loading._open(loading._find(file, folder)) as content:
                assert hashlib.sha256(content.read()).hexdigest() == file.sha256
        data = datasets.load(name)
        assert data.X.shape == shape
        assert (None if data.X_test is None else data.X_test.shape) == test

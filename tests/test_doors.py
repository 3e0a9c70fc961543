"""The way in does not change the model: files, streams, arrays, frames, dicts and single examples end in the same bits, for all
learners of one label or number an example. See docs/doors.md for what each way knows at the start, and `doors.py` for the cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from apart import INTERPRETED, asked, failures
from doors import LEARNERS, Maker, compare, dense, examples, open_ended, scores_stay, sparse, two_are_two
from onepass import PAClassifier, evaluate, streams


@pytest.fixture(scope="module")
def interpreted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    return failures("doors.py", tmp_path_factory.mktemp("doors") / "report", asked(request), INTERPRETED)


# A name that is only part of a word does not send the test to the worker of that learner: one worker runs the process for all.
@pytest.mark.parametrize("name", [*LEARNERS, "tune"], ids=lambda name: f"{name}_")
def test_the_way_in_does_not_change_the_model(name: str, interpreted: dict[str, list[str]]) -> None:
    assert not interpreted[name], "\n".join(interpreted[name])


# A learner is compiled for each form and storage, which takes far longer than to run: the others of these are left to the cases above.
COMPILED = [
    ("PAClassifier", dense),
    ("PAClassifier", sparse),
    ("PAClassifier", open_ended),
    ("PAMOClassifier", dense),
    ("KernelPA", dense),
]


@pytest.mark.parametrize(("name", "doors"), COMPILED, ids=[f"{name}-{doors.__name__}" for name, doors in COMPILED])
def test_compiled_code_does_not_mind_the_way_in_either(name: str, doors: Any) -> None:
    compare(doors, Maker(LEARNERS[name]), examples(3, "names" if doors is dense else "codes"), few=False)
    storage = np.asarray if doors is dense else sp.csr_array
    scores_stay(LEARNERS[name], storage)
    two_are_two(LEARNERS[name], storage)


# --- what the table of docs/doors.md says ---


def test_rows_before_the_second_label_are_not_learned_from() -> None:
    data = examples(2)
    told, waiting = PAClassifier(), PAClassifier()
    evaluate.prequential(told, (data.X, data.y), classes=[0, 1])
    evaluate.prequential(waiting, (data.X, data.y))
    assert (told.t_, waiting.t_) == (32, 29)


def test_a_model_that_knows_its_labels_has_an_answer_for_the_first_row_of_a_table() -> None:
    """A row of a table is scored by the weights that a model starts with. `predict_one` makes none."""
    data = examples(2)
    first = data.X[:1], data.y[:1]
    assert evaluate.prequential(PAClassifier(), first, classes=[0, 1]).metrics["mistake_rate"] == 0
    assert evaluate.prequential(PAClassifier(), first).metrics["mistake_rate"] == 1
    assert PAClassifier(classes=[0, 1]).predict_one(data.X[0]) is None


def test_probabilities_stay_when_the_model_turns_over() -> None:
    data = examples(2)
    model = PAClassifier(calibrate=True)
    evaluate.prequential(model, (data.X, data.y))
    before, offset = model.predict_proba(data.X), model._state.arrays["platt"][1]
    model._set_state(model._admit(model._state, 2)[0])
    after = model.predict_proba(data.X)
    logits = [np.log(chances[:, 1] / chances[:, 0]) for chances in (before, after)]
    np.testing.assert_allclose(logits[0], logits[1], rtol=1e-6, atol=1e-9)
    assert offset != 0


@pytest.mark.parametrize("chunk", [1, 5, 32])
def test_features_that_are_declared_are_known_from_the_start(chunk: int) -> None:
    data = examples(2)
    text = data.file("libsvm")
    widths = []
    for features in (None, 9):
        model = PAClassifier()
        with streams.open(text, chunk=chunk, features=features) as stream:
            evaluate.prequential(model, stream)
        widths.append((model.n_features_in_, model._state.grow_features, model._state.known))
    assert widths == [(4, True, 4), (9, False, 9)]

"""What type checkers know of parameters, in a project that has onepass installed."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import onepass

api = import_module("mypy.api")

CACHE = str(Path(__file__).parents[1] / ".mypy_cache" / "snippet")  # to read all anew takes 10 s

SNIPPET = """
from onepass import ActiveLearner, Imputer, Reranker, {names}, pipeline

PAClassifier(C=3)
PAClassifier(0.5, "II", average=True, fit_intercept=False, classes=["no", "yes"])
pipeline(Imputer(fill=0.0), PAMORegressor(random_state=0)).fit([[1.0]], [2.0])
Reranker("AROW", 0.5)
PAClassifier(c=3)  # unknown
Reranker(fit_intercept=True)  # it has none
PAClassifier(C=[3])  # of the wrong type
Imputer(fil=0.0)  # unknown
ActiveLearner(PAClassifier(), delt=1.0)  # unknown
"""


def test_parameters_are_known(tmp_path: Path) -> None:
    names = sorted(onepass.learners())
    lines = SNIPPET.format(names=", ".join(names)).splitlines()
    lines += [f"{name}(nonsense=1)  # unknown" for name in names]
    (tmp_path / "snippet.py").write_text("\n".join(lines))
    told, trouble, _ = api.run(["--strict", "--config-file=", "--cache-dir", CACHE, str(tmp_path / "snippet.py")])
    assert trouble == ""
    wrong = {int(number) for number in re.findall(r"snippet\.py:(\d+): error", told)}
    assert wrong == {number for number, line in enumerate(lines, 1) if "#" in line}, told

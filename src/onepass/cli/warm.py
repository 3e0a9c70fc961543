"""`onepass warm`: compile ahead, for images and for machines whose disk can't be written later."""

from __future__ import annotations

import contextlib
import io
import tempfile
from pathlib import Path
from time import perf_counter

import click

from onepass.cli.models import AUTO, find

ROWS = 12
FILES = {  # a row of each kind of file that has machine code of its own, by t and the label
    "numbers.csv": ("a,b,label\n", "{t},{t}.5,{label}\n"),
    "categories.csv": ("a,b,label\n", "{t},red,{label}\n"),
    "texts.csv": ("a,b,c,label\n", "{t},red,a sentence of some more words no. {t},{label}\n"),
    "sparse.libsvm": ("", "{code} 1:{t} 3:1\n"),
}


@click.command()
@click.argument("learners", nargs=-1)
def warm(learners: tuple[str, ...]) -> None:
    """Compile LEARNERS for files of all kinds, and for their rows one by one, so that later commands and programs need not.

    Without names, what `onepass learn` uses by default. The machine code is kept where NUMBA_CACHE_DIR says, else where the system has
    the caches of this user.
    """
    from onepass.compiled.compiler import folder_of_code

    folder, start = folder_of_code(), perf_counter()
    if folder is None:
        raise OSError(
            "there is no folder to keep machine code in: make one that only you can write to, and name it in NUMBA_CACHE_DIR"
        )
    for name in learners:
        find(name)
    with tempfile.TemporaryDirectory() as place:
        for name in learners or (AUTO,):
            tasks = ("classification", "regression") if name == AUTO else tuple(find(name)[0])
            for file, (header, row) in FILES.items():
                for task in tasks:
                    for labels in (2, 3) if task == "classification" else (0,):
                        path = Path(place, file)
                        path.write_text(header + "".join(_row(row, t, labels) for t in range(ROWS)))
                        _use(path, name, task)
    click.echo(f"compiled in {perf_counter() - start:.0f} seconds; machine code is kept in {folder}")


def _row(row: str, t: int, labels: int) -> str:
    code = t % labels if labels else t + 0.5
    return row.format(t=t, label=f"l{code}" if labels else code, code=code)


def _use(path: Path, learner: str, task: str) -> None:
    """Learn from a file and predict it, as a user does."""
    from onepass.cli.application import main

    model = path.with_suffix(".model")
    learn = ["learn", path, "--learner", learner, "--task", task, "--save", model]
    for command in (learn, ["predict", model, path]):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            click.Group.main(main, [str(word) for word in command], standalone_mode=False)
    _use_singly(path, model, task)


def _use_singly(path: Path, model: Path, task: str) -> None:
    """Predict the rows of a table one by one, and learn from them, as a program does."""
    import narwhals.stable.v2 as nw

    import onepass

    with onepass.streams.open(path, task=task) as stream:
        (chunk,) = stream
    learned, X = onepass.load(model), chunk.X
    if nw.dependencies.is_into_dataframe(X):
        rows = nw.from_native(X, eager_only=True).rows(named=True)
    elif chunk.names is not None:
        rows = [dict(zip(chunk.names, values, strict=True)) for values in X.tolist()]
    else:
        return
    for x, label in zip(rows, chunk.y.tolist(), strict=True):
        learned.predict_one(x)
        learned.learn_one(x, label)

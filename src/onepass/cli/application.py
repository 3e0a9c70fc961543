"""The command `onepass`: its subcommands, and how each run of it ends.

Exit codes: 0 for success, 1 for data or models that can't be used, 2 for a wrong command line, 130 for Ctrl-C, 143 for a request to
end, 141 for a reader of the output that went away. An error is one line on standard error; with ONEPASS_DEBUG=1 it comes with its
traceback.
"""

from __future__ import annotations

import os
import sys
from typing import Any, NoReturn

import click

from onepass import __version__
from onepass.cli.compare import compare
from onepass.cli.demo import demo
from onepass.cli.info import info
from onepass.cli.learn import learn
from onepass.cli.listing import learners
from onepass.cli.output import be_verbose
from onepass.cli.predict import predict
from onepass.cli.reproduce import reproduce
from onepass.cli.translate import translate
from onepass.cli.tune import tune
from onepass.cli.warm import warm

INTERRUPTED, BROKEN_PIPE = 130, 141

# What bad data, bad models, a full disk or a missing extra look like; anything else is a bug, and shows its traceback.
FORESEEN = (ValueError, TypeError, OSError, EOFError, ImportError, FloatingPointError, MemoryError)


class Application(click.Group):
    """A group of commands that ends as Unix tools do."""

    def main(self, *arguments: Any, **options: Any) -> NoReturn:
        """Run a command line, and exit."""
        try:
            code = super().main(*arguments, **{"prog_name": "onepass", **options, "standalone_mode": False})
        except click.ClickException as error:
            click.echo(f"onepass: error: {_message(error)}", err=True)
            code = error.exit_code
        except click.Abort:
            code = INTERRUPTED
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, context: click.Context) -> Any:
        """Run the subcommand; what can be foreseen becomes an error of one line."""
        try:
            result = super().invoke(context)
            sys.stdout.flush()  # a closed pipe shows here at the latest, not when the interpreter ends
            return result
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            context.exit(BROKEN_PIPE)
        except FORESEEN as error:
            if os.environ.get("ONEPASS_DEBUG", "0") != "0":
                raise
            raise click.ClickException(_message(error)) from error


def _message(error: Exception) -> str:
    if isinstance(error, click.UsageError):
        command = error.ctx.command_path if error.ctx else "onepass"
        return f"{' '.join(error.format_message().split())} (see {command} --help)"
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        text = f"{os.fsdecode(error.filename)}: {error.strerror}"
    else:
        text = str(error) or type(error).__name__
    return " ".join(" ".join([text, *getattr(error, "__notes__", [])]).split())


verbose = click.option(
    "-v",
    "--verbose",
    count=True,
    expose_value=False,
    is_eager=True,
    callback=be_verbose,
    help="Show the log on standard error: what is decided and noticed; -vv also what is compiled.",
)


@verbose
@click.group(cls=Application, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="onepass %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """Online learning: every example is predicted first, then learned from once."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for command in (learn, predict, info, compare, tune, learners, reproduce, demo, warm, translate):
    verbose(command)
    main.add_command(command)

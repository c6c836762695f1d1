"""The `latecomer` command. Each verb is a file of verbs/; this one collects them."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import Annotated

import latecomer
import typer
from typer.core import TyperGroup

from .errors import UserError
from .lab import SpecError
from .output import say
from .verbs import lab
from .verbs.algorithms import algorithms
from .verbs.bench import bench
from .verbs.calibrate import calibrate
from .verbs.doctor import doctor
from .verbs.reproduce import reproduce
from .verbs.show import show
from .verbs.simulate import simulate
from .verbs.verify import verify

_VALUES = (ValueError, SpecError)  # a value of the command line makes no sense


class _Verbs(TyperGroup):
    """Says that it was interrupted, where the verb has not."""

    def invoke(self, ctx: typer.Context) -> object:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(130) from None


app = typer.Typer(cls=_Verbs, add_completion=False, rich_markup_mode=None)
app.command()(bench)
app.command()(simulate)
app.command()(calibrate)
app.command()(algorithms)
app.command()(verify)
app.command()(show)
app.command()(reproduce)
app.command()(doctor)
app.add_typer(lab.app, name="lab")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"latecomer {latecomer.__version__}")
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
]


@app.callback()
def root(version: Version = False) -> None:
    """MPI collectives that stay fast when the ranks do not arrive together."""


def run(words: Sequence[str]) -> int:
    """Run one command line and return its exit code: 0, 2 for a usage error, 1 otherwise."""
    try:
        code = app(list(words) or ["--help"], prog_name="latecomer", standalone_mode=False) or 0
        sys.stdout.flush()
    except typer.TyperException as error:
        return _fail(_usage(error), 2)
    except (UserError, ValueError, ImportError, RuntimeError) as error:
        return _fail(str(error), 2 if isinstance(error, _VALUES) else 1)
    except BrokenPipeError:  # the reader has seen enough, as in `| head`
        _print_no_more()
        return 1
    except OSError as error:
        _print_no_more()
        where = error.filename or "standard output"
        return _fail(f"cannot read or write {where}: {error.strerror or error}", 1)
    return code


def _print_no_more() -> None:
    """What standard output's buffer holds goes nowhere, so that the end of Python is silent."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "latecomer"
    return f"{error.format_message()} See '{path} --help'."


def _fail(message: str, code: int) -> int:
    say(f"error: {message}")
    return code


def _interrupt(number: int, _frame: object) -> None:
    raise KeyboardInterrupt(number)


def main() -> None:
    """The command. A time limit or a closed connection ends it as Ctrl-C does: in order."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup wants it
            signal.signal(number, _interrupt)
    sys.exit(run(sys.argv[1:]))

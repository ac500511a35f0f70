"""The `xtrellis` program: its commands, and what becomes of errors.

Exit codes: 0 done; 2 a user's mistake, told in one line; 130 Ctrl-C; 143 SIGTERM; 141 the reader of our output went
away; 1 anything else, which is a bug or a machine out of memory. `--debug` lets the traceback through.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NoReturn

import typer

from .. import __version__
from ..core import XtrellisError
from . import interrupt, log_of, show
from .compare import compare
from .demo import demo
from .evaluate import evaluate
from .experiment import experiment
from .import_pecos import import_pecos
from .inspect import inspect
from .living.history import history
from .living.labels import labels
from .living.update import update
from .predict import predict
from .scale import convert, tune
from .serve import serve
from .tag import tag
from .train import train
from .typed import as_typed
from .vocabulary.commands import vocabulary

app = typer.Typer(
    name="xtrellis",
    help="Extreme multi-label classification: the few right labels among thousands to millions.",
    epilog="Start with `xtrellis demo`, then `xtrellis train DATA --to MODEL`.",
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    demo,
    train,
    predict,
    evaluate,
    compare,
    tag,
    serve,
    update,
    labels,
    history,
    inspect,
    convert,
    tune,
    import_pecos,
    experiment,
):
    app.command()(command)
app.add_typer(vocabulary)

# click's class for a wrong command line, wherever this version of typer keeps its click
_UsageError: type[Any] = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "UsageError")


@dataclass
class Debugging:
    """What the error handling needs to know of the command line."""

    debug: bool = False


def _version(value: bool) -> None:
    if value:
        sys.stdout.write(f"xtrellis {__version__}\n")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Extreme multi-label classification: the few right labels among thousands to millions."""
    if context.invoked_subcommand is None:
        sys.stdout.write(context.get_help() + "\n")


def run(args: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code; nothing is raised except under `--debug`."""
    debugging = Debugging()
    given = list(sys.argv[1:] if args is None else args)
    said = log_of(given)  # a command line that cannot be parsed has no other way to say it
    show.log = said if said in show.LOGS else None
    with interrupt.watch() as watcher, show.warnings_as_json():
        try:
            code = typer.main.get_command(app).main(given, prog_name="xtrellis", standalone_mode=False, obj=debugging)
            sys.stdout.flush()
        except KeyboardInterrupt:
            code = interrupt.EXIT_CODE
        except SystemExit as stop:  # click's answer to a closed pipe
            code = 141 if isinstance(stop.__context__, BrokenPipeError) else stop.code
        except BrokenPipeError:
            code = 141
        except Exception as error:
            if watcher.asked:  # the interruption of something that made another error of it
                code = interrupt.EXIT_CODE
            elif debugging.debug and show.log != "json":
                raise
            else:
                code, line = _judge(error, next((word for word in given if not word.startswith("-")), ""))
                show.error(line, **({"traceback": traceback.format_exc()} if debugging.debug else {}))
        if code == interrupt.EXIT_CODE:  # typer's answer to KeyboardInterrupt as well, whatever signal it was
            code = watcher.exit_code
            watcher.say()
        if code == 141:  # whatever is still buffered has no reader: spare the interpreter the attempt
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code if isinstance(code, int) else 0


def main() -> NoReturn:
    """The entry point of the `xtrellis` program."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a name the terminal cannot show must not stop the program
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run())


def _judge(error: Exception, command: str) -> tuple[int, str]:
    """The exit code and the one line for an error."""
    if isinstance(error, _UsageError):
        context = getattr(error, "ctx", None)
        message = " ".join(error.format_message().split()).rstrip(".")
        return 2, message + (f"; see {context.command_path} --help" if context else "")
    if isinstance(error, XtrellisError):
        return 2, as_typed(" ".join(str(error).split("\n")), command)
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename!s:.600}: " if error.filename else ""
        return 2, f"{place}{error.strerror[0].lower()}{error.strerror[1:]}"
    if isinstance(error, MemoryError):
        return 1, f"not enough memory ({error})" if str(error) else "not enough memory"
    return 1, f"internal error, {type(error).__name__}: {error} (run again with --debug to see where)"

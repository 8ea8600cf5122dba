"""The command: ``symlayout prove PATH...``, ``verify KERNEL``, ``emit``, ``show``, ``diff``, ``check-certificate``, ...

Exit status: 2 wrong usage or bad input, 1 a verdict or a comparison other than the expected one, 3 undecided or
vacuous, 4 a device or a compiler was required and none is there, 0 otherwise; the first that applies in the order
2, 1, 3, 4.

A command is a function in a file of its own, or of its like; its row in ``COMMANDS`` is its name and its place in the
help.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from ..answers import console
from ..errors import InternalError
from ..process import prepare
from ..siblings import expect_ours
from .calibrate import calibrate
from .certificates import check_certificate
from .diff import diff
from .exits import BAD_INPUT, OK
from .kernels import emit, kernels
from .machines import machines
from .prove import prove
from .run import run
from .show import show
from .simulate import simulate
from .sweep import sweep
from .tensormaps import tensormaps
from .verify import verify
from .words import explain, init

COMMANDS: dict[str, Callable[..., None]] = {
    "prove": prove,
    "check-certificate": check_certificate,
    "diff": diff,
    "tensormaps": tensormaps,
    "explain": explain,
    "init": init,
    "show": show,
    "kernels": kernels,
    "emit": emit,
    "verify": verify,
    "run": run,
    "simulate": simulate,
    "sweep": sweep,
    "calibrate": calibrate,
    "machines": machines,
}

app = typer.Typer(
    name="symlayout",
    help="Prove properties of GPU layouts for all sizes; show what a layout does.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

for _name, _command in COMMANDS.items():
    app.command(_name)(_command)


def _version(asked: bool) -> None:
    if asked:
        from checkers.smt import version as solver

        from .. import __version__

        console.out.print(f"symlayout {__version__}, Python {platform.python_version()}, {solver()}")
        raise typer.Exit(OK)


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the versions and exit."),
    ] = False,
) -> None:
    pass


def main() -> None:
    """The entry point; a defect of ours ends in one line and status 70, a broken pipe in silence."""
    prepare()
    try:
        expect_ours()
        app()
    except ImportError as e:
        if "of symlayout at" not in str(e):
            raise
        console.show_error(str(e))
        sys.exit(BAD_INPUT)
    except InternalError as e:
        console.show_error(f"internal error, please report it: {e}")
        sys.exit(70)
    except BrokenPipeError:
        sys.exit(141)
    except KeyboardInterrupt:
        console.show_error("interrupted")
        sys.exit(130)

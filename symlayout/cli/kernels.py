"""``symlayout kernels`` and ``symlayout emit``: the families that there are, and kernels as CUDA C++."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..answers import console
from ..errors import SymlayoutError
from ..kernel import Kernel
from .chosen import KERNEL_HELP, PAIRS_HELP, chosen
from .exits import fail, write


def kernels() -> None:
    """List the kernel families with their sizes, their options and what they compute."""
    from ..kernels.families import families

    for f in families():
        console.out.print(f"{f}\n  {f.summary}", markup=False)


def emit(
    kernel: Annotated[str, typer.Argument(metavar="KERNEL", help=KERNEL_HELP)],
    pairs: Annotated[list[str] | None, typer.Argument(metavar="[NAME=VALUE...]", help=PAIRS_HELP)] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Write NAME.cu and its launcher NAME_launcher.hpp there."),
    ] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="An option.")] = None,
    delays: Annotated[
        int | None, typer.Option(metavar="SEED", help="Print random waits too, with which races show.")
    ] = None,
    definition: Annotated[
        bool, typer.Option("--definition", help="Print what large sizes are compared with: each element, plainly.")
    ] = False,
) -> None:
    """Print a kernel as CUDA C++, for all its sizes; with -o write it, with the host's part in C++."""
    import gpu
    from gpu.codegen.launcher import launcher

    one = chosen(kernel, [*(pairs or ()), *(set_ or ())])
    if definition:
        _defined(one.kernel, output)
        return
    try:
        source = gpu.emit(one.kernel, delays)
    except SymlayoutError as e:
        fail(str(e))
    if output is None:
        sys.stdout.write(source.text)
        return
    try:
        host = launcher(one.kernel, source)
    except SymlayoutError as e:
        fail(str(e))
    folder(output)
    files = {output / f"{source.name}.cu": source.text, output / f"{source.name}_launcher.hpp": host}
    write(files)
    for file in files:
        console.out.print(f"wrote {file}", markup=False)


def _defined(kernel: Kernel, output: Path | None) -> None:
    """Print the definition of a kernel, or write it to NAME_definition.cu."""
    import gpu

    try:
        found = gpu.define(kernel)
    except SymlayoutError as e:
        fail(str(e))
    if output is None:
        sys.stdout.write(found.text)
        return
    folder(output)
    file = output / f"{found.name}_definition.cu"
    write({file: found.text})
    console.out.print(f"wrote {file}", markup=False)


def folder(path: Path) -> None:
    """A folder to write to; one that cannot be made ends the command."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        fail(f"expected a folder, got {path}: {e.strerror}")

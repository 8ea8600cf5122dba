"""The kernel that a command is about, and the sizes and options that follow it as NAME=VALUE."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..errors import SymlayoutError
from ..kernel import Kernel
from ..kernels import __all__ as families
from .exits import fail

KERNEL_HELP = "A kernel family (symlayout kernels lists them), FILE.py:NAME or module:NAME of a kernel of your own."
PAIRS_HELP = "Sizes such as M=4096, and options of a family such as stages=3 or tile=64x64."


@dataclass(frozen=True)
class Chosen:
    """A kernel for all sizes, the sizes that were named, and whether it is one of the families."""

    kernel: Kernel
    sizes: dict[str, int]
    shipped: bool


def chosen(target: str, pairs: Iterable[str], partly: bool = False, others: Iterable[str] = ()) -> Chosen:
    """The kernel of an argument. A value that is not a kernel, a size or an option of it ends the command.

    Sizes are all named or none, unless something else tells the others (*partly*). *others* may be meant by names.
    """
    named = dict[str, str]()
    for name, text in map(_pair, pairs):
        if named.setdefault(name, text) != text:
            fail(f"expected one value of {name}, got {named[name]} and {text}")
    if ":" in target:
        kernel = _own(target)
        return Chosen(kernel, _sizes(kernel, named, partly, (), others), False)
    from ..kernels.families import family

    try:
        of = family(target)
        options = {k: of.read(k, text) for k, text in named.items() if k in of.options}
        kernel = of.build(**options)
    except SymlayoutError as e:
        own = "; a kernel of your own is FILE.py:NAME" if target not in families else ""
        fail(f"{e}{own}")
        raise
    sizes = {k: x for k, x in named.items() if k not in of.options}
    return Chosen(kernel, _sizes(kernel, sizes, partly, of.options, others), True)


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not (sign and name.isidentifier() and value):
        fail(f"expected NAME=VALUE such as M=4096, got {text!r}")
    return name, value


def _sizes(
    kernel: Kernel, named: dict[str, str], partly: bool, options: Iterable[str], others: Iterable[str]
) -> dict[str, int]:
    """Sizes as numbers: none, or all that the kernel has, unless *partly*."""
    wanted = [s.name for s in kernel.dims]
    unknown = next((k for k in named if k not in wanted), None)
    if unknown is not None:
        option = f" or an option ({', '.join(options)})" if options else ""
        near = difflib.get_close_matches(unknown, [*wanted, *options, *others], 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        fail(f"expected a size of {kernel.name} ({', '.join(wanted) or 'it has none'}){option}, got {unknown!r}{hint}")
    missing = [k for k in wanted if k not in named]
    if named and missing and not partly:
        fail(f"expected all sizes of {kernel.name}, got none for {', '.join(missing)}")
    for k, text in named.items():
        if not (text.isascii() and text.isdecimal()):
            fail(f"expected a number for {k}, got {text!r}")
    return {k: int(named[k]) for k in wanted if k in named}


def _own(target: str) -> Kernel:
    """A kernel of the user's, from a module that a child process imports."""
    from ..finding.importer import IMPORTER

    where, _, name = target.rpartition(":")
    if where.endswith(".py") and not Path(where).is_file():
        fail(f"expected a file before :{name}, got {where}, which does not exist")
    found = list(IMPORTER.claims(target, named=True))
    for f in found:
        if f.error:
            fail(f"{f.place}: {f.error}")
    kernels = [f.claim for f in found if isinstance(f.claim, Kernel)]
    if len(kernels) != 1:
        fail(f"expected one kernel at {target}, got {len(kernels)}")
    return kernels[0]

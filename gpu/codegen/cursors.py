"""Cursors of rings as C: the slot and the phase of a use in variables that a loop advances (``kernel.cursors``).

>>> from gpu.codegen import emit
>>> from symlayout import dim
>>> from symlayout.kernels import cp_async_copy
>>> text = emit(cp_async_copy(dim("N"), stages=3, blocks=132)).text
>>> print(*(line for line in text.splitlines() if "slot" in line and "cp_async" not in line), sep="\\n")
    int slot = 2, slot1 = 0;
                vector<4>(word) = vector<4>(tile + 512 * slot1 + 128 * j + thread);
        slot = slot1;
        if (++slot1 == 3) slot1 = 0;
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from symlayout.expr import Expr, Int, mod
from symlayout.expr.partial_results import partial_results
from symlayout.kernel.cursors import Cursor
from symlayout.kernel.sites import Site

from .integers import ATOM, BITS, WIDE, C
from .page import Page


@contextmanager
def of_role(p: Page) -> Iterator[None]:
    """The names of cursors that begin inside are free again behind a role, so that each role may have a slot."""
    outside = {*p.counting}
    yield
    p.taken -= {name for c, names in p.counting.items() if c not in outside for name in names}


def begin(p: Page, site: Site) -> None:
    """Declare the cursors that begin before a loop, at their first values."""
    first = []
    for c in (c for c in p.cursors if c.begins == site.places):
        p.counting[c] = p.free("slot"), p.free("phase") if c.phase else ""
        first += [f"{name} = {_first(p, x)}" for name, x in zip(p.counting[c], c.values(c.start), strict=False) if name]
    if first:
        p.line(f"int {', '.join(first)};")


def _first(p: Page, x: Int) -> str:
    """A slot or a parity before the first iteration, by partial results of 64 bits: others than the kernel has."""
    if not isinstance(x, Expr):
        return str(x)
    wide = p.integers.wide | {part.value for part in partial_results(x)}
    piece = replace(p.integers, wide=wide).of(x)
    return piece.text if piece.bits == 32 else f"int({piece.text})"


def inside(p: Page, site: Site) -> None:
    """From here on the cursors that a loop advances stand for what they count in its iterations."""
    for c in p.cursors:
        if c.loop == site.places:
            _stand(p, c, *c.forms)


def advance(p: Page, site: Site) -> None:
    """The next use of each cursor, at the end of an iteration; one that is behind another takes what that one had."""
    here = [c for c in p.cursors if c.loop == site.places]
    while here:
        c = next((c for c in here if not any(_follows(c, other) for other in here)), here[0])
        here.remove(c)
        slot, phase = p.counting[c]
        ahead = next((other for other in here if _follows(other, c)), None)
        if ahead is not None and not phase:
            p.line(f"{slot} = {p.counting[ahead][0]};")
        elif not phase:
            p.line(f"if (++{slot} == {c.slots}) {slot} = 0;")
        else:
            with p.block(f"if (++{slot} == {c.slots}) {{"):
                p.line(f"{slot} = 0;")
                p.line(f"{phase} ^= 1;")


def _follows(c: Cursor, before: Cursor) -> bool:
    """Whether the slot of a cursor is the one behind that of another."""
    return c.slots == before.slots and mod(c.inside - before.inside - 1, c.slots) == 0


def behind(p: Page, site: Site) -> None:
    """Behind a loop its cursors stand at the use after its last, until what they are declared in ends."""
    for c in p.cursors:
        if c.loop == site.places and c.behind is not None:
            _stand(p, c, c.behind)


def _stand(p: Page, c: Cursor, *counts: Int) -> None:
    slot, phase = p.counting[c]
    texts = C(slot, ATOM, 32, WIDE), C(phase, ATOM, 32, WIDE), C(f"{phase} ^ 1", BITS, 32, WIDE)
    known = {x: text for n in counts for x, text in zip(c.values(n), texts, strict=False) if isinstance(x, Expr)}
    p.integers = replace(p.integers, names={**p.integers.names, **known})

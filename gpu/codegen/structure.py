"""Loops, conditions, roles and names as C++: what stands around operations, and who executes them."""

from __future__ import annotations

from dataclasses import replace

from symlayout.arch import SM90
from symlayout.errors import LayoutError
from symlayout.expr import Symbol
from symlayout.kernel.cursors import bound
from symlayout.kernel.declarations import THREAD
from symlayout.kernel.sites import Site
from symlayout.ops import ELECTIONS, UNROLLED, WARP, Elect, For, If, Let, LoadIndex, Role

from . import cursors
from .integers import ATOM, SUM, WIDE, C
from .naming import invariant, repeated
from .page import Page


def body(p: Page, site: Site) -> None:
    """The body of an operation; its names are forgotten after it."""
    with p.scope():
        for _ in p.inside(site):
            pass


def loop(p: Page, site: Site) -> None:
    """A loop from 0 on. What it does not change has a name before it, what its body divides twice one inside.

    It advances the cursors of rings at the end of each iteration.
    """
    op = site.op
    assert isinstance(op, For)
    made = bound(op)

    def stays(s: Symbol) -> bool:
        return p.is_known(s) and s.name not in made

    with p.scope():
        for x in invariant(op, stays, p.is_named):
            p.name(x, "trips" if x.value == op.extent else "v")
        cursors.begin(p, site)
        trips = p.integers.of(op.extent)
        kind, i = "int" if trips.bits == 32 else "int64_t", op.index.name
        if op.unroll is not None:
            p.line("#pragma unroll" + ("" if op.unroll == UNROLLED else f" {op.unroll}"))
        with p.block(f"for ({kind} {i} = 0; {i} < {trips.inside(SUM)}; ++{i}) {{"):
            p.bind(op.index, replace(trips, text=i, binds=ATOM))
            cursors.inside(p, site)
            for x in repeated(op.inside, stays, p.is_named):
                p.name(x, "v")
            body(p, site)
            cursors.advance(p, site)
    cursors.behind(p, site)


def condition(p: Page, site: Site) -> None:
    op = site.op
    assert isinstance(op, If)
    with p.block(f"if ({p.condition(op.condition)}) {{"):
        body(p, site)


def elect(p: Page, site: Site) -> None:
    """One lane of each warp, or of the first that is here. Raises LayoutError where that warp is not known."""
    op = site.op
    assert isinstance(op, Elect)
    lane = "elect_one()" if op.by == ELECTIONS[0] else f"{THREAD} % {WARP} == 0"
    with p.block(f"if ({'' if op.each_warp else _first_warp(site)}{lane}) {{"):
        body(p, site)


def _first_warp(site: Site) -> str:
    """The test for the first warp that is here, where there is more than one."""
    if site.team is None:
        raise LayoutError(f"expected an election where it is known which warps are here, got {site.op} in {site.role}")
    if len(site.team.warps) == 1:
        return ""
    base = next((a.first_warp for a in reversed(site.around) if isinstance(a, Role)), 0)
    first = min(site.team.warps) - base
    return f"{THREAD} < {WARP} && " if first == 0 else f"{THREAD} / {WARP} == {first} && "


def role(p: Page, site: Site) -> None:
    """Some warps of the CTA; ``thread`` counts from their first. Registers are given back or asked for."""
    op = site.op
    assert isinstance(op, Role)
    first, last, total = op.first_warp, op.first_warp + op.warps - 1, p.kernel.threads // WARP
    warp = f"threadIdx.x / {WARP}"
    if op.warps == 1:
        test = f"{warp} == {first}"
    elif first == 0:
        test = f"{warp} <= {last}"
    else:
        test = f"{warp} >= {first}" + (f" && {warp} <= {last}" if last < total - 1 else "")
    p.line()
    p.line(f"// {op.name}: {f'warp {first}' if op.warps == 1 else f'warps {first} to {last}'}")
    with p.scope(), cursors.of_role(p), p.block(f"if ({test}) {{"):
        if op.registers:
            launched = SM90.registers_at(p.kernel.threads, p.kernel.ctas_per_sm or 1)
            way = "inc" if op.registers > launched else "dec"
            p.call(f"setmaxnreg_{way}", template=f"<{op.registers}>")
        if first:
            p.line(f"const int {THREAD} = threadIdx.x - {WARP * first};")
        p.forget(THREAD)
        p.registers(op.name)
        outer, p.role = p.role, op.name
        body(p, site)
        p.role = outer


def let(p: Page, site: Site) -> None:
    op = site.op
    assert isinstance(op, Let)
    piece = p.integers.of(op.value)
    p.declare(op.name, replace(piece, bits=WIDE) if op.name in p.integers.wide else piece, op.value)


def load_index(p: Page, site: Site) -> None:
    op = site.op
    assert isinstance(op, LoadIndex)
    bits = WIDE if op.name in p.integers.wide else p.kernel.index_bits
    p.declare(op.name, C(f"{p.array(op.src.tensor)}[{p.c(op.src.offset)}]", ATOM, bits))

"""Loops, conditions, roles and names as C++: what stands around operations, and who executes them."""

from __future__ import annotations

from symlayout.errors import LayoutError
from symlayout.facts import symbols_in
from symlayout.kernel.declarations import THREAD
from symlayout.kernel.sites import Site
from symlayout.ops import ELECTIONS, WARP, Elect, For, If, Let, LoadIndex, Ref, Role

from .integers import SUM
from .naming import invariant, repeated
from .page import Page

REGISTER_FILE = 65536  # registers of an SM (CUDA C++ Programming Guide, Compute Capabilities)
MOST_REGISTERS = 255  # of a thread
REGISTER_UNIT = 8


def body(p: Page, site: Site) -> None:
    """What stands inside of an operation; its names are forgotten behind it."""
    with p.scope():
        for _ in p.inside(site):
            pass


def loop(p: Page, site: Site) -> None:
    """A loop from 0 on. What it does not change has a name before it, what its body divides twice one inside."""
    op = site.op
    assert isinstance(op, For)
    with p.scope():
        for x in invariant(op, p.is_known, p.is_named):
            p.name(x, "trips" if x.value == op.extent else "v")
        trips = p.integers.of(op.extent)
        kind, i = "int" if trips.bits == 32 else "int64_t", op.index.name
        if _indexes_registers(p, op):
            p.line("#pragma unroll")
        with p.block(f"for ({kind} {i} = 0; {i} < {trips.inside(SUM)}; ++{i}) {{"):
            p.bind(op.index, trips.bits)
            for x in repeated(op.inside, p.is_known, p.is_named):
                p.name(x, "v")
            body(p, site)


def _indexes_registers(p: Page, op: For) -> bool:
    """Whether registers are indexed by the loop, which would be local memory unless it is unrolled."""
    touched = (t.operand for inside in op.inside for o in inside.walk() for t in o.touches())
    return any(
        isinstance(r, Ref) and p.tensors[r.tensor].space == "register" and op.index in symbols_in((r.offset,))
        for r in touched
    )


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
    with p.scope(), p.block(f"if ({test}) {{"):
        if op.registers:
            launched = min(MOST_REGISTERS, REGISTER_FILE // p.kernel.threads) // REGISTER_UNIT * REGISTER_UNIT
            way = "inc" if op.registers > launched else "dec"
            p.call(f"setmaxnreg_{way}", template=f"<{op.registers}>")
        if first:
            p.line(f"const int {THREAD} = threadIdx.x - {WARP * first};")
        p.registers(op.name)
        outer, p.role = p.role, op.name
        body(p, site)
        p.role = outer


def let(p: Page, site: Site) -> None:
    op = site.op
    assert isinstance(op, Let)
    piece = p.integers.of(op.value)
    bits = max(piece.bits, 64 if op.name in p.integers.wide else 0)
    p.line(f"const {'int' if bits == 32 else 'int64_t'} {op.name.name} = {piece.text};")
    p.bind(op.name, bits, op.value)


def load_index(p: Page, site: Site) -> None:
    op = site.op
    assert isinstance(op, LoadIndex)
    bits = 64 if op.name in p.integers.wide else p.kernel.index_bits
    p.line(f"const {'int' if bits == 32 else 'int64_t'} {op.name.name} = {op.src.tensor}[{p.c(op.src.offset)}];")
    p.bind(op.name, bits)

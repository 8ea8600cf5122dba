"""Random protocols of barriers, valid and broken: does a proof hold in 20 schedules, and how many are decided?

    python -m benchmarks.protocol_kernels [--trials 200] [--first 0] [--resume FILE]

A protocol is a chain of roles. The first loads tiles, the others read a tile of the role before and write one for the
next, the last one stores. Between two roles there is a ring of mbarriers or a pair of named barriers. Trips, slots,
arrivals, orders and how late a slot is given back are drawn, and slips: a use, a parity, a count one off, an operation
left out. Where the claims about phases and order are all proved, no schedule at any of some sizes may hang, let a phase
get too much, or read or overwrite bytes out of order. With ``--resume`` each trial is a line of a file, and those that
are there are not run again. Exit status 1 if a proof is contradicted.
"""

from __future__ import annotations

import argparse
import collections
import json
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from checkers import HappensBefore, RingProtocol, TransactionBytes, prove
from checkers.budget import Budget
from checkers.rings.recognised import rings_of
from symlayout import Layout, dim
from symlayout.answers.report import Outcome
from symlayout.errors import SymlayoutError
from symlayout.kernel import Builder, Kernel
from symlayout.semantics.trials import mishap

Draw: TypeAlias = "Callable[[int], tuple[Kernel, list[str]]]"

SCHEDULES: tuple[str | int, ...] = ("eager", "lazy", *range(18))
SIZES = (1, 2, 3, 5, 8)  # trips
QUICK = Budget(solver_ms=300, repairs=False, refuter_points=4000)
SLIP = 0.04  # how likely each number or operation is wrong


@dataclass
class Link:
    """What lies between two roles: tiles, and the barriers that hand them over."""

    tile: Any
    slots: int
    full: Any = None
    empty: Any = None
    number: int = 0  # of a pair of named barriers, 0 for mbarriers
    lanes: bool = False  # whether all lanes arrive
    late: int = 0  # uses by which a slot is given back late


@dataclass
class Protocol:
    """A protocol while it is drawn."""

    r: random.Random
    clean: bool = False
    slips: list[str] = field(default_factory=list)
    halves: int = 2  # of a tile of a cluster that a slot gets

    def off(self, what: str) -> int:
        """0, or now and then a slip of one."""
        if self.clean or self.r.random() >= SLIP:
            return 0
        self.slips.append(what)
        return self.r.choice((-1, 1))

    def kept(self, what: str) -> bool:
        """Whether an operation is there."""
        if self.clean or self.r.random() >= SLIP:
            return True
        self.slips.append(f"no {what}")
        return False


def drawn(seed: int) -> tuple[Kernel, list[str]]:
    """(a protocol, its slips)."""
    r = random.Random(seed)
    p = Protocol(r, clean=r.random() < 0.4)
    roles = r.choice((2, 2, 3, 3, 4))
    steps = r.choice((1, 1, 1, 2, "K"))  # of each iteration of an outer loop
    L = dim("L", at_most=1 << 16)
    K = dim("K", at_most=1 << 10) if steps == "K" else steps
    sizes = (L, K) if steps == "K" else (L,)
    k = Builder("protocol", *sizes, grid=(1,), threads=32 * roles)
    total = L * K
    a, o = (k.global_tensor(name, "f32", Layout((32, total))) for name in "ao")
    links = [_link(k, p, n) for n in range(roles - 1)]
    for n in range(roles):
        with k.role(f"r{n}", 1):
            x = k.registers(f"x{n}", "f32", 1)
            trips = L + (p.off("trips") if n else 0)
            with k.loop("t", trips) as t, k.loop("s", K) if steps != 1 else nullcontext(0) as s:
                i = t * K + s if steps != 1 else t
                _step(k, p, links[n - 1] if n else None, links[n] if n < roles - 1 else None, x, a, o, i)
    return k.kernel(), p.slips


def _link(k: Builder, p: Protocol, n: int) -> Link:
    slots = p.r.choice((1, 1, 2, 3, 4))
    link = Link(k.shared_tensor(f"t{n}", "f32", Layout((32, slots))), slots)
    if n and p.r.random() < 0.25:
        link.number = 1 + 2 * n
        return link
    link.lanes = p.r.random() < 0.2
    link.late = p.r.choice((0, 0, 0, 1, 2))
    count = max(1, (32 if link.lanes else 1) + p.off("arrivals"))
    link.full = k.mbarriers(f"full{n}", slots, max(1, (32 if link.lanes and n else 1) + p.off("arrivals")))
    link.empty = k.mbarriers(f"empty{n}", slots, count)
    return link


def _step(k: Builder, p: Protocol, before: Link | None, behind: Link | None, x: Any, a: Any, o: Any, i: Any) -> None:
    """One iteration of a role: what it waits for, in some order, then its work, then what it tells."""
    waits = [
        w for w in (before and (lambda: _await(k, p, before, i)), behind and (lambda: _free(k, p, behind, i))) if w
    ]
    p.r.shuffle(waits)
    if before is None and behind is not None:
        with k.elect():
            waits[0]()
            k.expect_tx(behind.full((i + p.off("slot")) % behind.slots), 128)
            slot = (i + p.off("slot")) % behind.slots
            k.copy("bulk.load", a(32 * i), behind.tile(32 * slot), behind.full(slot), nbytes=128)
        return
    assert before is not None
    for wait in waits:
        wait()
    k.copy("ld.shared.4", before.tile(32 * ((i + p.off("read")) % before.slots) + k.thread), x())
    if behind is None:
        k.copy("st.global.4", x(), o(32 * i + k.thread))
    else:
        k.copy("st.shared.4", x(), behind.tile(32 * ((i + p.off("write")) % behind.slots) + k.thread))
    first = p.r.random() < 0.5
    for told in (before, behind) if first else (behind, before):
        if told is not None:
            _tell(k, p, told, i, told is before)


def _await(k: Builder, p: Protocol, link: Link, i: Any) -> None:
    """Wait until a tile is there."""
    if link.number:
        if p.kept("barrier"):
            k.sync(link.number, 64)
    elif p.kept("wait"):
        use = i + p.off("use")
        k.wait(link.full(use % link.slots), (use // link.slots + p.off("parity")) % 2)


def _free(k: Builder, p: Protocol, link: Link, i: Any) -> None:
    """Wait until a slot is free; named barriers tell of that behind the read."""
    if not link.number and p.kept("wait"):
        use = i + p.off("use")
        k.wait(link.empty(use % link.slots), (use // link.slots + 1 + p.off("parity")) % 2)


def _tell(k: Builder, p: Protocol, link: Link, i: Any, back: bool) -> None:
    """Tell the other role that a tile is there, or give its slot back."""
    if link.number:
        if not back and p.kept("barrier"):
            k.sync(link.number, 64)
        if p.kept("barrier"):
            k.sync(link.number + 1, 64)
        return
    late = link.late if back else 0
    barrier = link.empty if back else link.full
    if not link.lanes and p.kept("warp barrier"):
        k.warp_sync()
    if not p.kept("arrival"):
        return
    use = i - late + p.off("use")
    with k.where(i >= late) if late else nullcontext(), nullcontext() if link.lanes else k.elect():
        k.arrive(barrier(use % link.slots))


# -- judgement ------------------------------------------------------------------------------------------


def proof(kernel: Kernel) -> str:
    """How the claims about phases and order end together."""
    armed = {op.expects.barrier for op in kernel.walk() if op.expects is not None}
    claims = [*(TransactionBytes(kernel, b) for b in armed), *(RingProtocol(kernel, r.full) for r in rings_of(kernel))]
    outcomes = {v.outcome for v in prove([*claims, HappensBefore(kernel)], budget=QUICK).verdicts}
    if Outcome.REFUTED in outcomes:
        return "refuted"
    return "proved" if outcomes == {Outcome.PROVED} else "open"


def broken(kernel: Kernel) -> str:
    """What a schedule at some sizes breaks; "" where none does."""
    for n in SIZES:
        try:
            bound = kernel.bind(**{d.name: n if d.name == "L" else 1 + n % 3 for d in kernel.dims})
        except SymlayoutError:
            continue
        found = mishap(bound, schedules=SCHEDULES)
        if found is not None:
            return f"L = {n}: {found}"
    return ""


def judged(seed: int, draw: Draw) -> dict[str, Any]:
    """A trial as a row: how the proof ends, whether a schedule breaks it."""
    kernel, slips = draw(seed)
    try:
        how = proof(kernel)
    except SymlayoutError as e:
        return {"seed": seed, "proof": "refused", "broken": "", "slips": slips, "said": str(e)}
    return {"seed": seed, "proof": how, "broken": broken(kernel) if how != "refuted" else "", "slips": slips}


def campaign(trials: int, first: int = 0, path: Path | None = None, draw: Draw = drawn) -> Iterator[dict[str, Any]]:
    """The rows of some seeds; those of the file are not run again, and new ones are added to it."""
    known = {}
    if path is not None and path.exists():
        known = {row["seed"]: row for row in map(json.loads, path.read_text().splitlines())}
    for seed in range(first, first + trials):
        row = known.get(seed)
        if row is None:
            row = judged(seed, draw)
            if path is not None:
                with path.open("a") as f:
                    f.write(json.dumps(row) + "\n")
        yield row


def main(argv: list[str] | None = None, draw: Draw = drawn, about: str | None = __doc__) -> int:
    """Print the table, and each proof that a schedule contradicts; 1 if there is one."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--resume", type=Path)
    options = parser.parse_args(argv)
    counts: collections.Counter[tuple[str, bool]] = collections.Counter()
    wrong = []
    for row in campaign(options.trials, options.first, options.resume, draw):
        counts[row["proof"], bool(row["broken"])] += 1
        if row["proof"] == "proved" and row["broken"]:
            wrong.append(row)
            print(json.dumps(row))
    total = sum(counts.values())
    decided = sum(n for (how, _), n in counts.items() if how in ("proved", "refuted"))
    for (how, bad), n in sorted(counts.items()):
        print(f"{how:9}{'broken' if bad else '':8}{n:>7}")
    print(f"decided  {decided / max(1, total):>7.1%} of {total}, {len(wrong)} wrongly proved")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

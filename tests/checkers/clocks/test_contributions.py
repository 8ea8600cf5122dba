"""Which executions contribute to a phase: what is found by cases is what counting finds."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from checkers.clocks.events import put
from checkers.clocks.phases import cases
from checkers.clocks.under import Shelf, Under
from checkers.clocks.uses import Phased, barriers
from symlayout.expr import eq
from symlayout.kernel import Kernel
from tests.support.protocols import begun, late_tails

KERNELS: dict[str, Callable[[], Kernel]] = {
    "tails": late_tails,
    "tails one on": lambda: late_tails(shift=1),
    "tails and steps twice": lambda: late_tails(late=0, first=0),
    "pairs": begun,
    "pairs with a gap": lambda: begun(pair=(0, 2)),
}
SIZES = ({"L": 1, "K": 1}, {"L": 2, "K": 3})


def counted(b: Phased, env: dict[Any, int]) -> Counter[int]:
    """The arrivals of each use at sizes, by executing all loops."""
    out: Counter[int] = Counter()
    for u in b.arrivals:
        loops = u.event.site.loops[: u.event.depth]
        for at in itertools.product(*(range(put(loop.extent, env)) for loop in loops)):
            here = env | {loop.index: i for loop, i in zip(loops, at, strict=True)}
            if all(put(f, here).value for f in u.event.site.conditions):
                out[put(u.use, here)] += u.arrivals
    return out


def arrays(name: str) -> Iterator[tuple[Kernel, Phased]]:
    kernel = KERNELS[name]()
    yield from ((kernel, b) for b in barriers(kernel.distinct) if not b.named)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_some_case_is_what_is_counted(name: str, sizes: dict[str, int]) -> None:
    for kernel, b in arrays(name):
        env = {d: sizes[d.name] for d in kernel.dims}
        known = Under((*kernel.given, *(eq(d, n) for d, n in env.items())), Shelf())
        wanted = counted(b, env)
        for v in range(-1, max(wanted) + 2):
            found = {c.arrivals for c in cases(b, v, known)}
            assert wanted[v] in found, f"use {v} of {b}"
            assert found == {wanted[v]} or not name.startswith("tails"), f"use {v} of {b}"

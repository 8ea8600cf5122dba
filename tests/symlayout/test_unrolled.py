"""The executor at sizes: which threads execute each operation, in which order, with which indices."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pytest

from benchmarks.inplace_kernels import random_kernel
from benchmarks.value_kernels import KINDS
from symlayout.errors import ExpressionError, LayoutError
from symlayout.expr import evaluate
from symlayout.kernel import BLOCKS, Builder, Kernel
from symlayout.kernel.sites import sites
from symlayout.kernel.unrolled import Threads, unrolled
from symlayout.kernels import gemm, row_sum, tma_copy, vector_copy
from symlayout.ops import Elect, Fence, Fill, For, If, Op, Role


def _run(kernel: Kernel, **env: int) -> list[tuple[Any, Op, Threads]]:
    return list(unrolled(kernel.plain.body, Threads(env, np.arange(kernel.threads))))


def _built(threads: int = 96) -> Builder:
    return Builder("runs", grid=(4,), threads=threads)


def test_who_comes_and_from_where_threads_count() -> None:
    k = _built()
    x = k.registers("x", "f32", 1)
    with k.role("first", warps=1), k.where(k.thread < 3):
        k.fill(x(), 1)
    with k.role("second", warps=2):
        with k.where(k.thread % 16 >= 15):
            k.fill(x(), 2)
        with k.elect():
            k.fill(x(), 3)
        with k.elect(each_warp=True):
            k.fill(x(), 4)
        with k.where(k.thread >= 64):
            k.fill(x(), 5)
    found = {op.value: (here.lanes.tolist(), here.base) for _, op, here in _run(k.kernel()) if isinstance(op, Fill)}
    assert found == {
        1: ([0, 1, 2], 0),
        2: ([47, 63, 79, 95], 32),
        3: ([32], 32),
        4: ([32, 64], 32),
    }


def test_an_election_is_among_those_who_are_here() -> None:
    k = _built()
    with k.where(k.thread >= 40), k.elect(each_warp=True):
        k.fence("async")
    assert [here.lanes.tolist() for _, op, here in _run(k.kernel()) if isinstance(op, Fence)] == [[40, 64]]


def test_iterations_come_in_program_order_with_their_indices() -> None:
    k = _built()
    x = k.registers("x", "f32", 8)
    with k.loop("i", 3) as i:
        k.fill(x(i), 0)
        with k.loop("j", i) as j:
            k.fill(x(i + j), 1)
    found = [(op.value, here.env["i"], here.env.get("j")) for _, op, here in _run(k.kernel()) if isinstance(op, Fill)]
    assert found == [(0, 0, None), (0, 1, None), (1, 1, 0), (0, 2, None), (1, 2, 0), (1, 2, 1)]


@pytest.mark.parametrize(
    "kernel, env",
    [
        (vector_copy(300, threads=64), {"block_x": 1}),
        (row_sum(3, 200, 200), {"block_x": 0}),
        (tma_copy(16, 68, tile=(8, 32), slots=2, blocks=2), {"block_x": 1}),
        (gemm(128, 128, 128, cluster=1), {"block_x": 0}),
    ],
)
def test_places_are_those_of_sites_and_threads_are_candidates(kernel: Kernel, env: dict[str, int]) -> None:
    every = {s.places: s for s in sites(kernel)}
    found = _run(kernel, **env)
    assert len(found) > 5
    for places, op, here in found:
        assert every[places].op == op
        assert set(here.env) == {*env, *(loop.index.name for loop in every[places].loops)}
        if not any(isinstance(a, Elect) for a in every[places].around):
            assert set(here.lanes.tolist()) <= every[places].candidates


def test_a_number_of_iterations_is_the_same_for_all_threads() -> None:
    k = _built()
    with k.loop("i", k.thread + 1):
        k.fence("async")
    with pytest.raises(LayoutError, match="expected one value of thread \\+ 1 for all threads, got 1 and 2"):
        _run(k.kernel())


def test_a_value_that_is_missing_ends_the_run() -> None:
    k = _built()
    with k.where(k.block[0] >= 1):
        k.fence("async")
    with pytest.raises(ExpressionError, match="expected a value for block_x"):
        _run(k.kernel())


@dataclass(frozen=True)
class _Depth:
    """A domain of its own: how deep the executor stands, two iterations for each loop, conditions that never hold."""

    depth: int = 0
    anyone: bool = True

    def entered(self, op: Role | If | Elect) -> _Depth:
        return _Depth(self.depth + 1, not isinstance(op, If))

    def iterations(self, loop: For) -> Iterator[_Depth]:
        yield from (_Depth(self.depth + 1) for _ in range(2))

    def after(self, op: Op) -> _Depth:
        return self


def test_what_here_is_is_up_to_who_asks() -> None:
    k = _built()
    with k.elect(), k.loop("i", 5) as i:
        k.fence("async")
        with k.where(i >= 1):
            k.fence("wgmma")
    found = [(type(op).__name__, here.depth) for _, op, here in unrolled(k.kernel().body, _Depth())]
    assert found == [("Elect", 0), ("For", 1), *[("Fence", 2), ("If", 2)] * 2]


def _by_sets(body: tuple[Op, ...], env: dict[str, Any], here: set[int], base: int, at: tuple[int, ...] = ()) -> Any:
    """The same as ``unrolled`` of ``Threads``, thread by thread, with nothing of it: (places, numbers, threads)."""
    for i, op in enumerate(body):
        if not here:
            return
        yield (*at, i), dict(env), sorted(here)
        if isinstance(op, For):
            for n in range(evaluate(op.extent, env)):
                yield from _by_sets(op.inside, {**env, op.index.name: n}, here, base, (*at, i))
        elif isinstance(op, Role):
            of = set(range(32 * op.first_warp, 32 * (op.first_warp + op.warps)))
            yield from _by_sets(op.inside, env, here & of, 32 * op.first_warp, (*at, i))
        elif isinstance(op, If):
            met = {t for t in here if all(f.at({**env, "thread": t - base}) for f in op.condition)}
            yield from _by_sets(op.inside, env, met, base, (*at, i))
        elif isinstance(op, Elect):
            firsts = {min(t for t in here if t // 32 == w) for w in {t // 32 for t in here}}
            yield from _by_sets(op.inside, env, firsts if op.each_warp else {min(firsts)}, base, (*at, i))


def _same(bound: Kernel) -> None:
    for block in (0, int(bound.grid[0]) - 1):
        env = dict.fromkeys(BLOCKS[: len(bound.grid)], 0) | {"block_x": block}
        env |= {s.name: 0 for s in bound.opaque}
        body = bound.plain.body
        found = unrolled(body, Threads(env, np.arange(bound.threads)))
        wanted = _by_sets(body, env, set(range(bound.threads)), 0)
        seen = ((places, dict(here.env), here.lanes.tolist()) for places, _, here in found)
        assert list(islice(seen, 4000)) == list(islice(wanted, 4000))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(2))
def test_the_executor_agrees_with_sets_of_threads(kind: str, seed: int) -> None:
    kernel, sizes = KINDS[kind](random.Random(seed))
    _same(kernel.bind(**{s.name: sizes[0][s.name] for s in kernel.dims}))


@pytest.mark.seeds(20)
def test_it_does_so_on_kernels_that_leave_to_chance_who_comes(seed: int) -> None:
    _same(random_kernel(seed).bind(N=70))

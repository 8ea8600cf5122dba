"""Steps of teams: those of the executor that goes thread by thread, loop by loop, and their bytes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from simulator import SimulationError, simulate
from simulator.points import Points
from simulator.program import HERE, Programs
from simulator.timing_classes import Unit, timing_class
from symlayout import dims
from symlayout.kernel.unrolled import Threads, unrolled
from symlayout.kernels import (
    axpby,
    bulk_copy,
    cp_async_copy,
    gemm,
    gemm_simt,
    row_sum,
    tma_copy,
    tma_reduce_add,
    tma_transpose,
    vector_copy,
)

KERNELS = {
    "vector_copy": lambda: vector_copy(2563),
    "axpby": lambda: axpby(dims("N")[0]).bind(N=1027),
    "row_sum": lambda: row_sum(*dims("M N ld")).bind(M=9, N=300, ld=304),
    "cp_async_copy": lambda: cp_async_copy(9002, stages=3, blocks=3),
    "bulk_copy": lambda: bulk_copy(9004, chunk=1024, slots=3, blocks=2),
    "tma_copy": lambda: tma_copy(100, 1004, blocks=3),
    "tma_copy, CTAs as a size": lambda: tma_copy(100, 1004, blocks=dims("blocks")[0]).bind(blocks=5),
    "tma_transpose": lambda: tma_transpose(136, 72, blocks=2),
    "tma_reduce_add": lambda: tma_reduce_add(*dims("P M N")).bind(P=3, M=17, N=68),
    "gemm": lambda: gemm(200, 264, 136, blocks=2),
    "gemm, clusters": lambda: gemm(300, 264, 136, blocks=4, cluster=2),
}


def kernel_of(name):
    kernel = KERNELS[name]()
    kernel = kernel[0] if isinstance(kernel, tuple) else kernel
    return kernel.bind() if kernel.origin is None else kernel


@pytest.mark.parametrize("name", KERNELS)
def test_all_iterations_at_once_are_those_one_by_one(name):
    kernel = kernel_of(name)
    grid = tuple(int(n) for n in kernel.grid)
    blocks = [x[::-1] for x in itertools.product(*map(range, grid[::-1]))]
    programs = Programs(kernel)
    programs.ahead = {}
    together = programs.walk(blocks).of()

    for block, teams in zip(blocks, together, strict=True):
        wanted = [[] for _ in teams]
        env = {f"block_{axis}": n for axis, n in zip("xyz", block, strict=False)}
        for _, op, here in unrolled(kernel.plain.body, Threads(env, np.arange(kernel.threads))):
            if timing_class(op).unit in (Unit.NONE, Unit.LOOP) or not here.anyone:
                continue
            for rows, (_, first, end) in zip(wanted, programs.teams, strict=True):
                mine = (here.lanes // 32 >= first) & (here.lanes // 32 < end)
                if mine.any():
                    part = here.where(mine)
                    slot = op.waits or op.arrives or op.credits
                    barrier = (slot.barrier, part.number(slot.slot)) if slot else ("", 0)
                    rows.append((str(op), int(mine.sum()), len(np.unique(part.lanes // 32)), barrier))
        steps = [[s for s in team.steps if s.unit is not Unit.LOOP] for team in teams]
        assert [[(str(s.op), s.lanes, s.warps, s.barrier) for s in team] for team in steps] == wanted


@pytest.mark.parametrize("name", ["bulk_copy", "tma_copy", "tma_transpose", "cp_async_copy", "vector_copy"])
def test_a_copy_reads_and_writes_each_sector_once(name):
    kernel = kernel_of(name)
    grid = tuple(int(n) for n in kernel.grid)
    walk = Programs(kernel).walk(x[::-1] for x in itertools.product(*map(range, grid[::-1])))

    moved = {}
    for _, part in walk.keyed():
        tensor = part.columns["tensor"]
        moved[tensor] = moved.get(tensor, 0) + int(np.sum(part.columns["bytes"]))
    for tensor in kernel.tensors:
        if tensor.name in moved:
            sectors = -(-int(tensor.bytes) // 32) * 32
            assert sectors <= moved[tensor.name] <= 1.12 * sectors  # rows of 144 bytes end in half a sector


def test_a_multicast_names_the_ctas_where_it_lands():
    loads = [s for s in Programs(kernel_of("gemm, clusters")).of((1,))[0].steps if s.unit is Unit.TMA_LOAD]
    loads = loads or [s for s in Programs(kernel_of("gemm, clusters")).of((1,))[1].steps if s.unit is Unit.TMA_LOAD]

    assert {s.ranks for s in loads} == {(HERE,), (0, 1)}
    peers = [
        s.ranks for t in Programs(kernel_of("gemm, clusters")).of((1,)) for s in t.steps if s.barrier[0] == "empty"
    ]
    assert {(0,), (1,)} <= set(peers)


def test_copies_alone_are_the_same_copies():
    programs = Programs(kernel_of("tma_transpose"))
    whole, moves = programs.walk([(0,), (1,)]), programs.walk([(0,), (1,)], moves=True)

    assert moves.steps < whole.steps
    for (key, a), (other, b) in zip(whole.keyed(), moves.keyed(), strict=True):
        assert key == other
        assert a.columns["bytes"].tolist() == b.columns["bytes"].tolist()


def test_indices_are_the_inputs_or_keep_their_contract():
    from symlayout.kernels import gather_rows

    kernel = gather_rows(50, 40, 64, tile=(8, 64), blocks=2).bind()
    idx = np.arange(40, dtype=np.int32) % 50

    def rows(inputs):
        programs = Programs(kernel, inputs)
        parts = [p for _, p in programs.walk([(0,), (1,)]).keyed() if p.columns["tensor"] == "src"]
        return sorted(int(x) // 256 for p in parts for x in p.moved.at)

    assert rows({"idx": idx}) == list(range(40))
    assert all(0 <= row < 50 for row in rows({}))
    assert rows({}) == rows({})


def test_elections_and_masks_keep_the_rows_that_are_left():
    kernel = kernel_of("gemm")
    start = Points.of_blocks(kernel, np.arange(2)[:, None])
    some = start.only(np.array([1]))
    assert (some.rows, some.env["block_x"].tolist(), some.scope.cta.tolist()) == (1, [[1]], [1])
    masked = start.meeting((kernel.block[0] * 64 + dims("thread")[0] * 0 - 1 >= 0,))
    assert masked.rows == 1


@pytest.mark.parametrize(
    "make", [lambda: gemm_simt(128, 128, 64), lambda: gemm(256, 256, 256, blocks=2), lambda: bulk_copy(8192)]
)
def test_a_cta_has_the_steps_that_are_counted_before_or_more(make):
    programs = Programs(make().bind())
    steps = sum(programs.walk([tuple(0 for _ in programs.kernel.grid)]).lengths)

    assert 0 < programs.least <= steps


def test_too_many_steps_are_refused_before_they_are_made(monkeypatch):
    monkeypatch.setattr(Programs, "walk", lambda *_: pytest.fail("steps were made"))
    with pytest.raises(SimulationError, match=r"at most 1000000 steps .*, got 18624250 or more of gemm_simt"):
        simulate(gemm_simt(8192, 8192, 8192).bind())

"""What a claim about a copy of several instructions or CTAs says of every part of it, and what a block has room for.

Tests before took the address of one instruction, and a copy was judged by its map and its first box: parts are where
``partition_D`` says. Limits of a block were rows of a profile that nobody asks by default.
"""

from __future__ import annotations

import numpy as np
import pytest

from checkers import SameBytes, TensorMapValid, TmaCopySafe, prove
from symlayout import Layout, TensorMap, ceil_div, dims, index, local_tile, make_tma_copy
from symlayout.answers.report import Outcome
from symlayout.errors import TmaFault
from symlayout.semantics import tma_load
from symlayout.tensor import Tensor
from tests.support.tma_cases import drawn

M, K = dims("M K", multiple_of=64)
ROOM = 232448


def rules(report):
    return {v.claim.rule.id for v in report.verdicts if v.outcome is Outcome.REFUTED}


def sliced(copy, tile, at, cta=0, instruction=0):
    """The start of one instruction of a CTA for a tile."""
    tiles = copy.get_slice(cta).partition_S(local_tile(copy.get_tma_tensor(), tile, at))
    return copy.coordinates(tiles((None, instruction), 0, 0))


@pytest.mark.parametrize("cta", range(4))
def test_each_cta_of_a_multicast_lands_at_a_multiple_of_128(cta):
    """32 bytes for each of four CTAs: three of them fault at every launch, and all three claims were proved."""
    smem = Layout((2, 64), (64, 1))
    copy = make_tma_copy(Layout((M, K), (K, 1)), smem, multicast=4, dtype="u8")
    start = sliced(copy, (2, 64), (index("bm", ceil_div(M, 2)), index("k", ceil_div(K, 64))), cta)
    safe = TmaCopySafe(copy, start, shared_bytes=128, barrier_bytes=128, copies=4)

    assert [p.offset_bytes for p in copy.parts] == [0, 32, 64, 96]
    assert rules(prove(safe)) == {"smem_alignment_128"}
    assert "part of CTA 1 at byte 32 of the tile" in str(prove(safe))
    assert not prove(TensorMapValid(copy), safe, SameBytes(copy, smem))


@pytest.mark.parametrize("rows, fine", [(8, True), (4, True), (2, True), (1, False)])
def test_parts_of_whole_lines_are_safe(rows, fine):
    copy = make_tma_copy(Layout((M, K), (K, 1)), Layout((4 * rows, 64), (64, 1)), multicast=4, dtype="u8")
    safe = TmaCopySafe(copy, (0, 0), 1024 * index("s", 2), shared_bytes=4096)

    assert bool(prove(safe)) is fine


def test_every_instruction_of_a_tile_lies_in_the_buffer():
    """The first of two boxes lies in a buffer of half the tile; the second ends past it."""
    copy = make_tma_copy(Layout((M, K), (K, 1)), Layout((64, (64, 2)), (64, (1, 4096))), dtype="u8")
    whole = [TmaCopySafe(copy, sliced(copy, (64, 128), (0, 0), 0, i), shared_bytes=8192) for i in range(2)]
    short = TmaCopySafe(copy, sliced(copy, (64, 128), (0, 0)), shared_bytes=4096)
    last = TmaCopySafe(copy, sliced(copy, (64, 128), (0, 0)), 4096 * index("s", 2), shared_bytes=8192)

    assert copy.instructions == 2
    assert prove(*whole)
    assert rules(prove(short)) == rules(prove(last)) == {"shared_footprint"}
    assert "instruction 1 at byte 4096 of the tile" in str(prove(short))


def test_parts_are_where_the_tile_is_partitioned_and_together_are_what_lands():
    several = 0
    for seed in range(80):
        try:
            copy = drawn(seed).copy()
        except ValueError:
            continue
        each = copy.tensor_map.transaction_bytes
        bytes_ = np.concatenate([np.arange(p.offset_bytes, p.offset_bytes + each) for p in copy.parts])
        landed = copy.landing.offsets().reshape(-1, 1) + np.arange(copy.dtype.bytes)
        shared = getattr(copy.smem_layout, "inner", copy.smem_layout)
        for cta in range(copy.multicast):
            first = next(p for p in copy.parts if (p.cta, p.instruction) == (cta, 0))
            dealt = copy.get_slice(cta).partition_D(Tensor(0, shared))
            assert first.offset_bytes == dealt(*(0,) * len(dealt.layout.shape)) * copy.dtype.bytes

        assert sorted(bytes_) == sorted(landed.reshape(-1))
        several += len(copy.parts) > 1
    assert several > 20


def test_a_proved_copy_faults_at_no_part():
    """The parts of drawn copies, as the engine takes them: those of which a claim was proved run."""
    proved = 0
    for seed in range(120):
        try:
            copy = drawn(seed).copy()
        except ValueError:
            continue
        safe = bool(prove(TmaCopySafe(copy, (0,) * copy.tensor_map.rank)))
        memory, shared = np.zeros(1 << 21, np.uint8), np.zeros(1 << 18, np.uint8)
        faults = []
        for p in copy.parts:
            try:
                tma_load(copy.tensor_map, (0,) * copy.tensor_map.rank, memory, shared, p.offset_bytes)
            except TmaFault as e:
                faults.append(e.rule)
        assert bool(faults) is not safe or "memory_bounds" in faults
        proved += safe
    assert proved > 20


# -- what a block has room for ------------------------------------------------------------------------------


def test_no_copy_lands_more_than_a_block_has():
    m = TensorMap.over(Layout((1024, 1024, 1024), (1, 1024, 1 << 20)), "u8", (16, 256, 16), swizzle=128)

    assert (m.transaction_bytes, m.landed_bytes) == (65536, 524288)
    assert rules(prove(TensorMapValid(m))) == {"landed_fits_smem"}
    assert prove(TensorMapValid(m, "driver"))  # the encode call takes it
    assert rules(prove(TmaCopySafe(m, (0, 0, 0), barrier_bytes=65536))) == {"tile_in_block"}
    assert rules(prove(TmaCopySafe(m, (0, 0, 0), shared_bytes=1 << 20))) == {"tile_in_block", "buffer_in_block"}


@pytest.mark.parametrize("size, fine", [(ROOM, True), (ROOM + 1, False)])
def test_a_buffer_is_one_that_a_block_can_have(size, fine):
    m = TensorMap.over(Layout((1024, 1024), (1, 1024)), "u8", (128, 64))

    assert bool(prove(TmaCopySafe(m, (0, 0), shared_bytes=size))) is fine


def test_stages_without_a_buffer_end_with_the_block():
    m = TensorMap.over(Layout((1024, 1024), (1, 1024)), "u8", (128, 64))

    assert prove(TmaCopySafe(m, (0, 0), 8192 * index("s", 28)))
    assert rules(prove(TmaCopySafe(m, (0, 0), 8192 * index("s", 29)))) == {"tile_in_block"}

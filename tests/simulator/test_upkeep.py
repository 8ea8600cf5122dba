"""What code does beside its operations, and the loads that it takes ahead: against counts of machine code, and in time."""

from __future__ import annotations

import math

import pytest

from simulator import H200, simulate
from simulator.ahead import ahead
from simulator.instructions import Counter, Upkeep
from simulator.program import REPEATED, SKIPPED, Programs
from simulator.timing_classes import Unit
from simulator.upkeep import ENTRY, REST, short_loops, upkeep
from symlayout import dim, dims
from symlayout.kernel import Builder
from symlayout.kernels import axpby, bulk_copy, cp_async_copy, row_sum, tma_transpose, vector_copy
from symlayout.layout import Layout
from symlayout.ops import Copy, Elect, Fence, For, If, Map


def loops(kernel):
    return [op for top in kernel.plain.body for op in top.walk() if isinstance(op, For)]


def time_of(kernel, machine=H200, **options):
    return simulate(kernel, machine, what_if=False, uncertainty=False, **options).time_ps


# Stages, threads, blocks: the instructions before the ring's loop and of one iteration, all but those for memory, barriers
# and groups: nvdisasm, NVRTC 13, sm_90a. Other threads of the same rings have the same code.
MACHINE_CODE = {
    (3, 256, 132): (80, 48),
    (4, 512, 132): (92, 44),
    (5, 128, 132): (106, 48),
    (6, 64, 132): (119, 48),
    (7, 256, 132): (132, 48),
    (8, 128, 132): (144, 44),
}
LOOPED, BRANCHED = 1.5, 2  # half of the jump of two iterations; a branch, and what joins behind it


@pytest.mark.parametrize("schedule", MACHINE_CODE)
def test_instructions_of_a_copy_are_those_of_machine_code(schedule):
    stages, threads, blocks = schedule
    kernel = cp_async_copy(dim("N"), stages=stages, threads=threads, blocks=blocks).bind(N=1 << 20)
    ring, loop = loops(kernel)[:2]
    first, later = (next(op for op in x.body if isinstance(op, If)) for x in (ring, loop))
    found = upkeep(kernel)
    before, copy, own, ahead_ = (found[k] for k in (ENTRY, id(first), id(loop), id(later)))
    entry = before.instructions - REST + BRANCHED * (before.branches - 1) + (stages - 1) * copy.instructions
    iteration = own.instructions + ahead_.instructions + BRANCHED * ahead_.branches + LOOPED

    assert (entry, iteration) == pytest.approx(MACHINE_CODE[schedule], rel=0.1)
    assert ahead_.branches == len(later.condition) + 1


# Whether the loop of a consumer has no jump, of 71 transpositions: dtype, tile, swizzle.
@pytest.mark.parametrize(
    "dtype, tile, swizzle, copies",
    [
        *(
            ("f32", (32, 128), 64, 8),
            ("f32", (64, 128), 32, 16),
            ("f32", (128, 128), 0, 32),
            ("bf16", (64, 128), 128, 8),
        ),
        *(("f32", (128, 64), 128, 2), ("f32", (128, 128), 32, 2), ("bf16", (128, 128), 64, 2)),
    ],
)
def test_loops_are_unrolled_as_in_machine_code(dtype, tile, swizzle, copies):
    kernel = tma_transpose(dim("M"), dim("N"), dtype=dtype, tile=tile, swizzle=swizzle, blocks=132).bind(M=512, N=512)
    [loop] = (x for x in loops(kernel) if x.index.name == "j")

    assert (id(loop) in short_loops(kernel)) == (copies == loop.extent)


# Cycles that the bodies of a tile's loop take beyond those of the same tile without a swizzle, by the stall counts of
# machine code (nvdisasm, NVRTC 13): where registers keep the addresses, next to none.
SWIZZLED = {
    ("bf16", (64, 64), 32): 9,
    ("bf16", (64, 64), 128): 7,
    ("f32", (32, 64), 64): 0,
    ("f32", (64, 64), 32): 30,
    ("bf16", (64, 128), 128): 78,
    ("bf16", (128, 64), 128): 120,
    ("bf16", (64, 128), 64): 196,
    ("bf16", (128, 64), 64): 264,
    ("bf16", (128, 128), 128): 232,
    ("f32", (128, 64), 128): 535,
    ("f32", (128, 128), 128): 1057,
}


@pytest.mark.parametrize("tile", SWIZZLED, ids=str)
def test_addresses_of_swizzled_tiles_take_about_as_long_as_in_machine_code(tile):
    dtype, shape, swizzle = tile
    swizzled, plain = (
        tma_transpose(*dims("M N", multiple_of=32), dtype=dtype, tile=shape, swizzle=x, blocks=132).bind(M=8704, N=8192)
        for x in (swizzle, 0)
    )

    def cycles(kernel):
        inside = next(x for x in loops(kernel) if x.index.name == "j")
        jumps = id(inside) not in short_loops(kernel)
        at = upkeep(kernel).get(id(inside if jumps else inside.body[0]), Upkeep())
        each = at.instructions * H200["index_interval"].value
        return inside.extent * (each and each + jumps * H200["loop_trip"].value / REPEATED)

    assert cycles(swizzled) - cycles(plain) == pytest.approx(SWIZZLED[tile], rel=0.5, abs=80)


def test_a_cta_without_a_chunk_jumps_over_what_copies_need():
    """Of 528 CTAs 123 have a chunk, the others none, and none has a second."""
    programs = Programs(cp_async_copy(251884, stages=3, threads=512, blocks=528).bind())
    ifs = ([s.shared_bytes for s in team.steps if isinstance(s.op, If)] for [team] in map(programs.of, [(0,), (500,)]))
    (first, *rest), idle = ifs

    assert set(rest) == set(idle) == {SKIPPED}
    assert first > 2 * SKIPPED


def test_the_conditions_of_loads_are_waited_for():
    """Of a vector, and of the loop of single elements behind the last."""
    kernel = row_sum(dim("M"), dim("N"), dim("L")).bind(M=64, N=4096, L=4096)
    [loop] = (x for x in loops(kernel) if x.index.name == "j")

    assert upkeep(kernel)[id(loop)].branches == 2


@pytest.mark.parametrize("warps, constants", [(2, 0), (4, 0), (7, 0), (8, 1), (16, 1), (32, 1)])
def test_a_loop_with_a_tail_reads_constants_as_in_machine_code(warps, constants):
    """From 256 threads on the bases of addresses are read in the loop, and for each element of the tail."""
    kernel = row_sum(dim("M"), dim("N"), dim("L"), warps=warps).bind(M=64, N=832, L=832)
    loop, tail = (x for x in loops(kernel) if x.index.name in "jq")
    [element] = (op for op in tail.body if isinstance(op, If))
    found = upkeep(kernel)

    assert (found[id(loop)].constants, found[id(element)].constants) == (constants, constants)


def test_lanes_without_elements_go_through_a_tail():
    """832 elements are six vectors of a warp and a half: half of the lanes look at four elements beyond the end."""
    kernel = row_sum(dim("M"), dim("N"), dim("L"), warps=8)
    times = [time_of(kernel.bind(M=8, N=n, L=1024), cache="warm") for n in (832, 896)]

    assert 4 * 30 * H200.cycle < times[0] - times[1] < 4 * 60 * H200.cycle


def test_warps_that_wait_for_their_own_loads_are_not_in_each_others_way():
    """A load of 16 bytes by each lane takes 328, 333, 330 and 331 cycles of 1 to 8 warps of an SM (M26)."""
    each = []
    for warps in (1, 7):
        kernel = row_sum(dim("M"), dim("N"), dim("L"), warps=warps)
        few, many = (time_of(kernel.bind(M=warps, N=n, L=n), cache="warm") for n in (4096, 8192))
        each.append((many - few) / 32)

    assert each[1] == pytest.approx(each[0], rel=0.03)


def test_what_warps_that_meet_nowhere_share_is_in_their_way_once():
    """Waves of CTAs of 1024 threads take 430 to 510 ns on both cards: what the last warp waits for is no sum."""
    kernel = vector_copy(dim("N"), vector_bytes=4, threads=1024)
    few, many = (time_of(kernel.bind(N=132 * 2048 * waves), cache="warm") for waves in (4, 8))

    assert 430_000 < (many - few) / 4 < 540_000


def test_an_iteration_of_a_consumer_takes_what_both_cards_measured():
    """By one SM, less launches: 77 to 81 ns with 512 bytes a slot, 84 with 1 KB, 143 to 147 with 4 KB."""
    for chunk, least, most in ((128, 76, 85), (256, 82, 95), (1024, 140, 152)):
        kernel = bulk_copy(dim("N"), chunk=chunk, slots=6, blocks=1)
        few, many = (time_of(kernel.bind(N=n * chunk), cache="warm") for n in (200, 400))

        assert least < (many - few) / 200 / 1000 < most


def test_boxes_of_a_ring_are_as_late_as_the_latest_under_way():
    """In DRAM, where lines differ, and so do places; a box has eight lines of one."""
    even = H200.replacing(dram_spread=0.001, dram_place_latency=0.001)
    spread, place = (H200[name].value for name in ("dram_spread", "dram_place_latency"))
    later = []
    for slots in (1, 3):
        kernel = bulk_copy(dim("N"), chunk=256, slots=slots, blocks=8)
        kernels = [kernel.bind(N=n * 256 * 8) for n in (2000, 4000)]
        each = [(time_of(kernels[1], m) - time_of(kernels[0], m)) / 2000 for m in (even, H200)]
        later.append(slots * (each[1] - each[0]) / 1000)

    assert later == pytest.approx([spread * (2 * math.log(8)) ** 0.5 + place * math.log(n) for n in (1, 3)], rel=0.2)


def test_the_order_of_terms_changes_no_count():
    N, i = dims("N i")
    rows = Upkeep(), Upkeep()
    for terms in ((N, i, 3), (i, 3, N)):
        counter = Counter(rows, {"i": 1}, frozenset(), 1)
        counter.add([counter.const(x) if isinstance(x, int) else counter.symbol(x) for x in terms])

    assert [x.instructions for x in rows] == [2, 1]


def test_what_no_loop_changes_is_made_out_once():
    """A vector copy has 23 machine instructions. Four of them are loads, stores and the exit."""
    found = upkeep(vector_copy(dim("N"), vector_bytes=4, threads=512).bind(N=4096))

    assert sum(x.instructions for x in found.values()) == pytest.approx(20, abs=3)


def test_an_iteration_takes_its_instructions_and_branches_longer():
    kernel = cp_async_copy(1 << 16, stages=8, threads=64, blocks=1).bind()
    [loop] = (x for x in loops(kernel) if x.index.name == "i")
    found, trips = upkeep(kernel), (1 << 16) // 256
    inside = [found[id(x)] for x in loop.walk() if id(x) in found]
    for number, each in (
        ("branch", sum(x.branches for x in inside)),
        ("index_interval", sum(x.instructions for x in inside)),
    ):
        more = [H200.replacing(**{number: H200[number].value + n}) for n in (0, 100)]
        times = [time_of(kernel, m, cache="warm") for m in more]

        assert times[1] - times[0] == pytest.approx(100 * H200.cycle * trips * each, rel=0.05)


def test_warps_share_the_issue_slots_of_what_comes_before_all():
    """Of a ring of four, 100 instructions before the loop: 64 warps of an SM take four times as long as 16."""
    times = [time_of(cp_async_copy(4, stages=4, threads=512, blocks=n).bind(), cache="warm") for n in (132, 528)]

    assert times[1] - times[0] > 3 * 4 * 70 * H200.cycle


def test_a_fold_over_lanes_waits_for_each_exchange():
    kernel = row_sum(8, 4, 4).bind()
    times = [time_of(kernel, H200.replacing(shuffle_latency=n)) for n in (1000, 1100)]

    assert times[1] - times[0] == pytest.approx(500 * H200.cycle, abs=2)


def test_loads_go_ahead_of_conditions_that_are_made_out_before():
    [team] = Programs(row_sum(8, 4, 4).bind()).of((0,))
    units = [s.unit for s in team.steps if isinstance(s.op, Copy | Map)]

    assert units.index(Unit.LOAD) < units.index(Unit.REGISTERS)


@pytest.mark.parametrize("family, loads", [(vector_copy, 1), (axpby, 2), (cp_async_copy, 1)])
def test_loads_of_an_unrolled_loop_come_before_its_stores(family, loads):
    kernel = family(4096 + 3 if family is not cp_async_copy else 4096).bind()
    found = ahead(kernel, short_loops(kernel))
    ops = {id(op): op for top in kernel.plain.body for op in top.walk()}

    assert len(found) == loads
    assert all(ops[loop].index.name == "j" for loop in found.values())


@pytest.mark.parametrize(
    "stages, threads, blocks, loads", [(7, 128, 1, 0), (7, 512, 1, 1), (4, 128, 1, 1), (7, 128, 8, 1)]
)
def test_rings_of_one_cta_that_count_slots_load_and_store_by_turns(stages, threads, blocks, loads):
    kernel = cp_async_copy(dim("N"), stages=stages, threads=threads, blocks=blocks).bind(N=8192)

    assert len(ahead(kernel, short_loops(kernel))) == loads


def test_loads_do_not_pass_stores_that_may_be_to_the_same_bytes():
    """Through shared memory, and of a global tensor that the kernel writes."""
    turned = tma_transpose(512, 512, tile=(64, 64), blocks=4).bind()
    k = Builder("move", grid=(1,), threads=32)
    a, x = k.global_tensor("a", "f32", Layout(256)), k.registers("x", "f32", 1)
    with k.loop("j", 4) as j:
        k.copy("ld.global.4", a(32 * j + k.thread), x())
        k.copy("st.global.4", x(), a(32 * j + k.thread + 32))
    moved = k.kernel().bind()

    assert not ahead(turned, short_loops(turned))
    assert not ahead(moved, short_loops(moved))


def test_a_tail_waits_once_for_all_of_its_loads():
    whole, tail = (time_of(vector_copy(4 * 4096 + n).bind(), cache="warm") for n in (0, 3))

    assert tail - whole < 2 * H200.ps("l2_latency")


def test_steps_ahead_are_as_many_as_without():
    kernel = cp_async_copy(8192, stages=3, threads=64, blocks=2).bind()
    teams = Programs(kernel).of((0,))
    copies = [s.unit for team in teams for s in team.steps if isinstance(s.op, Copy)]

    assert copies.count(Unit.SHARED) == copies.count(Unit.STORE) == 4 * 8192 // 512
    assert copies[-8:] == [Unit.SHARED] * 4 + [Unit.STORE] * 4


def test_fewer_groups_than_may_be_under_way_are_not_waited_for():
    """Of a ring of eight with room for six groups, time is that of its iterations, not of the latency of memory.

    One of a CTA alone takes 99 ns on an H200 and an H100.
    """
    times = [
        time_of(cp_async_copy(n, stages=8, threads=128, blocks=1).bind(), cache="warm") for n in (1 << 16, 1 << 17)
    ]

    assert (times[1] - times[0]) / ((1 << 16) // 512) == pytest.approx(99_000, rel=0.05)


def test_each_warp_waits_for_its_own_loads():
    """A warp of sixteen goes on when its bytes are there; the CTA ends when those of the last are."""
    few, many = (time_of(row_sum(n, 1 << 14, 1 << 14, warps=n).bind(), cache="warm") for n in (2, 16))

    assert many / few < 1.25


def test_elections_in_loops_are_branches_but_arrivals_are_not():
    """Consumers of a transposition: four warps elect one for a group and one for a store, and each warp arrives."""
    kernel = tma_transpose(dim("M"), dim("N"), blocks=132).bind(M=512, N=512)
    [loop] = (x for x in loops(kernel) if {type(y) for y in x.walk()} >= {Elect, Fence})
    found = upkeep(kernel)
    first, arrives, last = (x for x in loop.walk() if isinstance(x, Elect))
    branches = {place: n for place, row in found.items() if (n := row.branches) and place != ENTRY}
    behind = loop.body[[x is first for x in loop.body].index(True) + 1]

    # an election: who is in the warp, and who is elected
    assert [branches.get(id(x), 0) for x in (first, arrives, last)] == [2, 0, 2]
    assert branches[id(behind)] == 2 <= branches[id(loop)]  # where all come together again


def test_a_fence_waits_for_the_stores_before_it():
    """What one store leaves is part of the fence; of more, and of conflicts, each wavefront is waited for."""
    kernel = tma_transpose(64, 64, dtype="f32", tile=(64, 64), swizzle=0, blocks=1).bind()
    waits = []
    for cycles in (1, 2):
        trace = simulate(kernel, H200.replacing(wavefront_interval=cycles), what_if=False, uncertainty=False)
        waits.append(sum(s.share * trace.time_ps for s in trace.stalls if s.cause == "fences"))

    assert waits[1] > 1.5 * waits[0] > 0

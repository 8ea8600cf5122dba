"""Several SMs: clusters, SMs that differ, reuse between CTAs, and what all of them move."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulator import H200, machine, simulate
from simulator.cache import Cache
from simulator.engine import Engine
from simulator.gpcs import answered
from simulator.plan import plan_of
from simulator.program import Programs
from simulator.resource import Window
from simulator.reuse import windows
from simulator.runs import run_lengths
from simulator.timing_classes import Unit
from symlayout.kernels import bulk_copy, gather_rows, gemm, tma_copy, tma_reduce_add, tma_transpose, vector_copy
from symlayout.ops import Arrive, ClusterBarrier
from symlayout.tma import TmaL2FetchSize

# L2 answers each request by itself, and in no time what lies outside of a tensor
APART = {"merged": 0.0, "of_clusters": 0.0, "each_outside": 0.0}


def plan(kernel, detail="auto", machine=H200, **cache):
    return plan_of(Programs(kernel), machine, replace(Cache.of(kernel, machine, False), **cache), detail)


def asked(made):
    """The bytes that the simulated steps ask L2 for."""
    teams = (team for kind in made.courses(H200) for cluster in kind for course in cluster for team in course.teams)
    return sum(step.l2_bytes for team in teams for step in team.steps)


@pytest.mark.parametrize(
    "kernel",
    [
        lambda: tma_copy(8192, 8192, slots=4, blocks=132),  # 62 or 63 tiles an SM
        lambda: tma_copy(1000, 1004, blocks=7),
        lambda: gemm(1000, 1032, 520, blocks=6, cluster=2),
        lambda: vector_copy(100_003),
        lambda: bulk_copy(100_004, chunk=4096, slots=4, blocks=300),
    ],
)
@pytest.mark.parametrize("detail", ["kinds", "all"])
def test_the_bytes_of_all_ctas_are_asked_for(kernel, detail):
    bound = kernel().bind()
    if detail == "all" and bound.name == "tma_copy" and bound.tensors[0].bytes > 1e8:
        return
    made = plan(bound, detail, **APART)
    walk = Programs(bound).walk([(n,) for n in range(int(bound.grid[0]))])
    every = sum(int(np.sum(part.columns["bytes"])) for _, part in walk.keyed())

    assert made.bytes == every
    assert asked(made) == pytest.approx(every, rel=1e-9)


def test_sms_of_a_gpc_that_load_the_same_are_answered_together():
    """Nine of sixteen CTAs are in one GPC: the eight that share the first tile of B, and one whose A one of them has."""
    bound = gemm(8 * 128, 2 * 128, 512, tile=(128, 128), cluster=1, blocks=16).bind()
    merged, alone = (asked(plan(bound, **cache)) for cache in ({}, APART))
    part, loads, stores = H200["l2_merged"].value, 8 * 16 * 16384, 16 * 32768

    assert alone == pytest.approx(2 * loads + stores)
    eight, two = answered(np.array([8, 2]), part)
    assert merged == pytest.approx(loads * (2 - 8 / 16 * (1 - eight) - 2 / 16 * (1 - two)) + stores)


def test_loads_for_several_ctas_are_answered_by_themselves():
    """Of clusters of a GPC those for one CTA are answered together, not those by multicast (M42)."""
    bound = gemm(8 * 128, 128, 512, tile=(128, 128), cluster=2, blocks=8).bind()  # four clusters, whose B is the same
    made, alone = (asked(plan(bound, **cache)) for cache in ({}, APART))

    assert made == pytest.approx(alone)


def test_a_gpc_that_has_more_ctas_than_others_takes_longer():
    """Of 33 CTAs twelve are in one GPC (M44); of more than there are SMs, each waits for a place that becomes free."""
    few, one, many = (plan(bulk_copy(1 << 22, chunk=4096, blocks=n).bind()) for n in (33, 1, 132 * 8))
    each, of_gpc = H200.exact("l2_rate"), H200.exact("gpc_rate")

    assert few.slower == pytest.approx(12 / 33 * of_gpc / each, rel=0.02)
    assert one.slower == pytest.approx(of_gpc / each)
    assert many.slower == 1


def test_ctas_that_move_nothing_change_nothing_in_who_crowds_a_gpc():
    """Of 264 CTAs, one on each SM, 42 have a chunk; those that wait for a place find none left."""
    busy, idle = (plan(bulk_copy(338272, chunk=8192, slots=6, blocks=n).bind()) for n in (42, 264))

    assert busy.slower > 1.1
    assert idle.slower > 1.1


def test_what_lies_outside_of_a_tensor_costs_copies_as_much_as_what_is_inside():
    """Of each box of 128 rows 32 are inside (M54)."""
    bound = tma_copy(32, 132 * 64, dtype="f32", tile=(128, 64), slots=1, blocks=132).bind()
    inside = 32 * 132 * 64 * 4

    assert asked(plan(bound)) == pytest.approx(2 * inside + 3 * inside, rel=1e-3)
    [load] = [s for s in plan(bound).courses(H200)[0][0][0].teams[0].steps if s.bytes]
    assert load.l2_requests == pytest.approx(132 * 128)


def test_boxes_outside_of_a_tensor_are_rows_like_others():
    """Of ten columns of boxes of 32 words the last two of twelve are outside."""
    bound = tma_transpose(132 * 32, 320, dtype="f32", tile=(32, 128), swizzle=128, blocks=132).bind()
    loads = [s for s in plan(bound).courses(H200)[0][0][0].teams[-1].steps if s.bytes]

    assert {s.l2_requests / 132 for s in loads} == {32}
    assert {s.l2_bytes / 132 for s in loads} == {32 * 128}


def test_what_several_sms_load_outside_of_a_tensor_costs_l2_more():
    """Of the 128 rows of A 32 are inside, and eight CTAs load them (M45)."""
    bound = gemm(32, 8 * 128, 512, tile=(128, 128), cluster=1, blocks=8).bind()
    more = asked(plan(bound)) - asked(plan(bound, each_outside=0.0))

    outside = 8 * 96 * 512 * 2
    assert more == pytest.approx(outside * H200.exact("l2_outside_rate") / H200.exact("l2_rate") / plan(bound).slower)


def test_sms_with_fewer_tiles_end_before():
    made = plan(tma_copy(8192, 8192, slots=4, blocks=132).bind())

    assert [kind.weight for kind in made.kinds] == [132]
    assert "though 116 have less to do" in made.notes[0]
    loads = [s.l2_bytes for s in made.courses(H200)[0][0][0].teams[0].steps if s.bytes]
    assert loads == [132 * 16384] * 124 + [16 * 16384]  # 16384 tiles of 132 CTAs


def test_sms_whose_requests_have_other_bytes_are_another_kind():
    """SMs of even numbers have the whole boxes, the others those of which 64 of 256 columns are inside."""
    bound = tma_copy(40_000, 320, dtype="f32", tile=(16, 256), slots=1, blocks=132).bind()
    made = plan(bound, **APART)

    assert [kind.weight for kind in made.kinds] == [66, 66]
    loads = [[s.l2_bytes for s in kind[0][0].teams[0].steps if s.bytes] for kind in made.courses(H200)]
    whole = [58 * 16384, 66 * 16384]  # 2500 tiles of each, and what lies outside costs as much
    assert [sorted({*x}) for x in loads] == [pytest.approx(whole, rel=1e-9)] * 2
    assert asked(made) == pytest.approx(40_000 * (320 + 512) * 4, rel=1e-9)


def test_all_sms_in_detail_are_as_one_where_they_do_alike():
    bound = tma_copy(132 * 16 * 16, 256, slots=2, blocks=132).bind()
    one, all_of_them = (
        simulate(bound, detail="kinds", what_if=False, uncertainty=False),
        simulate(bound, detail="all", what_if=False, uncertainty=False),
    )

    assert (one.bytes, one.dram_bytes) == (all_of_them.bytes, all_of_them.dram_bytes)
    assert one.seconds == pytest.approx(all_of_them.seconds, rel=0.1)


def test_ctas_take_places_as_these_become_free():
    """Beside one long CTA the others go on: a fixed assignment would let those behind it wait."""
    bound = bulk_copy(300 * 8192, chunk=8192, slots=1, blocks=300).bind()

    assert "each of 132 SMs is simulated" in simulate(bound, detail="all", what_if=False, uncertainty=False).notes[0]


@pytest.mark.parametrize("cluster", [2, 4])
def test_a_cluster_loads_b_once(cluster):
    alone = simulate(gemm(1024, 512, 1024, cluster=1, blocks=8).bind(), what_if=False, uncertainty=False)
    together = simulate(gemm(1024, 512, 1024, blocks=8, cluster=cluster).bind(), what_if=False, uncertainty=False)
    a, b, c = 2 * 1024 * 1024 * 2, 8 * 512 * 1024 * 2, 1024 * 512 * 2  # A for 2 columns of tiles, B for 8 rows

    assert alone.bytes == a + b + c
    assert together.bytes == a + b // cluster + c
    assert alone.dram_bytes == together.dram_bytes


def test_clusters_fit_gpcs():
    made = plan(gemm(8192, 2048, 64, blocks=132, cluster=4).bind())

    assert sum(kind.weight for kind in made.kinds) == 32  # 66 pairs of SMs in 8 GPCs: 8 or 9 pairs each
    assert [len(kind.blocks) for kind in made.kinds] == [8]  # the 33rd cluster comes second


def test_a_cluster_whose_peers_are_not_told_deadlocks():
    kernel = gemm(512, 512, 1024, blocks=2, cluster=2, stages=2)
    mute = kernel.edited(lambda op: () if isinstance(op, Arrive) and op.peer == 0 else (op,))

    with pytest.raises(Exception, match=r"CTA 0, role producer waits for empty\[0\], in phase"):
        simulate(mute.bind(), uncertainty=False)


def test_a_cluster_barrier_is_waited_for_by_all():
    kernel = gemm(512, 512, 128, blocks=2, cluster=2)
    loose = kernel.edited(lambda op: () if isinstance(op, ClusterBarrier) else (op,))

    slow = H200.replacing(cluster_barrier=10_000)
    assert simulate(kernel.bind(), slow, what_if=False, uncertainty=False).cycles > 20_000  # two of them
    assert simulate(loose.bind(), slow, what_if=False, uncertainty=False).cycles < 20_000


def test_rows_that_are_gathered_twice_come_from_l2():
    bound = gather_rows(4096, 4096, 1024, tile=(16, 256)).bind()
    same = simulate(bound, inputs={"idx": np.zeros(4096, np.int32)}, what_if=False, uncertainty=False)
    apart = simulate(bound, inputs={"idx": np.arange(4096, dtype=np.int32)}, what_if=False, uncertainty=False)
    drawn = simulate(bound, what_if=False, uncertainty=False)

    assert same.bytes == apart.bytes == drawn.bytes
    assert apart.dram_bytes - same.dram_bytes == 4095 * 4096  # all rows but one
    assert same.dram_bytes < drawn.dram_bytes < apart.dram_bytes
    assert any("idx are drawn" in note for note in drawn.notes)


def test_the_order_of_tiles_decides_what_l2_has():
    """Tiles taken eight of M at a time share rows of A and B; taken along N they read all of B again and again."""
    near = simulate(gemm(8192, 16384, 4096, cluster=1, blocks=132, group=8).bind(), what_if=False, uncertainty=False)
    far = simulate(gemm(8192, 16384, 4096, cluster=1, blocks=132, group=1).bind(), what_if=False, uncertainty=False)

    assert near.bytes == far.bytes
    assert near.dram_bytes < 0.8 * far.dram_bytes


def test_windows_hold_no_more_than_there_is():
    rng = np.random.default_rng(1)
    for _ in range(20):
        n = int(rng.integers(2, 300))
        key, size = rng.integers(0, 40, n), rng.integers(1, 5, 40) * 128
        found, _ = windows(np.arange(n), key, size[key])

        assert np.isinf(found).sum() == len(np.unique(key))
        held = found[np.isfinite(found)]
        assert ((held >= size.min()) & (held <= size[np.unique(key)].sum() * (1 + 1e-9))).all()


def test_a_cyclic_walk_has_all_of_it_in_each_window():
    """The walk that a cache of what was used last cannot keep (and one exact case of the average)."""
    key = np.tile(np.arange(10), 20)
    sizes = np.full(200, 100)

    assert windows(np.arange(200), key, sizes)[0].tolist() == [np.inf] * 10 + [1000.0] * 190


@pytest.mark.parametrize("nbytes, latency, rate", [(100, 1000, 1), (100, 1000, 5), (300, 500, 2), (64, 10_000, 1)])
def test_a_window_holds_its_bytes_and_no_more(nbytes, latency, rate):
    """n requests through a server that takes *rate* ps a byte, and come *latency* later, at most 400 bytes at once."""
    engine, window_bytes, n = Engine(), 400, 200
    window = Window("bytes in flight", engine, window_bytes)
    free, ends = 0, []

    def begin():
        nonlocal free
        start = max(engine.now, free)
        free = start + rate * nbytes
        end = max(free, window.last(nbytes)) + latency
        ends.append(end)
        window.begun(nbytes, start + latency, end)

    for _ in range(n):
        window.ask(nbytes, begin)
    engine.run()

    assert ends == sorted(ends)
    time = ends[-1]
    fastest = max(rate, latency / window_bytes)  # Little's law: no more than the window in each latency
    assert fastest * (n * nbytes - window_bytes) <= time <= fastest * n * nbytes * 1.3 + latency + nbytes * rate
    assert window.mean(time) <= window_bytes + nbytes


def test_what_a_kernel_uses_beyond_the_model_is_said():
    told = {
        name: [n for n in plan(k.bind()).notes if "not modelled in this kernel" in n]
        for name, k in (
            ("plain", bulk_copy(4096)),
            ("reduction", tma_reduce_add(2, 16, 64)),
            ("promotion", gemm(512, 512, 512, cluster=1, blocks=2)),
            ("rows between", gemm(512, 512, 520, cluster=1, blocks=2)),
        )
    }

    assert told["plain"] == []
    assert "contention of reductions" in told["reduction"][0]
    assert told["promotion"] == []
    assert "L2 promotion" in told["rows between"][0]


def test_l2_takes_a_row_of_a_box_from_dram_as_its_tensor_map_says():
    """Boxes of products have rows of 128 bytes, and L2 takes 256: every other step finds its bytes there."""

    def late(promotion):
        bound = gemm(128, 128, 64 * 16, tile=(128, 128), stages=4, cluster=1, blocks=1).bind()
        maps = tuple(replace(m, tensor_map=replace(m.tensor_map, l2_promotion=promotion)) for m in bound.maps)
        made = plan(replace(bound, maps=maps))
        [[course]] = [cluster for kind in made.courses(H200) for cluster in kind]
        return made.dram_bytes, [s.late for team in course.teams for s in team.steps if s.unit is Unit.TMA_LOAD]

    for promotion, steps in (("none", [True, True]), ("bytes128", [True, True]), ("bytes256", [True, False])):
        read, loads = late(TmaL2FetchSize[promotion])

        assert loads == [step for step in steps for _ in "ab"] * 8, promotion
        assert read == 2 * 128 * 64 * 16 * 2


def test_registers_of_roles_bound_the_ctas_at_once():
    small = gemm(512, 512, 512, cluster=1, blocks=4, tile=(64, 64), stages=2).bind()  # 33 792 registers
    assert plan(small).at_once == 1
    assert plan(bulk_copy(4096).bind()).at_once > 1


def test_boxes_side_by_side_are_one_row_of_dram():
    """Sixteen boxes of 32 bytes that a CTA loads one after another, of rows of 128 words; two of 128 bytes that it stores."""
    programs = Programs(tma_transpose(1024, 1024, dtype="f32", tile=(64, 128), swizzle=32, blocks=4).bind())
    walk = programs.requests([(n,) for n in range(4)])
    parts = [part for _, part in walk.keyed()]
    lengths = dict(zip([(p.columns["tensor"], p.places) for p in parts], run_lengths(parts), strict=True))

    assert {int(n) for (tensor, _), x in lengths.items() for n in x if tensor == "src"} == {512}
    assert {int(n) for (tensor, _), x in lengths.items() for n in x if tensor == "dst"} == {256}


@pytest.mark.parametrize(
    "kernel, matters",
    [
        (lambda: tma_transpose(1 << 15, 2048, dtype="bf16", tile=(64, 32), swizzle=64, blocks=264), True),
        (lambda: tma_copy(1 << 14, 4096, tile=(64, 16), slots=4, blocks=264), False),
        (lambda: tma_copy(1 << 20, 16, tile=(128, 16), slots=4, blocks=264), False),
    ],
)
def test_short_rows_cost_more_where_nobody_moves_what_lies_behind(kernel, matters):
    """Rows of 64 bytes: of tiles below each other; of tiles beside each other; of a tensor that they fill."""
    bound = kernel().bind()
    plain = H200.replacing(dram_run_bytes=1, dram_read_run_bytes=1, dram_lone_run_bytes=1, dram_lone_read_bytes=1)
    machines = plain, plain.replacing(dram_lone_read_bytes=100), plain.replacing(dram_lone_run_bytes=100)
    least, read, written = (simulate(bound, m, what_if=False, uncertainty=False).time_ps for m in machines)

    assert (read > 1.05 * least) == matters
    assert written < 1.05 * least  # whose neighbours others write at the time


@pytest.mark.parametrize("name", ["h200", "h100_sxm"])
def test_copies_by_ctas_that_start_as_others_end_are_faster_than_those_that_keep_their_part(name):
    """M40, M19: rings that have their part from the start leave what is under way apart in DRAM, served alike or not."""
    kept, handed = (
        simulate(
            bulk_copy(1 << 26, chunk=2048, slots=slots, blocks=blocks).bind(),
            machine(name),
            cache="warm",
            what_if=False,
            uncertainty=False,
        )
        for slots, blocks in ((8, 264), (2, 8192))
    )

    assert kept.dram_bytes == handed.dram_bytes
    assert 1.03 < kept.time_ps / handed.time_ps < 1.08


@pytest.mark.parametrize("waves, apart", [(1, True), (3, True), (4, False), (62, False)])
def test_few_ctas_for_each_place_do_not_even_out_what_dram_serves_unevenly(waves, apart):
    kernel = bulk_copy(1 << 24, chunk=2048, slots=2, blocks=132 * 13 * waves).bind()
    made = plan(kernel)

    assert (made.at_once, made.apart) == (13, apart)


@pytest.mark.parametrize("chunks", [1, 131, 132, 133])
def test_ctas_that_find_nothing_to_do_are_counted_once(chunks):
    """One SM of each kind says as much as all of them in detail, whether all SMs have a chunk or one has none."""
    bound = bulk_copy(8192 * chunks, chunk=8192, slots=6, blocks=1056).bind()
    some, every = (simulate(bound, cache="warm", what_if=False, uncertainty=False, detail=x) for x in ("auto", "all"))

    assert some.seconds == pytest.approx(every.seconds, rel=0.12)
    assert any("find nothing to do" in note for note in some.notes) == (chunks != 132)


def test_many_ctas_that_find_nothing_to_do_are_retired_one_by_one():
    bound = tma_copy(64, 512, tile=(16, 256), slots=1, blocks=8192).bind()
    some, every = (simulate(bound, cache="warm", what_if=False, uncertainty=False, detail=x) for x in ("auto", "all"))

    assert some.seconds == pytest.approx(every.seconds, rel=0.05)


@pytest.mark.parametrize(
    "card, chunk, slots, size, us", [("h200", 8192, 6, 92348, 3.42), ("h100_sxm", 4096, 8, 365840, 3.97)]
)
def test_ctas_that_find_nothing_to_do_take_their_time(card, chunk, slots, size, us):
    """Rounds 11 and 9: of 528 CTAs, one on an SM, 12 and 90 have a chunk; the others pass through what places there are."""
    bound = bulk_copy(size, chunk=chunk, slots=slots, blocks=528).bind()
    few = bulk_copy(size, chunk=chunk, slots=slots, blocks=132).bind()
    times = [simulate(x, machine(card), cache="warm", what_if=False).seconds for x in (bound, few)]

    assert times[0] == pytest.approx(1e-6 * us, rel=0.1)
    assert times[0] > 1.1 * times[1]

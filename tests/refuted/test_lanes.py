"""A lane that gives a slot back for others of its warp: nothing but a barrier of the warp tells it what they have read.

The tests before could not see it. ``HappensBefore`` asked of a slot that is given back only whether *asynchronous*
reads of it were over, and the untimed run counted a warp as one: what a lane had read was known to all lanes. All
kernels of the tests had 32 lanes read and one arrive, so each agreed with a model that lacks the order between the two.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from checkers import HappensBefore, RingProtocol, WellFormed, prove
from symlayout import Layout, dim
from symlayout.answers.report import Outcome
from symlayout.errors import ExecutionError
from symlayout.expr import eq
from symlayout.kernel import CONVERGED, Builder, Kernel
from symlayout.kernel.ring import make_ring
from symlayout.kernels import gemm, tma_transpose
from symlayout.ops import For, Mma, Op, Slot, WarpBarrier
from symlayout.semantics import execute
from symlayout.tma import TensorMap
from tests.support.kernel_families import FAMILIES as EVERY
from tests.support.kernel_families import Family

L = dim("L", at_least=2)


def rows(sync: str = "", release: str = "elect", read: str = "all", lag: int = 0, slots: int = 2) -> Kernel:
    """Rows of 32 go through a ring; each lane reads a word of a slot, and by *release* some lane gives it back.

    *sync* stands before that, *lag* is by how many uses it is late, *read* says which lanes read.
    """
    k = Builder("rows", L, grid=(1,), threads=64)
    src, dst = (k.global_tensor(name, "f32", Layout((L, 32), (32, 1))) for name in ("src", "dst"))
    box = k.tensor_map("src_map", src(), TensorMap.over(Layout((32, L), (1, 32)), "f32", (32, 1)))
    ring = make_ring(k, "ring", "f32", Layout(32), slots=slots, consumers=32 if release == "all" else 1)
    with k.role("producer", 1), k.elect(), k.loop("i", L) as i, ring.produce(i) as slot:
        k.copy("tma.load", box(0, i), slot.at(), slot.full)
    with k.role("consumer", 1):
        x, y = k.registers("x", "f32", 1), k.registers("y", "f32", 1)
        k.fill(x(), 0)
        with k.loop("i", L) as i:
            slot = ring.acquire(i)
            if sync == "warp before":
                k.warp_sync()
            with k.where(*{"all": (), "half": (k.thread < 16,), "one": (eq(k.thread, 7),)}[read]):
                k.copy("ld.shared.4", slot.at(k.thread), x())
            _sync(k, sync, x, y)
            with k.where(i >= lag) if lag else nullcontext():
                _give(k, release, Slot(ring.empty, (i - lag) % slots))
            k.copy("st.global.4", x(), dst(32 * i + k.thread))
        for n in range(lag):
            if sync == "warp before":
                k.warp_sync()
            _give(k, release, Slot(ring.empty, (L - lag + n) % slots))
    return k.kernel()


def _sync(k: Builder, sync: str, x: Any, y: Any) -> None:
    if sync == "warp":
        k.warp_sync()
    elif sync == "bar":
        k.sync(1, 32)
    elif sync == "shfl":
        k.shuffle("bfly", x(), y(), 16)
    elif sync == "reduce":
        k.reduce("add", x(), y(), lanes=32)
    elif sync == "half":
        with k.where(k.thread < 16):
            k.warp_sync()
    elif sync == "fence":
        k.fence("async")


def _give(k: Builder, release: str, slot: Slot) -> None:
    by = {"all": nullcontext(), "elect": k.elect(True), "lane 0": k.elect(True, "lane 0")}
    with by[release] if release in by else k.where(eq(k.thread, int(release))):
        k.arrive(slot)


def without(kernel: Kernel, kind: type[Op]) -> Kernel:
    return kernel.edited(lambda op: [] if isinstance(op, kind) else [op])


def caught(kernel: Kernel) -> str:
    """What the first run that races says."""
    bound = kernel.bind(L=7)
    src = np.arange(7 * 32, dtype=np.float32).reshape(7, 32)
    for order in ("lazy", 1, 2, 3):
        try:
            execute(bound, {"src": src}, order)
        except ExecutionError as e:
            return str(e)
    return ""


RACES = {
    "no barrier": {},
    "a shuffle": {"sync": "shfl"},
    "a reduction over lanes": {"sync": "reduce"},
    "a fence of the proxy": {"sync": "fence"},
    "the barrier before the reads": {"sync": "warp before"},
    "half of the lanes read": {"read": "half"},
    "lane 0 arrives": {"release": "0"},
    "one lane reads and another arrives": {"read": "one", "release": "0"},
    "three slots": {"slots": 3},
    "lane 0 is taken by a comparison": {"release": "lane 0"},
}
ORDERED = {
    "a barrier of the warp": {"sync": "warp"},
    "a barrier of the role": {"sync": "bar"},
    "each lane arrives": {"release": "all"},
    "lane 0, by a comparison, behind a barrier": {"sync": "warp", "release": "lane 0"},
    "lane 0 arrives after a barrier": {"sync": "warp", "release": "0"},
    "half of the lanes read, then a barrier": {"sync": "warp", "read": "half"},
    "one lane reads and arrives": {"read": "one", "release": "7"},
    "a use late, behind a barrier": {"sync": "warp", "lag": 1},
    "a use late, the barrier before the reads": {"sync": "warp before", "lag": 1},
}


@pytest.mark.parametrize("case", RACES)
def test_lanes_that_nothing_orders(case: str) -> None:
    """The script s4: 31 lanes read by ld.shared, one arrives, and nothing orders their reads before that."""
    kernel = rows(**RACES[case])
    found = prove(HappensBefore(kernel)).verdicts[0]

    assert found.outcome is Outcome.REFUTED
    assert "add a warp barrier (warp_sync) before arrive empty" in str(found)
    assert str(found).endswith("(lanes_met)")
    assert "may still be reading" in caught(kernel)
    assert prove(HappensBefore(kernel.assuming(converged_warps=True)))
    assert not caught(kernel.assuming(converged_warps=True))


@pytest.mark.parametrize("case", ORDERED)
def test_lanes_that_are_ordered(case: str) -> None:
    kernel = rows(**ORDERED[case])
    report = prove([HappensBefore(kernel), RingProtocol(kernel, "full")])

    assert report, report
    assert not caught(kernel)


@pytest.mark.parametrize("family", EVERY, ids=lambda f: f.word)
def test_no_family_assumes_that_warps_stay_converged(family: Family) -> None:
    kernel = family.build()

    assert CONVERGED not in kernel.assumed
    assert prove([HappensBefore(kernel), WellFormed(kernel)])


FAMILIES = {
    "tma_transpose": tma_transpose(
        dim("M", multiple_of=8), dim("N", multiple_of=8), dtype="bf16", tile=(64, 64), blocks=3
    ),
    "gemm": gemm(dim("M"), dim("N", multiple_of=8), dim("K", multiple_of=8), tile=(64, 128), cluster=1, blocks=4),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_each_barrier_of_a_warp_is_needed(family: str) -> None:
    """tma_transpose had none, and was proved."""
    kernel = FAMILIES[family]
    barriers = [op for op in kernel.walk() if isinstance(op, WarpBarrier)]
    assert barriers
    assert prove(HappensBefore(kernel))

    for mine in barriers:
        less = kernel.edited(lambda op, mine=mine: [] if op is mine else [op])
        assert prove(HappensBefore(less)).verdicts[0].outcome is Outcome.REFUTED
    assert prove(HappensBefore(without(kernel, WarpBarrier).assuming(converged_warps=True)))


def test_what_wgmma_reads_needs_no_barrier_of_the_warp() -> None:
    """All threads wait for it, and it is one operation of them all: the one that arrives knows that it is over."""
    kernel = FAMILIES["gemm"]
    [found] = prove(HappensBefore(kernel)).verdicts

    assert not any(isinstance(op, WarpBarrier) for op in _around_release(kernel))
    assert any("lanes_met" in x and "by the thread that arrives" in x for x in found.lemmas), found.lemmas


def _around_release(kernel: Kernel) -> list[Op]:
    """The operations of the loop in which gemm gives its stages back."""
    [loop] = [op for op in kernel.walk() if isinstance(op, For) and any(isinstance(x, Mma) for x in op.inside)]
    return list(loop.walk())


def test_the_assumption_is_part_of_the_kernel() -> None:
    kernel = rows()
    stated = kernel.assuming(converged_warps=True)

    assert set(stated.assumed) - set(kernel.assumed) == {CONVERGED}
    assert stated.digest != kernel.digest
    assert "given converged_warps" in stated.text()
    assert CONVERGED in stated.bind(L=3).assumed
    assert CONVERGED in stated.assuming(L >= 3).assumed


def one_waits(by: str, reads: str, sync: str = "") -> Kernel:
    """A slot is filled once; the lane of an election, or a given one, waits for it, and other lanes read it."""
    k = Builder("one_waits", grid=(1,), threads=64)
    src, dst = (k.global_tensor(name, "f32", Layout(32)) for name in ("src", "dst"))
    tile, full = k.shared_tensor("tile", "f32", Layout(32)), k.mbarriers("full", 1, 1)
    who = {"all": (), "seven": (eq(k.thread, 7),), "half": (k.thread < 16,)}
    with k.role("producer", 1), k.elect():
        k.expect_tx(full(), 128)
        k.copy("bulk.load", src(), tile(), full(), nbytes=128)
    with k.role("consumer", 1):
        x, y = k.registers("x", "f32", 1), k.registers("y", "f32", 1)
        k.fill(x(), 0)
        with k.elect() if by == "elect" else k.where(*who[by]) if who[by] else nullcontext():
            k.wait(full(), 0)
        _sync(k, sync, x, y)
        with k.elect() if reads == "elect" else k.where(*who[reads]):
            k.copy("ld.shared.4", tile(k.thread), x())
        k.copy("st.global.4", x(), dst(k.thread))
    return k.kernel()


@pytest.mark.parametrize(
    "by, reads, sync, outcome",
    [
        *(("elect", "all", sync, Outcome.REFUTED) for sync in ("", "shfl", "fence")),
        ("half", "all", "", Outcome.REFUTED),
        ("seven", "half", "", Outcome.REFUTED),
        ("elect", "all", "warp", Outcome.PROVED),
        ("elect", "elect", "", Outcome.PROVED),
        ("all", "half", "", Outcome.PROVED),
        ("seven", "seven", "", Outcome.PROVED),
    ],
)
def test_those_that_read_wait(by: str, reads: str, sync: str, outcome: Outcome) -> None:
    kernel, src = one_waits(by, reads, sync), {"src": np.arange(32, dtype=np.float32)}
    [found] = prove(HappensBefore(kernel)).verdicts

    assert found.outcome is outcome
    if outcome is Outcome.REFUTED:
        assert "let all lanes wait that go on" in str(found)
        if by == "elect":  # lanes 1 .. 31 are one to a run
            with pytest.raises(ExecutionError, match=r"no wait for bulk.load|shared memory was never written there"):
                execute(kernel.bind(), src, "lazy")
    else:
        execute(kernel.bind(), src, "lazy")


def neighbours(sync: bool) -> Kernel:
    """Each lane reads what the lane beside it has written."""
    k = Builder("neighbours", grid=(1,), threads=64)
    src, dst = (k.global_tensor(name, "f32", Layout(64)) for name in ("src", "dst"))
    tile, x = k.shared_tensor("tile", "f32", Layout(64)), k.registers("x", "f32", 1)
    k.copy("ld.global.4", src(k.thread), x())
    k.copy("st.shared.4", x(), tile(k.thread))
    if sync:
        k.warp_sync()
    k.copy("ld.shared.4", tile(k.thread + 1 - 2 * (k.thread % 2)), x())
    k.copy("st.global.4", x(), dst(k.thread))
    return k.kernel()


@pytest.mark.parametrize("sync", [True, False])
def test_lanes_that_read_what_others_wrote(sync: bool) -> None:
    """The proof asked for the barrier before, and the run did not: it counted a warp as one."""
    kernel, src = neighbours(sync), {"src": np.arange(64, dtype=np.float32)}
    stated = kernel.assuming(converged_warps=True)
    outcome = prove(HappensBefore(kernel)).verdicts[0].outcome

    assert outcome is (Outcome.PROVED if sync else Outcome.REFUTED)
    assert prove(HappensBefore(stated))
    assert execute(stated.bind(), src, "lazy")["dst"][:3].tolist() == [1, 0, 3]
    if sync:
        assert execute(kernel.bind(), src, "lazy")["dst"][:3].tolist() == [1, 0, 3]
    else:
        with pytest.raises(ExecutionError, match=r"no barrier after st.shared.4"):
            execute(kernel.bind(), src, "lazy")


# -- elections ------------------------------------------------------------------------------------------


def elected(around: str, by: str) -> Kernel:
    """An election in some place, of two warps."""
    n = dim("n")
    k = Builder("elected", n, grid=(1,), threads=64)
    dst, x = k.global_tensor("dst", "f32", Layout(64)), k.registers("x", "f32", 1)
    k.fill(x(), 1)
    at = {
        "all": (),
        "a warp": (k.thread >= 32,),
        "a warp, by number": (k.thread // 32 >= 1,),
        "some lanes": (k.thread % 32 >= 5,),
        "all but some": (k.thread >= 40,),
        "as many as there are": (k.thread < n,),
    }
    with k.elect() if around == "an election" else k.where(*at[around]), k.elect(each_warp=True, by=by):
        k.copy("st.global.4", x(), dst(k.thread))
    return k.kernel()


@pytest.mark.parametrize("by", ["elect.sync", "lane 0"])
@pytest.mark.parametrize(
    "around, outcome",
    [
        *((x, Outcome.PROVED) for x in ("all", "a warp", "a warp, by number")),
        *((x, Outcome.REFUTED) for x in ("some lanes", "all but some", "an election")),
        ("as many as there are", Outcome.UNKNOWN),
    ],
)
def test_all_lanes_come_to_an_election(around: str, outcome: Outcome, by: str) -> None:
    """elect.sync of the full mask waits for all 32 lanes, and of some lanes 0 need not be one.

    Nothing asked where an election stands: each took the first of the threads that were there.
    """
    claim = WellFormed(elected(around, by))

    assert prove(claim).verdicts[0].outcome is outcome
    assert claim.telling is (outcome is not Outcome.PROVED)


def test_a_barrier_of_a_warp_by_some_lanes() -> None:
    kernel = rows(sync="half")

    assert prove(WellFormed(kernel)).verdicts[0].outcome is Outcome.REFUTED
    assert prove(HappensBefore(kernel)).verdicts[0].outcome is not Outcome.PROVED


def test_two_elections_need_not_take_the_same_lane() -> None:
    """A store by the lane that elect.sync takes, waited for by lane 0: the wait is that of another lane's groups."""

    def stored(by: str, then: str) -> Kernel:
        k = Builder("stored", grid=(1,), threads=32)
        dst, tile = k.global_tensor("dst", "f32", Layout(32)), k.shared_tensor("tile", "f32", Layout(32))
        x = k.registers("x", "f32", 1)
        k.fill(x(), 1)
        k.copy("st.shared.4", x(), tile(k.thread))
        k.fence("async")
        k.warp_sync()
        with k.elect(by=by):
            k.copy("bulk.store", tile(), dst(), nbytes=128)
            k.commit("bulk")
        with k.elect(by=then):
            k.wait_group("bulk")
        return k.kernel()

    for by in ("elect.sync", "lane 0"):
        assert prove(HappensBefore(stored(by, by)))
        other = prove(HappensBefore(stored(by, "lane 0" if by == "elect.sync" else "elect.sync")))
        assert other.verdicts[0].outcome is Outcome.REFUTED
        assert "no wait_group bulk 0 after the last store" in str(other) or "no commit bulk" in str(other)

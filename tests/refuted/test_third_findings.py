"""What a third hunt found: roles of warps that nobody has, fills cut otherwise, numbers and names that nobody asked about.

No random kernel and no mutant touched the warps of a role or the threads of a CTA, so every role had the warps that it
names. Fills of one ring had one form in all tests: a whole tile, or the same parts in each use.
"""

from __future__ import annotations

import sqlite3
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks.kernel_slips import mutants
from checkers import Bijective, InBounds, prove
from checkers.budget import Budget
from checkers.bundle import Checked
from checkers.cache import Cache
from checkers.claims.happens_before import HappensBefore
from checkers.claims.ring_protocol import RingProtocol
from checkers.claims.transaction_bytes import TransactionBytes
from symlayout import Layout, dim, f32
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome, Report
from symlayout.errors import ExpressionError, LayoutError
from symlayout.expr import index
from symlayout.kernel import Builder, Kernel
from symlayout.kernels import cp_async_copy, tma_copy
from symlayout.ops import Elect, For, If, Role
from symlayout.semantics import execute

N = dim("n")
SLOTS = 2


PROOFS = Budget(repairs=False)


def outcome(report: Report) -> Outcome:
    (verdict,) = report.verdicts
    return verdict.outcome


def refuted(report: Report) -> set[str]:
    return {v.claim.kind for v in report.verdicts if v.outcome is Outcome.REFUTED}


# -- roles ----------------------------------------------------------------------------------------------


def watched() -> Kernel:
    """Tiles through a ring, stored by one role; another looks on, and gives each slot back too."""
    k = Builder("watched", N, grid=(1,), threads=96)
    x, z = (k.global_tensor(name, f32, Layout((256, N))) for name in "xz")
    tile = k.shared_tensor("ring", f32, Layout((256, SLOTS)))
    full, empty = k.mbarriers("full", SLOTS, 1), k.mbarriers("empty", SLOTS, 2)
    with k.role("producer", 1), k.elect(), k.loop("i", N) as i:
        k.wait(empty(i % SLOTS), (i // SLOTS + 1) % 2)
        k.expect_tx(full(i % SLOTS), 1024)
        k.copy("bulk.load", x(256 * i), tile(256 * (i % SLOTS)), full(i % SLOTS), nbytes=1024)
    with k.role("consumer", 1), k.elect():
        with k.loop("j", N) as j:
            k.wait(full(j % SLOTS), j // SLOTS % 2)
            k.copy("bulk.store", tile(256 * (j % SLOTS)), z(256 * j), nbytes=1024)
            k.commit("bulk")
            k.wait_group("bulk", 0, read=True)
            k.arrive(empty(j % SLOTS))
        k.wait_group("bulk", 0)
    with k.role("watcher", 1), k.elect(), k.loop("j", N) as j:
        k.wait(full(j % SLOTS), j // SLOTS % 2)
        k.arrive(empty(j % SLOTS))
    return k.kernel()


def elsewhere(how: str) -> Kernel:
    """The kernel with its last role where not all of its threads come to it."""
    kernel = watched()
    *first, consumer, watcher = kernel.body
    assert isinstance(consumer, Role)
    assert isinstance(watcher, Role)
    if how == "fewer threads":
        return replace(kernel, threads=64)
    last: dict[str, tuple[Any, ...]] = {
        "beyond": (consumer, replace(watcher, first_warp=9)),
        "half beyond": (consumer, replace(watcher, warps=2)),
        "in a role": (replace(consumer, inside=(*consumer.inside, watcher)),),
        "in an election": (consumer, Elect((watcher,))),
        "in a condition": (consumer, If((index("thread", 96) < 64,), (watcher,))),
    }
    return replace(kernel, body=(*first, *last[how]))


PLACES = ("fewer threads", "beyond", "half beyond", "in a role", "in an election", "in a condition")


@pytest.mark.parametrize("how", PLACES)
def test_a_role_is_of_warps_that_there_are_and_that_come_to_it(how: str) -> None:
    """A role's warps were what it says, whichever the CTA has: its arrivals counted, and all was proved.

    A run ends without a thread that can go on: the slots are never given back twice.
    """
    assert prove(watched())
    assert refuted(prove(elsewhere(how))) == {"well formed"}


@pytest.mark.parametrize("how", [x for x in PLACES if x not in ("half beyond", "in a condition")])
def test_arrivals_of_threads_that_are_not_there_do_not_count(how: str) -> None:
    """The claim by itself is about those who execute an operation, too."""
    assert outcome(prove(RingProtocol(watched(), "full"))) is Outcome.PROVED
    assert outcome(prove(RingProtocol(elsewhere(how), "full"))) is Outcome.REFUTED


def test_a_role_in_a_loop_that_all_threads_take_is_none_of_these() -> None:
    kernel = watched()
    *others, watcher = kernel.body
    looped = replace(kernel, body=(*others, For(index("once", 1), (watcher,))))

    assert "well formed" not in refuted(prove(looped, budget=PROOFS))
    for order in ("eager", "lazy", 1):
        execute(looped.bind(n=3), {"x": np.zeros((256, 3), np.float32)}, order)


@pytest.mark.parametrize("family", [tma_copy, cp_async_copy])
def test_mutants_have_other_warps(family: Any) -> None:
    kernel = (
        tma_copy(64, 256, tile=(16, 64), slots=2, blocks=2) if family is tma_copy else cp_async_copy(4096, threads=64)
    )
    made = [(name, m) for name, m in mutants(kernel) if ": first_warp" in name or "a warp fewer" in name]

    assert made
    for name, mutant in made:
        assert not prove(mutant), name


@pytest.mark.parametrize("change", [{"threads": 1}, {"threads": 0}, {"threads": 40}, {"cluster": (0,)}])
def test_a_cta_has_whole_warps_and_a_cluster_ctas(change: dict[str, Any]) -> None:
    """Provers ended in ValueError: arrays of no threads have no shape, and no CTA has no most of anything."""
    for kernel in (cp_async_copy(4096, threads=64), tma_copy(64, 256, tile=(16, 64), slots=4, blocks=132)):
        assert refuted(prove(replace(kernel, **change))) == {"well formed"}
    changed = replace(tma_copy(64, 256, tile=(16, 64), slots=4, blocks=132), **change)
    for claim in (HappensBefore(changed), TransactionBytes(changed, "full")):
        with pytest.raises(LayoutError, match="at least 1 CTA") if "cluster" in change else nullcontext():
            assert prove(claim).verdicts


# -- fills ----------------------------------------------------------------------------------------------


def refilled(*, waits: int = 1, late: bool = False, halves: int = 2) -> Kernel:
    """The first uses of a ring fill a slot by one copy, later ones by some; each thread reads an element of both halves.

    Consumers may wait twice, which changes nothing, or read a slot again after it was given back.
    """
    k = Builder("refilled", N, grid=(1,), threads=64)
    x, tile = k.global_tensor("x", f32, Layout(64)), k.shared_tensor("ring", f32, Layout((64, SLOTS)))
    full, empty = k.mbarriers("full", SLOTS, 1), k.mbarriers("empty", SLOTS, 1)
    with k.role("producer", 1), k.elect():
        with k.loop("h", SLOTS) as h:
            k.wait(empty(h), 1)
            k.expect_tx(full(h), 256)
            k.copy("bulk.load", x(), tile(64 * h), full(h), nbytes=256)
        with k.loop("i", N) as i:
            k.wait(empty(i % SLOTS), i // SLOTS % 2)
            k.expect_tx(full(i % SLOTS), 128 * halves)
            with k.loop("v", halves) as v:
                k.copy("bulk.load", x(), tile(64 * (i % SLOTS) + 32 * v), full(i % SLOTS), nbytes=128)
    with k.role("consumer", 1):
        word = k.registers("word", f32, 1)

        def use(n: Any) -> None:
            for _ in range(waits):
                k.wait(full(n % SLOTS), n // SLOTS % 2)
            for half in (0, 32):
                k.copy("ld.shared.4", tile(64 * (n % SLOTS) + k.thread + half), word())
            k.warp_sync()
            with k.elect():
                k.arrive(empty(n % SLOTS))
            if late:
                k.copy("ld.shared.4", tile(64 * (n % SLOTS) + k.thread + 32), word())

        with k.loop("h", SLOTS) as h:
            use(h)
        with k.loop("j", N) as j:
            use(j + SLOTS)
    return k.kernel()


def test_a_fill_of_a_whole_slot_fills_its_parts() -> None:
    """A copy filled the part in which it begins, so reads of the other half had nothing to read: a wrong refutation."""
    assert outcome(prove(RingProtocol(refilled(), "full"), budget=PROOFS)) is Outcome.PROVED
    assert outcome(prove(RingProtocol(refilled(waits=2), "full"), budget=PROOFS)) is Outcome.UNKNOWN
    assert outcome(prove(RingProtocol(refilled(late=True), "full"), budget=PROOFS)) is Outcome.REFUTED
    bound = refilled(waits=2).bind(n=5)
    assert outcome(prove(RingProtocol(bound, "full"), budget=PROOFS)) is not Outcome.REFUTED


# -- maps, numbers, bundles -----------------------------------------------------------------------------


@pytest.mark.parametrize("extents", [(4, 4), (4, 5)])
def test_a_map_has_each_coordinate_once(extents: tuple[int, int]) -> None:
    """(i,i) was a box of pairs of which an expression in i saw one."""
    coords = tuple(index("i", n) for n in extents)
    with pytest.raises(LayoutError, match="expected coordinates of different names"):
        AddressMap(coords, extents, 0)


@pytest.mark.parametrize("ends", [{"at_most": 10**5000}, {"at_least": -(10**5000)}, {"multiple_of": 10**5000}])
def test_a_number_that_python_does_not_write_is_refused_in_words(ends: dict[str, Any]) -> None:
    with pytest.raises(ExpressionError, match="expected an integer of at most 4096 bits, got one of 16610 bits"):
        dim("many", **ends)
    assert "a number of 16610 bits" in str(prove(InBounds(Layout(4), 10**5000)))
    assert "a number of 16610 bits" in str(N * 10**5000)


def test_a_check_says_how_many_certificates_trust_something() -> None:
    """A certificate that proves the parts of a claim was accepted without a word that this is not the claim."""
    found = prove(
        tma_copy(*(dim(x) for x in "MN"), tile=(16, 64), slots=4, blocks=132).assuming(dim("N").multiple_of(4))
    ).certificate.check()
    assert found
    assert 0 < len(found.trusting) <= len(found.accepted)
    assert f"{len(found.trusting)} of {len(found.accepted)} accepted certificates" in dict(found.rows())["trusts"]

    plain = prove(Bijective(Layout((N, 4), (1, N)), 4 * N)).certificate.check()
    assert plain == Checked(accepted=plain.accepted)
    assert "trusts" not in dict(plain.rows())


# -- a file of verdicts ---------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["[]", "null", "{}", '{"outcome":"proved"}', "of another claim"])
def test_a_row_of_a_cache_that_is_not_what_was_stored_is_no_verdict(tmp_path: Any, damage: str) -> None:
    """Lists and null ended in AttributeError; a row of another claim, or a part of one, was believed."""
    right, wrong = Bijective(Layout((N, 4), (1, N)), 4 * N), Bijective(Layout((N, 4), (1, 1)), 4 * N)
    cache = Cache(tmp_path / "verdicts")
    assert [outcome(prove(c, cache=cache)) for c in (right, wrong)] == [Outcome.PROVED, Outcome.REFUTED]

    rows = dict(sqlite3.connect(tmp_path / "verdicts").execute("select key, value from verdict").fetchall())
    first, second = rows
    cache.keep([(first, rows[second]), (second, rows[first])] if " " in damage else [(k, damage) for k in rows])
    assert [outcome(prove(c, cache=cache)) for c in (right, wrong)] == [Outcome.PROVED, Outcome.REFUTED]
    assert cache.hits == 0
    assert outcome(prove(right, cache=cache)) is Outcome.PROVED
    assert cache.hits == 1

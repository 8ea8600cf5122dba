"""Tiles by TMA as CuTe copies them: coordinates of a map and shared memory, both directions, chosen or named, with tails."""

from __future__ import annotations

import pytest

from checkers import prove
from gpu.codegen import emit
from symlayout import (
    ComposedLayout,
    Layout,
    LayoutError,
    Swizzle,
    dims,
    local_tile,
    make_identity_tensor,
    tile_to_shape,
)
from symlayout.algorithms import Inside
from symlayout.int_tuple import ceil_div
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.specification import element
from symlayout.semantics.expected import expect_results
from tests.support.compilers import NEEDS_MACHINE_CODE

M, N = dims("M N", multiple_of=8, at_most=1 << 16)
TILE = (16, 32)
PLAIN = Layout(TILE, (32, 1))
SWIZZLED = tile_to_shape(ComposedLayout(Swizzle(3, 2, 3), 0, Layout((8, 32), (32, 1))), TILE)
SIZES = ({"M": 8, "N": 8}, {"M": 16, "N": 32}, {"M": 40, "N": 72}, {"M": 24, "N": 96})


def copied(smem=PLAIN, chosen: bool = False, awaited: bool = True, multicast: int = 1, shape=(M, N)) -> Kernel:
    """dst = src, a tile for each CTA by one thread; of a multicast each CTA of a pair asks for a half of each tile."""
    rows, columns = (ceil_div(n, t) for n, t in zip(shape, TILE, strict=True))
    if multicast > 1:
        k = Builder("tiles", *shape, grid=(multicast * rows * columns,), threads=32, cluster=(multicast,))
        index, rank = k.block[0] // multicast, k.block[0] % multicast
        at = index % rows, index // rows
    else:
        k = Builder("tiles", *shape, grid=(rows, columns), threads=32)
        at, rank = (k.block[0], k.block[1]), 0
    src, dst = (k.global_tensor(name, "f32", Layout(shape, (shape[1], 1))) for name in ("src", "dst"))
    held, full = k.shared_tensor("tile", "f32", Layout(512)), k.mbarriers("full", 1, 1)
    tile, half = k.tensor(held(), smem), TILE[0] // multicast  # each CTA of a pair stores a half of the rows
    halves = Layout((half, 32), (32, 1))
    load = k.tma_copy("src_map", src(), smem, multicast=multicast)
    store = k.tma_copy("dst_map", dst(), smem if multicast == 1 else halves)
    of_tensors = [local_tile(k.tensor(x()), TILE, at) for x in (src, dst)]
    when = Inside(local_tile(make_identity_tensor(shape), TILE, at), shape)
    if multicast > 1:
        k.cluster_sync()
    with k.elect():
        k.expect_tx(full(), load.bytes)
        if chosen:
            issued = k.copy(of_tensors[0], tile, barrier=full(), when=when, tma=load)
        else:
            coords, mask = local_tile(load.get_tma_tensor(), TILE, at), (1 << multicast) - 1 if multicast > 1 else None
            issued = k.copy(load.get_slice(rank), coords, tile, barrier=full(), multicast=mask)
        if awaited:
            k.complete(issued, barrier=full())
        if chosen:
            issued = k.copy(tile, of_tensors[1], when=when, tma=store)
        else:
            part = k.tensor(held(32 * half * rank), smem if multicast == 1 else halves)
            issued = k.copy(
                store, part, local_tile(store.get_tma_tensor(), (half, 32), (at[0] * multicast + rank, at[1]))
            )
        k.complete(issued)
    if multicast > 1:
        k.cluster_sync()
    k.result("dst", lambda m, n: element("src", m, n))
    return k.kernel()


@pytest.mark.parametrize("smem", [PLAIN, SWIZZLED], ids=["plain", "swizzled"])
def test_a_tile_by_its_coordinates_is_proved_with_tails(smem):
    kernel = copied(smem)
    report = prove(kernel)

    assert report, str(report)
    for sizes in SIZES:
        for order in ("eager", "lazy"):
            expect_results(kernel.bind(**sizes), order)


def test_tma_is_chosen_where_a_copy_of_it_is_given_and_does_the_same():
    chosen, named = copied(chosen=True), copied()

    assert [str(op) for op in chosen.walk()] == [str(op) for op in named.walk()]
    assert prove(chosen)


def test_each_cta_of_a_multicast_asks_for_its_part():
    kernel = copied(multicast=2)
    report = prove(kernel)
    loads = [op for op in kernel.walk() if getattr(op, "atom", "") == "tma.load"]

    assert report, str(report)
    assert [str(op.multicast) for op in loads] == ["3"]
    for sizes in SIZES[:3]:
        expect_results(kernel.bind(**sizes), "lazy")


def test_use_before_completion_is_refuted():
    report = prove(copied(awaited=False))

    assert not report
    assert any(v.claim.kind == "happens before" and v.outcome.value == "refuted" for v in report.verdicts)


@NEEDS_MACHINE_CODE
def test_the_code_has_the_copies_of_tma():
    import gpu

    every = gpu.compile(emit(copied(SWIZZLED)).text).instructions("tiles").every
    assert {"UTMALDG", "UTMASTG"} <= {i.opcode.partition(".")[0] for i in every}


def begun(smem=PLAIN, shape=(M, N)):
    """(builder, tile of the tensor, its coordinates, tile in shared memory, mbarrier, copy)."""
    k = Builder("begun", *shape, grid=(4,), threads=32)
    src = k.global_tensor("src", "f32", Layout(shape, (shape[1], 1)))
    tile, full = k.tensor(k.shared_tensor("tile", "f32", Layout(512))(), smem), k.mbarriers("full", 1, 1)
    of_tensor = local_tile(k.tensor(src()), TILE, (1, 2))
    return (
        k,
        of_tensor,
        local_tile(make_identity_tensor(shape), TILE, (1, 2)),
        tile,
        full(),
        k.tma_copy("map", src(), smem),
    )


def test_a_choice_tells_what_is_better_and_why_not():
    k, x, c, tile, full, tma = begun()
    issued = k.copy(x, tile, barrier=full, when=Inside(c, (M, N)), tma=tma)
    line = k.tensor(k.shared_tensor("line", "f32", Layout(64))())
    row = Layout(64)
    bulk = k.copy(k.tensor(k.global_tensor("flat", "f32", row)()), line, barrier=full)

    assert (issued.choice.atoms, issued.choice.rejected) == (("tma.load",), ())
    assert issued.waits == bulk.waits == ("mbarrier",)
    assert bulk.choice.atoms == ("bulk.load",)
    given = k.copy(k.tensor(k.global_tensor("other", "f32", row)()), line, barrier=full, tma=tma)
    assert given.choice.atoms == ("bulk.load",)
    assert given.choice.rejected == (
        ("tma.load", "lands its tile as (16,32):(32,1), and shared memory is laid out as 64:1"),
    )


def other(k, dtype="f32"):
    return k.tensor(k.shared_tensor("other", dtype, Layout(512))(), PLAIN)


@pytest.mark.parametrize(
    "ask, message",
    [
        (
            lambda k, x, c, t, f, m: k.copy(m, m.get_tma_tensor(), t, barrier=f),
            "takes 512 coordinates at once, and there are M",
        ),
        (lambda k, x, c, t, f, m: k.copy(m, c, t), "expected the mbarrier on which it completes, as barrier=full"),
        (lambda k, x, c, t, f, m: k.copy(m, t, m.tile_at(0, 0), barrier=f), "expected no mbarrier, for tma.store"),
        (lambda k, x, c, t, f, m: k.copy(m, x, t, barrier=f), "expected a tile of the coordinate tensor"),
        (lambda k, x, c, t, f, m: k.copy(m, m.tile_at(0, 0), t, barrier=f, multicast=3), "expected no multicast"),
        (
            lambda k, x, c, t, f, m: k.copy(m, m.tile_at(0, 0), t, barrier=f, when=Inside(c, (M, N))),
            "expected no predicate",
        ),
        (
            lambda k, x, c, t, f, m: k.copy(m, m.tile_at(0, 0), other(k, "i32"), barrier=f),
            "moves elements of f32, and the tile has i32",
        ),
        (
            lambda k, x, c, t, f, m: k.copy(m, m.tile_at(0, 0), k.tensor(Ref_of(k), Layout(TILE)), barrier=f),
            "lands its tile as",
        ),
        (lambda k, x, c, t, f, m: k.copy(m, m.tile_at(0, 0), x, barrier=f), "expected a tile of the coordinate tensor"),
        (
            lambda k, x, c, t, f, m: k.copy(x, t, tma=m, when=Inside(c, (M, N))),
            "expected an mbarrier on which it completes",
        ),
        (lambda k, x, c, t, f, m: k.copy(x, t, barrier=f, tma=m), "tma.load zeros what is outside .* no predicate"),
        (lambda k, x, c, t, f, m: k.copy(x, t, barrier=f, tma=m, when=Inside(c, (M, N - 8))), "the predicate is about"),
        (lambda k, x, c, t, f, m: k.copy(x, t, barrier=f), "tma.load moves a box of a tensor map, and there is none"),
        (
            lambda k, x, c, t, f, m: k.copy(
                x, t, barrier=f, tma=m, when=Inside(local_tile(make_identity_tensor((M, N)), TILE, (1, 3)), (M, N))
            ),
            "and the tensor begins elsewhere",
        ),
        (lambda k, x, c, t, f, m: m.get_slice(1), "expected a CTA of 0 .. 0"),
        (
            lambda k, x, c, t, f, m: k.tma_copy("again", t.iterator and k.registers("r", "f32", 512)(), PLAIN),
            "in global memory",
        ),
    ],
)
def test_what_does_not_fit_is_an_error_with_its_reason(ask, message):
    k, x, coords, tile, full, tma = begun()

    with pytest.raises(LayoutError, match=message):
        ask(k, x, coords, tile, full, tma)


def Ref_of(k):  # noqa: N802
    return k.shared_tensor("turned", "f32", Layout(512))()

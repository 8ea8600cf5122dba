"""What a launch can have, for all sizes.

No test asked it before: every claim took the grid as given, families have one axis and a number of CTAs that fits, and
runs at small sizes never come near 65535.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from checkers import Budget, Launchable, RegistersFit, claims_of, prove, prove_kernel
from checkers.repairs.conditions import without_quotient
from symlayout import Layout, LayoutError, ceil_div, dims
from symlayout.answers.report import Outcome
from symlayout.arch import SM80, SM90
from symlayout.kernel import Builder
from symlayout.kernel.specification import element
from symlayout.kernels import gemm, tma_copy, vector_copy
from symlayout.ops import Barrier, ExpectTx

M, N, B = dims("M N B")


def rows(grid, threads=128, barrier=0):
    """A copy of the rows of a matrix, a row for each CTA of *grid*, reversed and back through shared memory."""
    k = Builder("rows", M, N, grid=grid, threads=threads, index_bits=64)
    src, dst = (k.global_tensor(name, "f32", Layout(N)) for name in ("src", "dst"))
    x, tile = k.registers("x", "f32", 1), k.shared_tensor("tile", "f32", Layout(threads))
    i = threads * k.block[0] + k.thread
    with k.where(i < N):
        k.copy("ld.global.4", src(i), x())
        k.copy("st.shared.4", x(), tile(threads - 1 - k.thread))
    k.sync(barrier)
    with k.where(i < N):
        k.copy("ld.shared.4", tile(threads - 1 - k.thread), x())
        k.copy("st.global.4", x(), dst(i))
    k.result("dst", lambda i: element("src", i))
    return k.kernel()


def broken(kernel, arch=SM90):
    """The rules that a launch breaks, with what is said of them."""
    found = prove(Launchable(kernel, arch)).verdicts
    return {v.claim.rule.id: v for v in found if v.outcome is Outcome.REFUTED}


@pytest.mark.parametrize(
    "grid, size, repair",
    [
        ((ceil_div(N, 128), ceil_div(M, 32)), {"M": 2097121}, "M <= 2097120"),
        ((ceil_div(N, 128), 1, M), {"M": 65536}, "M <= 65535"),
        ((ceil_div(N, 128), M // 4), {"M": 262144}, "M <= 262143"),
    ],
)
def test_the_least_size_that_breaks_a_limit_is_named_with_its_repair(grid, size, repair):
    kernel = rows(grid).assuming(*((M >= 4,) if M // 4 in grid else ()))
    v = broken(kernel)["grid_axis"]

    assert {s: n for s, n in v.witness.sizes.items() if s in size} == size
    assert "expected at most 65535" in v.witness.story
    assert [str(f) for f in v.repairs] == [repair]
    assert not broken(kernel.assuming(*v.repairs))


def test_one_size_less_is_within_the_limit():
    kernel = rows((ceil_div(N, 128), ceil_div(M, 32)))

    assert prove(Launchable(kernel.assuming(M <= 2097120)))
    assert not prove(Launchable(kernel.assuming(M <= 2097121)))


def test_a_product_of_sizes_is_bounded_by_a_fact_about_it():
    kernel = rows((ceil_div(N, 128), M * B))
    kernel = replace(kernel, dims=(*kernel.dims, B))

    assert "grid_axis" in broken(kernel)
    assert prove(Launchable(kernel.assuming(M * B <= 65535)))
    assert prove(Launchable(kernel.assuming(M <= 255, B <= 257)))


@pytest.mark.parametrize("x", [2**31, 2**40])
def test_grid_x_ends_at_2_31(x):
    assert "grid_axis" in broken(tma_copy(M, N, blocks=x))
    assert not prove(tma_copy(M, N, blocks=x).assuming(N.multiple_of(4)), budget=Budget(repairs=False))
    assert not broken(tma_copy(M, N, blocks=2**31 - 1))


def test_a_kernel_that_replace_made_is_refuted_too():
    kernel = vector_copy(N, dtype="bf16")

    assert "grid_rank" in broken(replace(kernel, grid=(ceil_div(N, 1024), 1, 1, 1)))
    assert "grid_rank" in broken(replace(kernel, grid=()))
    assert "cta_threads" in broken(replace(kernel, threads=2048))
    assert "cta_whole_warps" in broken(replace(kernel, threads=100))
    assert "cluster_size" in broken(replace(kernel, cluster=(4, 8), grid=(4, 8)))
    assert "cluster_axis" in broken(replace(kernel, cluster=(-1, -2), grid=(4, 8)))
    assert "cluster_divides_grid" in broken(replace(kernel, cluster=(2,), grid=(3,)))
    assert "cluster_divides_grid" in broken(replace(kernel, cluster=(2,)))
    # an axis that the grid does not name has one CTA: the old test, its oracle and the rule all stopped at the grid's axes
    assert "cluster_divides_grid" in broken(replace(kernel, cluster=(3, 2), grid=(3,)))
    assert not broken(replace(kernel, cluster=(3, 1), grid=(3,)))
    assert not broken(replace(kernel, cluster=(2,), grid=(2 * ceil_div(N, 2048),)))


def test_an_sm_has_room_for_the_ctas_that_are_to_be_on_it():
    kernel = rows((ceil_div(N, 128),))

    assert not broken(replace(kernel, ctas_per_sm=16))
    assert set(broken(replace(kernel, ctas_per_sm=17))) == {"sm_threads"}
    assert set(broken(replace(kernel, ctas_per_sm=33))) == {"ctas_per_sm", "sm_threads"}


def test_shared_memory_is_counted_for_each_cta_of_an_sm():
    k = Builder("large", grid=(1,), threads=32, ctas_per_sm=2)
    k.shared_tensor("tile", "u8", Layout(113 * 1024))

    assert not broken(k.kernel())  # 2 (113 + 1) KiB are all of an SM
    assert set(broken(k.kernel(), SM80)) == {"sm_shared_bytes"}
    assert set(broken(replace(k.kernel(), ctas_per_sm=3))) == {"sm_shared_bytes"}


def test_registers_are_shared_by_the_ctas_of_an_sm():
    k = Builder("held", grid=(1,), threads=512, ctas_per_sm=2)
    k.registers("x", "f32", 65)

    assert "take 65 registers of each thread, 1 more" in str(prove(RegistersFit(k.kernel())).verdicts[0].witness)
    assert prove(RegistersFit(replace(k.kernel(), ctas_per_sm=1)))


@pytest.mark.parametrize("number", [0, -1, True, 1.5])
def test_ctas_of_an_sm_are_a_number(number):
    with pytest.raises(LayoutError, match="expected at least 1 CTA an SM"):
        Builder("few", grid=(1,), threads=32, ctas_per_sm=number).kernel()


@pytest.mark.parametrize("number, fine", [(0, True), (15, True), (16, False), (99, False), (-1, False)])
def test_a_cta_has_16_barriers(number, fine):
    assert ("named_barrier_number" not in broken(rows((ceil_div(N, 128),), barrier=number))) is fine
    assert bool(prove(rows((ceil_div(N, 128),), barrier=number))) is fine


@pytest.mark.parametrize(
    "threads, rule", [(40, "named_barrier_threads"), (-32, "named_barrier_cta"), (160, "named_barrier_cta")]
)
def test_a_barrier_awaits_whole_warps_of_its_cta(threads, rule):
    kernel = rows((ceil_div(N, 128),))
    odd = kernel.edited(lambda op: [replace(op, threads=threads) if isinstance(op, Barrier) else op])

    assert rule in broken(odd)


def test_phases_of_mbarriers_count_to_2_20():
    kernel = tma_copy(M, N, slots=4, blocks=132).assuming(N.multiple_of(4))
    [first, *rest] = kernel.barriers

    def awaiting(n):
        return kernel.edited(lambda op: [replace(op, bytes=n) if isinstance(op, ExpectTx) else op])

    assert not broken(kernel)
    for arrivals in (0, 2**20):
        assert "mbarrier_arrivals" in broken(replace(kernel, barriers=(replace(first, arrivals=arrivals), *rest)))
    assert "mbarrier_slots" in broken(replace(kernel, barriers=(replace(first, slots=0), *rest)))
    assert "mbarrier_bytes" in broken(awaiting(2**20))
    assert "mbarrier_bytes" in broken(awaiting(-16))
    assert "mbarrier_bytes" in broken(awaiting(4 * N))
    assert not broken(awaiting(4 * N).assuming(N <= 2**18 - 1))


def test_arrivals_that_all_await_bytes_await_them_together():
    """Eight arrivals of 200000 bytes each are 1600000 in one phase, though each is below the limit."""
    kernel = tma_copy(M, N, slots=4, blocks=132)
    eight = replace(kernel, barriers=tuple(replace(b, arrivals=8) for b in kernel.barriers))
    each = eight.edited(lambda op: [replace(op, bytes=200_000) if isinstance(op, ExpectTx) else op])

    assert "mbarrier_bytes" in broken(each)
    assert not broken(kernel.edited(lambda op: [replace(op, bytes=200_000) if isinstance(op, ExpectTx) else op]))


def test_arrivals_of_several_operations_may_await_bytes_together():
    """Each operation was held to the limit by itself: two roles, or the iterations of a loop, arm one phase together."""
    two = Builder("two", grid=(1,), threads=64)
    full = two.mbarriers("full", 1, 2)
    for name in ("a", "b"):
        with two.role(name, 1), two.elect():
            two.expect_tx(full(), 600_000)
    seven = Builder("seven", grid=(1,), threads=64)
    full = seven.mbarriers("full", 1, 8)
    with seven.elect():
        with seven.loop("i", 7):
            seven.expect_tx(full(), 300_000)
        seven.arrive(full())
    for k in (two.kernel(), seven.kernel()):
        assert prove(Launchable(k)).verdicts[0].outcome is Outcome.UNKNOWN
        small = k.edited(lambda op: [replace(op, bytes=131_056) if isinstance(op, ExpectTx) else op])
        assert prove(Launchable(small)).verdicts[0].outcome is Outcome.PROVED


def test_an_architecture_without_the_instruction_is_told():
    found = broken(tma_copy(M, N, slots=4, blocks=132).assuming(N.multiple_of(4)), SM80)

    assert "tma" in str(found["instruction_of_arch"])
    assert not prove_kernel(tma_copy(M, N, slots=4, blocks=132).assuming(N.multiple_of(4)), SM80)
    assert prove_kernel(vector_copy(N), SM80)
    assert not prove(RegistersFit(gemm(*dims("M N K")), SM80))


def test_a_line_only_where_sizes_decide_or_a_limit_is_broken():
    assert any(isinstance(c, Launchable) for c in claims_of(vector_copy(N)))
    assert not any(isinstance(c, Launchable) for c in claims_of(tma_copy(M, N, slots=4, blocks=132)))


def test_a_rounded_quotient_gives_the_exact_bound():
    for n in (31, 32, 33, 63, 64, 65):
        for f in (ceil_div(M, 32) <= 2, M // 32 <= 1, 3 * ceil_div(M, 32) <= 7):
            assert f.subs({M: n}).value == without_quotient(f).subs({M: n}).value


def test_a_builder_takes_no_grid_of_four_axes():
    with pytest.raises(LayoutError, match="expected a grid of 1 to 3 axes, got 4"):
        Builder("k", grid=(1, 1, 1, 1), threads=32)

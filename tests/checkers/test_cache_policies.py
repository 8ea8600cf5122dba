"""What provers say of cache policies and prefetches: which an instruction takes, what is legal, and nothing about order."""

from dataclasses import replace

import pytest

import checkers
from checkers import HappensBefore, WellFormed, claims_of
from symlayout import Layout, bf16, dims
from symlayout.answers.report import Outcome
from symlayout.arch import SM80
from symlayout.atoms import CachePolicy
from symlayout.kernel import Builder
from symlayout.kernels import bulk_copy, tma_copy, tma_transpose, vector_copy
from symlayout.ops import Copy, PrefetchL2
from symlayout.tma import TensorMap

M, N = dims("M N", multiple_of=8)
HINTS = {"loads": "L2::evict_first", "stores": "L2::evict_last"}


@pytest.mark.parametrize(
    "kernel",
    [
        tma_copy(M, N, blocks=132, **HINTS),
        tma_transpose(M, N, blocks=132, **HINTS),
        bulk_copy(N, **HINTS),
        vector_copy(N, loads="nc L1::no_allocate L2::128B", stores="cs"),
    ],
    ids=lambda k: k.name,
)
def test_a_family_with_policies_is_proved(kernel):
    assert checkers.prove(kernel)


def ahead(*, box=False, nbytes=None, shift=0, guard=True, cache=""):
    """A tiled copy that prefetches what is one tile on."""
    k = Builder("ahead", M, N, grid=(-(-M // 64),), threads=32)
    whole = Layout((M, N), (N, 1))
    src = k.global_tensor("src", bf16, whole)
    through = k.tensor_map("src_map", src(), TensorMap.over(Layout((N, M), (1, N)), bf16, (64, 64)))
    (b,) = k.block
    row = 64 * b + shift
    with k.where(row < M) if guard else k.where(True), k.elect():
        k.prefetch_l2(through(0, row) if box else src(N * row), 2 * N if nbytes else None, cache)
    return k.kernel()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"shift": 64},
        {"cache": "L2::evict_last"},
        {"nbytes": True, "shift": 8},
        {"box": True, "shift": 64, "guard": False},
    ],
)
def test_a_prefetch_that_is_legal_at_all_sizes_is_proved(options):
    kernel = ahead(**options).assuming(N < 1 << 19, M < 1 << 30)
    report = checkers.prove(kernel)

    assert report, str(report)
    assert not any("reads" in str(c) for c in claims_of(kernel) if isinstance(c, HappensBefore))


@pytest.mark.parametrize(
    "options, kind",
    [
        ({"shift": 64, "guard": False}, "in bounds"),
        ({"nbytes": True, "shift": 64, "guard": False}, "in bounds"),
    ],
)
def test_a_prefetch_past_the_end_is_refuted(options, kind):
    report = checkers.prove(ahead(**options).assuming(N < 1 << 19, M < 1 << 30))

    assert {v.claim.kind for v in report.verdicts if v.outcome is Outcome.REFUTED} == {kind}


def test_a_misaligned_box_is_refuted():
    kernel = ahead(box=True).edited(
        lambda op: [replace(op, src=replace(op.src, coordinate=(4, 0)))] if isinstance(op, PrefetchL2) else [op]
    )
    found = [v for v in checkers.prove(kernel).verdicts if v.outcome is Outcome.REFUTED]

    assert [v.claim.rule.id for v in found] == ["coord0_multiple_16"]
    assert "prefetch of src_map" in str(found[0])


@pytest.mark.parametrize(
    "op, message",
    [
        (lambda op: replace(op, cache=CachePolicy(nc=True)), "expected a cache policy of wb, cg, cs, wt"),
        (lambda op: replace(op, cache=CachePolicy()), "expected a cache policy of some words, or None"),
    ],
)
def test_a_policy_that_the_instruction_does_not_take_is_refuted(op, message):
    kernel = vector_copy(N).edited(lambda o: [op(o)] if isinstance(o, Copy) and o.atom.startswith("st") else [o])
    (v,) = checkers.prove(kernel).verdicts

    assert isinstance(v.claim, WellFormed)
    assert v.outcome is Outcome.REFUTED
    assert message in str(v.witness)


def stale(alias):
    k = Builder("stale", grid=(1,), threads=32)
    src = k.global_tensor("src", "f32", Layout(32))
    dst = k.global_tensor("dst", "f32", Layout(32), may_alias="src" if alias else ())
    x = k.registers("x", "f32", 1)
    k.copy("ld.global.4", src(k.thread), x(), cache="nc")
    k.copy("st.global.4", x(), dst(k.thread))
    return k.kernel()


def test_what_the_non_coherent_cache_reads_is_not_written():
    (v,) = [v for v in checkers.prove(stale(alias=True)).verdicts if isinstance(v.claim, WellFormed)]

    assert v.outcome is Outcome.UNKNOWN
    assert (
        "the kernel writes dst, which may be at the address of src, and ld.global.nc may read an older value" in v.open
    )
    assert checkers.prove(stale(alias=False))


@pytest.mark.parametrize("options, launches", [({}, True), ({"nbytes": True}, False), ({"box": True}, False)])
def test_prefetches_of_bytes_and_boxes_are_of_compute_capability_9(options, launches):
    assert bool(checkers.prove(checkers.Launchable(ahead(**options), SM80))) is launches

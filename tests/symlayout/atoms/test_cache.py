"""Cache policies: words of PTX, which instruction takes which, and that they are part of a kernel but change no byte."""

import numpy as np
import pytest

from symlayout import Layout, dim, dims
from symlayout.atoms import ATOMS, CachePolicy
from symlayout.atoms.cache import L1_PRIORITIES, Caching
from symlayout.errors import ExecutionError, LayoutError
from symlayout.kernel import Builder
from symlayout.kernels import bulk_copy, tma_copy, tma_transpose, vector_copy
from symlayout.ops import Box, Copy, PrefetchL2, Ref
from symlayout.semantics import execute
from symlayout.tma import TensorMap

M, N = dims("M N")
EVICT_FIRST = CachePolicy(l2="evict_first")


@pytest.mark.parametrize(
    "words", ["nc", "cs L2::evict_last", "nc L1::no_allocate L2::evict_first L2::128B", "wt", "L2::256B"]
)
def test_a_policy_is_written_as_it_is_read(words):
    assert str(CachePolicy.of(words)) == words
    assert CachePolicy.of(" ".join(reversed(words.split()))) == CachePolicy.of(words)


@pytest.mark.parametrize(
    "words, message",
    [
        ("L2::evict", r"expected words of a cache policy \(ca, cg, .*\), got 'L2::evict'"),
        ("L2::no_allocate", "got 'L2::no_allocate'"),
        ("L2::evict_first L2::evict_last", "expected one word for each cache of a policy, got L2::evict_last"),
        ("cg L1::evict_last", "expected a cache operator or an L1 priority, got both: cg L1::evict_last"),
    ],
)
def test_words_that_ptx_does_not_have_are_refused(words, message):
    with pytest.raises(LayoutError, match=message):
        CachePolicy.of(words)


@pytest.mark.parametrize("field", [{"operator": "xx"}, {"l1": "first"}, {"l2": "no_allocate"}, {"fetch_bytes": 32}])
def test_a_policy_of_other_words_is_refused(field):
    with pytest.raises(LayoutError, match="expected words of a cache policy"):
        CachePolicy(**field)


def test_which_instruction_takes_which_policy():
    taken = {word: set(row.caching.words) for word, row in ATOMS.items()}

    assert {"nc", "cs", "L2::64B", *(f"L1::{w}" for w in L1_PRIORITIES)} <= taken["ld.global.2"]
    assert {"wt", "L2::evict_last"} <= taken["st.global.16"]
    assert taken["st.global.16"].isdisjoint({"nc", "ca", "L2::64B"})
    assert taken["cp.async.16"] - taken["cp.async.8"] == {"cg"}
    assert (
        taken["tma.load"] == taken["bulk.store"] == {f"L2::evict_{w}" for w in ("first", "last", "normal", "unchanged")}
    )
    assert not any(taken[w] for w in taken if w.startswith(("ld.shared", "st.shared", "ldmatrix", "mma", "wgmma")))
    assert Caching().refusal(EVICT_FIRST) == "expected a cache policy of no words, got L2::evict_first"


FAMILIES = {
    "tma_copy": (lambda **o: tma_copy(M, N, tile=(16, 64), blocks=3, **o), {"M": 40, "N": 132}),
    "tma_transpose": (lambda **o: tma_transpose(M, N, blocks=3, **o), {"M": 72, "N": 136}),
    "bulk_copy": (lambda **o: bulk_copy(N, chunk=256, blocks=2, **o), {"N": 1016}),
    "vector_copy": (lambda **o: vector_copy(N, **o), {"N": 1023}),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_a_policy_is_in_the_digest_and_changes_no_byte(name):
    build, sizes = FAMILIES[name]
    plain, hinted = build(), build(loads="L2::evict_first", stores="L2::evict_last")
    again = build(loads=CachePolicy(l2="evict_first"), stores=CachePolicy(l2="evict_last"))
    kind = plain.tensor("src").dtype.numpy()
    shape = plain.bind(**sizes).tensor("src").layout.shape
    src = np.arange(np.prod(shape)).reshape(shape).astype(kind)
    found = [execute(k.bind(**sizes), {"src": src}, "lazy")["dst"].tobytes() for k in (plain, hinted)]

    assert plain.digest != hinted.digest == again.digest
    assert "with L2::evict_first" in hinted.text()
    assert found[0] == found[1]
    assert hinted.edited(lambda op: [Copy(**{**vars_of(op), "cache": None})] if isinstance(op, Copy) else [op]) == plain


def vars_of(op):
    return dict(op.operands())


# -- prefetches ---------------------------------------------------------------------------------------------------


def prefetching(*, at=0, cache="", nbytes=None, box=None, dtype="f32", n=256):
    """A warp that prefetches, and does nothing else."""
    k = Builder("ahead", grid=(1,), threads=32)
    src = k.global_tensor("src", dtype, Layout((64, n // 64), (1, 64)))
    through = k.tensor_map("src_map", src(), TensorMap.over(Layout((64, n // 64), (1, 64)), dtype, (32, 2)))
    with k.elect():
        k.prefetch_l2(src(at) if box is None else through(*box), nbytes, cache)
    return k.kernel()


@pytest.mark.parametrize(
    "options, line",
    [
        ({"at": 8}, "prefetch.L2 src[8]"),
        ({"at": 8, "cache": "L2::evict_last"}, "prefetch.L2 src[8] with L2::evict_last"),
        ({"nbytes": 64, "cache": "L2::evict_first"}, "prefetch.L2 src 64 B with L2::evict_first"),
        ({"box": (32, 2)}, "prefetch.L2 src_map(32,2)"),
        ({"box": (-4, 100)}, "prefetch.L2 src_map(-4,100)"),
    ],
)
def test_a_legal_prefetch_changes_nothing(options, line):
    kernel = prefetching(**options)
    before = np.arange(256, dtype=np.float32).reshape(4, 64).T

    assert line in [text.strip() for text in kernel.text().splitlines()]
    assert np.array_equal(execute(kernel.bind(), {"src": before})["src"], before)
    assert kernel.written == ()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"at": 256}, "is out of bounds: expected bytes of 0 .. 1023 of src, got 1024"),
        ({"at": 252, "nbytes": 32}, "is out of bounds"),
        ({"at": 1, "nbytes": 32}, "is misaligned: expected an address of src that is a multiple of 16 bytes, got 4"),
        ({"nbytes": 24}, "expected a multiple of 16 bytes from 0 on, got 24"),
        ({"box": (1, 0)}, "illegal instruction"),
    ],
)
def test_an_illegal_prefetch_is_a_fault(options, message):
    with pytest.raises(ExecutionError, match=message):
        execute(prefetching(**options).bind(), {"src": np.zeros((64, 4), np.float32)})


def test_a_prefetch_touches_nothing_that_needs_an_order():
    for op in (PrefetchL2(Ref("src")), PrefetchL2(Ref("src"), 64), PrefetchL2(Box("src_map", (0, 0)))):
        assert (op.touches(), op.sources, op.targets, op.row) == ((), (), (), None)


@pytest.mark.parametrize("other", ["itself", "alias"])
def test_a_run_faults_where_the_non_coherent_cache_may_hold_an_older_value(other):
    k = Builder("stale", dim("N"), grid=(1,), threads=32)
    src = k.global_tensor("src", "f32", Layout(32))
    dst = src if other == "itself" else k.global_tensor("dst", "f32", Layout(32), may_alias="src")
    x = k.registers("x", "f32", 1)
    k.copy("ld.global.4", src(k.thread), x(), cache="nc")
    k.copy("st.global.4", x(), dst(k.thread))

    with pytest.raises(ExecutionError, match=r"expected a tensor that the kernel does not write for ld\.global\.nc"):
        execute(k.kernel().bind(N=1), {"src": np.zeros(32, np.float32)})

"""Loads through the cache that is not coherent: whatever writes the tensor meanwhile, by any path, they are not proved."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from checkers import prove
from symlayout import Layout, dims
from symlayout.answers.report import Outcome
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.specification import element
from symlayout.tma import TensorMap

(N,) = dims("N", multiple_of=128, at_most=1 << 20)


def loaded(write: Callable[..., None], **stated: str) -> Kernel:
    """dst = src by ``ld.global.nc``, and something else that is written."""
    k = Builder("loaded", N, grid=(N // 128,), threads=32)
    src = k.global_tensor("src", "f32", Layout(N))
    dst, x = k.global_tensor("dst", "f32", Layout(N), **stated), k.registers("x", "f32", 4)
    at = 128 * k.block[0] + 4 * k.thread
    k.copy("ld.global.16", src(at), x(), cache="nc")
    write(k, src, x, at)
    k.copy("st.global.16", x(), dst(at))
    k.result("dst", lambda i: element("src", i))
    return k.kernel()


def by_bulk(atom: str) -> Callable[..., None]:
    """The vectors of all threads, from shared memory to where they were read."""

    def write(k: Builder, src: Callable, x: Callable, at: object) -> None:
        tile = k.shared_tensor("tile", "f32", Layout(128))
        through = k.tensor_map("through", src(), TensorMap.over(Layout(N), "f32", (128,)))
        k.copy("st.shared.16", x(), tile(4 * k.thread))
        k.fence("async")
        k.sync()
        first = 128 * k.block[0]
        with k.elect():
            if atom == "bulk.store":
                k.copy(atom, tile(), src(first), nbytes=512)
            else:
                k.copy(atom, tile(), through(first))
            k.commit("bulk")
            k.wait_group("bulk", 0)

    return write


WRITES = {
    "a store": lambda k, src, x, at: k.copy("st.global.16", x(), src(at)),
    "a reduction": lambda k, src, x, at: k.copy("red.global.add.v4.f32", x(), src(at)),
    **{atom: by_bulk(atom) for atom in ("bulk.store", "tma.store", "tma.reduce.add")},
}


def kinds(kernel: Kernel, outcome: Outcome) -> set[str]:
    return {v.claim.kind for v in prove(kernel).verdicts if v.outcome is outcome}


def test_of_a_tensor_that_nothing_writes_they_are_proved():
    assert prove(loaded(lambda *_: None))


@pytest.mark.parametrize("write", WRITES)
def test_of_a_tensor_that_is_written_they_are_not(write):
    found = prove(loaded(WRITES[write])).verdicts
    [formed] = [v for v in found if v.claim.kind == "well formed"]
    assert formed.outcome is not Outcome.PROVED
    assert "ld.global.nc may read an older value" in str(formed)
    assert [v.outcome for v in found if v.claim.kind == "computes"] == [Outcome.REFUTED]


def test_of_a_tensor_at_the_address_of_one_that_is_written_they_are_not():
    assert "well formed" not in kinds(loaded(lambda *_: None, may_alias="src"), Outcome.PROVED)

"""The scopes of arrivals and waits: what lanes read of bytes that peers fill is released at that of the cluster."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checkers import HappensBefore, prove
from symlayout.errors import LayoutError
from symlayout.kernel import Kernel
from symlayout.kernels import gemm
from symlayout.ops import Arrive, Op, Slot, Wait
from tests.support.cluster_kernels import everyone

LANES = everyone(4, clusters=1)
WGMMA = gemm(128, 128, 128, tile=(64, 64), stages=2, cluster=2, blocks=2)


def at(kernel: Kernel, scope: str, *kinds: type[Op]) -> Kernel:
    """The kernel with operations of some kinds at a scope."""
    return kernel.edited(lambda op: (replace(op, scope=scope),) if isinstance(op, kinds) else (op,))  # type: ignore[call-arg]


def verdict(kernel: Kernel) -> str:
    (v,) = prove(HappensBefore(kernel)).verdicts
    return f"{v.outcome.value}: {v.witness or v.open}"


def test_reads_by_lanes_ask_for_cluster_scope() -> None:
    assert verdict(LANES).startswith("proved")
    assert "expected cluster scope of arrive empty" in verdict(at(LANES, "cta", Arrive))
    assert "expected cluster scope of wait empty" in verdict(at(LANES, "cta", Wait))
    assert 'state scope="cluster" (peer_scope)' in verdict(at(LANES, "cta", Arrive, Wait))


def test_reads_by_wgmma_do_not() -> None:
    assert all(op.scope == "cta" for op in WGMMA.walk() if isinstance(op, Arrive | Wait))
    assert verdict(WGMMA).startswith("proved")
    assert verdict(at(WGMMA, "cluster", Arrive, Wait)).startswith("proved")


@pytest.mark.parametrize("make", [lambda: Arrive(Slot("full"), None, "sys"), lambda: Wait(Slot("full"), 0, "gpu")])
def test_other_scopes_are_refused(make) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(LayoutError, match="expected a scope of cta, cluster, got"):
        make()

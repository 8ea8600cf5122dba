"""cp.async.mbarrier.arrive in generated code: with and without an arrival more that the phase awaits."""

from __future__ import annotations

from gpu.codegen import emit
from tests.support.cp_async_rings import cp_async_ring


def test_both_forms_are_printed() -> None:
    plain, more = (emit(cp_async_ring(noinc=n, tells="both")).text for n in (True, False))

    assert "cp_async_mbarrier_arrive_noinc(full + " in plain
    assert "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0]" in plain
    assert "cp_async_mbarrier_arrive(full + " in more

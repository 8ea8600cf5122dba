"""Forms of arrivals and waits in generated code: with copies by cp.async, with noComplete, with a time limit."""

from __future__ import annotations

import re

from gpu.codegen import emit
from symlayout.ops import Inval, Role
from tests.support.counted import counted
from tests.support.cp_async_rings import cp_async_ring


def test_both_forms_are_printed() -> None:
    plain, more = (emit(cp_async_ring(noinc=n, tells="both")).text for n in (True, False))

    assert "cp_async_mbarrier_arrive_noinc(full + " in plain
    assert "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0]" in plain
    assert "cp_async_mbarrier_arrive(full + " in more


def test_mbarriers_that_are_invalidated_are_printed() -> None:
    start = (Inval("full"),)
    text = emit(counted().edited(lambda op: start if isinstance(op, Role) and op.name == "consumer" else (op,))).text

    assert "for (int i = 0; i < 2; ++i) mbarrier_inval(full + i);" in text
    assert "mbarrier.inval.shared::cta.b64 [%0]" in text


def test_no_complete_and_a_time_limit_are_printed() -> None:
    text = emit(counted(1, early=31, suspend_ns=500)).text

    assert re.search(r"mbarrier_arrive_no_complete\(empty \+ .*, 31\);", text)
    assert re.search(r"mbarrier_wait_by_tries\(empty \+ .*, 500u\);", text)
    assert "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2, %3;" in text

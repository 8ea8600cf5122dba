"""Which fences, waits and barriers a kernel could do without."""

from __future__ import annotations

from checkers import prove
from symlayout.ops import Barrier, Fence, WarpBarrier
from tests.support.idioms import block_sum
from tests.support.protocols import elected_wait, hello


def test_a_kernel_that_needs_all_has_none() -> None:
    assert prove(hello()).redundant == ()


def test_what_nothing_needs_is_listed() -> None:
    twice = block_sum().edited(lambda op: [op, Fence("async")] if isinstance(op, Barrier) else [op])
    assert prove(twice).redundant == ("fence async",)


def test_either_of_two_meetings_will_do() -> None:
    twice = elected_wait().edited(lambda op: [op, op] if isinstance(op, WarpBarrier) else [op])
    assert prove(twice).redundant.count("warp barrier of consumer") >= 2


def test_what_is_not_proved_has_none() -> None:
    assert prove(hello(fence=False)).redundant == ()

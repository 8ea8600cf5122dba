"""Threads that arrive at a named barrier and go on are printed so."""

from __future__ import annotations

from gpu.codegen import emit
from tests.support.protocols import ping_pong


def test_an_arrival_is_printed() -> None:
    text = emit(ping_pong()).text

    assert "barrier_arrive(2, 128);" in text
    assert 'asm volatile("barrier.arrive %0, %1;"' in text

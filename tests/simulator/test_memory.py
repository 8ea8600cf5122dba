"""L2 and DRAM: what waits for what, and what L2 holds."""

from __future__ import annotations

import pytest

from simulator import H200
from simulator.dram import Dram
from simulator.engine import NS, Engine

WRITTEN = 1 << 22  # bytes in 4 us: DRAM is busy with them for a quarter of the time


@pytest.mark.parametrize("piece", [4096, 65536])
def test_writes_make_reads_wait_however_small_they_are(piece):
    engine = Engine()
    dram = Dram(engine, H200)
    for k in range(WRITTEN // piece):
        engine.at(k * piece * 4000 * NS // WRITTEN, lambda: dram.write(piece))
    engine.run()
    whole = H200.exact("dram_write_wait")
    part = WRITTEN * H200.exact("dram_write_rate") / (4000 * NS)
    assert dram.waits(1000) == pytest.approx(min(1, part) * whole, rel=0.1)  # as steps leave it

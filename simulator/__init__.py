"""What a kernel does and how long it takes, predicted without a GPU.

>>> import simulator
>>> from symlayout.kernels import tma_copy
>>> trace = simulator.simulate(tma_copy(1024, 1024, slots=4, blocks=132).bind(), machine=simulator.H200)
>>> trace.limiting
'latency of memory'
"""

from __future__ import annotations

from .engine import SimulationError
from .machine import GRADES, H200, Machine, load, machine, machines
from .simulate import simulate
from .trace import Trace, expect_writable, stopped

__all__ = [
    "GRADES",
    "H200",
    "Machine",
    "SimulationError",
    "Trace",
    "expect_writable",
    "load",
    "machine",
    "machines",
    "simulate",
    "stopped",
]

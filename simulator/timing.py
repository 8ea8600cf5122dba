"""How long each step of a part keeps its units busy on a machine, for all steps of the part at once.

>>> from symlayout.kernels import bulk_copy
>>> from .program import Programs
>>> walk = Programs(bulk_copy(4096, chunk=1024, slots=2, blocks=2).bind()).walk([(0,)])
>>> load = next(p for p in walk.parts[0] if p.row.unit is Unit.TMA_LOAD)
>>> [x.tolist() for x in Times(H200).of(load)[2:5]]  # front end, shared memory, port: picoseconds
[[9352, 9352], [16135, 16135], [19584, 19584]]
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from symlayout.atoms import MmaAtom
from symlayout.ops import Reduce

from .machine import H200, Machine
from .points import Array
from .steps import Part
from .timing_classes import Unit

WAVEFRONT_BYTES = 128
WARPGROUP = 4  # warps
STORES = (Unit.STORE, Unit.TMA_STORE)
LOOPED, BRANCHED = 3, 2  # instructions of a jump back (a sum and a condition with it), and of a branch and what joins

__all__ = ["H200", "NAMES", "Times"]

NAMES = ("slot_ps", "issue_ps", "unit_ps", "shared_ps", "port_ps", "power_ps")  # of a step


class Times:
    """The durations of steps on a machine, in whole picoseconds."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.schedulers = machine.count("schedulers")
        self.slot = machine.cycle / self.schedulers
        self.wavefront, self.line, self.row = (
            machine.exact(x) for x in ("wavefront_interval", "line_interval", "tma_row")
        )
        self.port, self.stores = machine.exact("sm_port_rate"), machine.exact("sm_write_rate")
        self.trip = machine.exact("loop_trip")
        self.addresses = [machine.exact(f"{what}_address") for what in ("bulk", "tensor", "matrix")]
        self.divide = [machine.exact(x) for x in ("divide_32", "divide_64", "divide_fixed")]
        self.simple, self.constant = machine.exact("index_interval"), machine.exact("constant_read")
        self.branch, self.chained = machine.exact("branch"), machine.exact("alu_latency")
        self.exchange = machine.exact("shuffle_latency")
        self.beside = machine.exact("wgmma_issue_beside")
        self.product = machine.power("wgmma_energy")

    def of(self, part: Part) -> list[Array]:
        """For each step, ``NAMES``: issue slots, warps, the unit, shared memory, the port, power."""
        x, row, n = part.kinds, part.row, len(part.steps)
        warps, count = x["warps"], x["count"]
        if row.unit is Unit.LOOP:
            made = (x["served"], x["number"], x["lanes"])
            trip = (self.branch if part.early else self.trip) * count
            trip = trip + sum(each * n for each, n in zip(self.divide, made, strict=True))
            simple, constants, branches = x["shared_bytes"], x["constants"], x["branches"]
            trip = trip + self.simple * simple + self.constant * constants + self.chained * x["apart"]
            trip = trip + self.branch * branches
            issued = simple + LOOPED * count + BRANCHED * branches
            return _whole((self.slot * warps * issued, trip, 0, 0, 0, 0), n)  # warps wait side by side
        if isinstance(part.op, Reduce):
            sums, steps = part.op.count - 1, part.op.lanes.bit_length() - 1
            chain = self.chained * sums + (self.exchange + self.chained) * steps
            return _whole((self.slot * warps * (sums + 2 * steps), chain, 0, 0, 0, 0), n)
        issue = self.machine.exact(row.issue) if row.issue and row.unit is not Unit.WAIT else 0  # a wait's comes last
        if part.behind:
            issue += self.addresses[2 if row.unit is Unit.WGMMA else getattr(part.op, "box", None) is not None]
        occupancy = self.machine.exact(row.occupancy) if row.occupancy else 0
        side = np.rint(issue) * -(-warps // self.schedulers)
        if row.unit is Unit.WGMMA:  # a warpgroup has a warp on each scheduler
            side = np.rint(issue + self.beside * (np.maximum(1, warps // WARPGROUP) - 1))
        found = (
            self.slot * warps * count,
            side * count,
            self._unit(row.unit, x, occupancy),
            self.wavefront * -(-x["shared_bytes"] // WAVEFRONT_BYTES),
            self._port(row.unit, x),
            self.product * self._flops(part) if row.unit is Unit.WGMMA else 0,
        )
        return _whole(found, n)

    def _flops(self, part: Part) -> Any:
        """The multiplications and additions of a product, of all warpgroups."""
        atom = part.op.row
        assert isinstance(atom, MmaAtom)
        return 2 * math.prod(atom.mnk) * np.maximum(1, part.kinds["warps"] // WARPGROUP)

    def _port(self, unit: Unit, x: dict[str, Any]) -> Any:
        """A box comes as a whole, outside of its tensor as zeros (M12); what it stores there is dropped (M32)."""
        if unit is Unit.TMA_LOAD:
            return self.port * np.maximum(x["bytes"], x["shared_bytes"])
        if unit is Unit.TMA_STORE:
            outside = np.maximum(x["shared_bytes"] - x["bytes"], 0)
            return self.stores * x["bytes"] + self.wavefront * -(-outside // WAVEFRONT_BYTES)
        return (self.stores if unit in STORES else self.port) * x["bytes"]

    def _unit(self, unit: Unit, x: dict[str, Any], occupancy: float) -> Any:
        warps, served = x["warps"], x["served"]
        if unit is Unit.SHARED:
            return np.maximum(served * occupancy, self.wavefront * served)
        if unit is Unit.MATRIX:
            return np.maximum(warps * occupancy, self.wavefront * served)
        if unit in (Unit.LOAD, Unit.STORE, Unit.CP_ASYNC):
            return np.maximum(warps * occupancy, self.line * served)
        if unit in (Unit.TMA_LOAD, Unit.TMA_STORE):
            return np.maximum(x["lanes"] * occupancy, self.row * served)
        if unit is Unit.SPECIAL:
            return warps * x["count"] * occupancy / self.schedulers
        if unit is Unit.MMA:
            return warps * occupancy / self.schedulers
        if unit is Unit.WGMMA:
            return occupancy * served * np.maximum(1, warps // WARPGROUP)
        return warps * occupancy


def _whole(times: tuple[Any, ...], rows: int) -> list[Array]:
    """Times as whole picoseconds, one for each step."""
    return [
        np.rint(t).astype(np.int64) if isinstance(t, np.ndarray) else np.full(rows, round(t), np.int64) for t in times
    ]

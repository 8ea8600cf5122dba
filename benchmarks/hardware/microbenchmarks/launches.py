"""M18, M24, M39: launches one after another in a stream, behind a kernel that holds the device until they are sent."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from .lab import Lab, Row
from .points_inside import CODE

MANY = 500  # as many as ``gpu.measure`` times together: the first of a batch takes some microseconds more
GAPS = 3  # times that a sweep of many points measures each of them; a fit takes the median
HELD_NS, MOST_HELD_NS = 6_000_000, 100_000_000  # that the device is held at first, and at most
HOLD_BEGINS = 500_000  # nanoseconds, at most, until it is held: the rest is left for the host


def gaps(lab: Lab, repeats: int) -> list[Row]:
    """Nanoseconds of a launch among MANY, by its grid, threads and shared memory."""
    return list(_rows(lab, repeats))


def _rows(lab: Lab, repeats: int) -> Iterator[Row]:
    for grid in (1, lab.sms, 8 * lab.sms, 32 * lab.sms, 128 * lab.sms, 512 * lab.sms):
        for block, shared in ((32, 0), (128, 0), (384, 0), (384, 200 << 10)):
            empty = lab.modules["memory"].prepare("nothing", grid, block, [lab.out], shared=shared)
            ns = [nanoseconds(lab, empty) for _ in range(repeats // 2 + 1)]
            yield {"id": "M18", "kernel": "nothing", "grid": grid, "block": block, "shared": shared, "ns": ns}
    for cluster in (1, 2, 4):
        args = "nothing", lab.sms // 4 * 4, 384, [lab.out]
        empty = lab.modules["memory"].prepare(*args, shared=200 << 10, **({"cluster": cluster} if cluster > 1 else {}))
        ns = [nanoseconds(lab, empty) for _ in range(repeats // 2 + 1)]
        row = {"id": "M18", "kernel": "nothing in clusters", "grid": args[1], "block": 384, "shared": 200 << 10}
        yield {**row, "cluster": cluster, "ns": ns}
    for grid in (1, lab.sms, 8 * lab.sms):
        stay = lab.modules["memory"].prepare("stay", grid, 32, [lab.out, np.uint64(2000)])
        ns = [nanoseconds(lab, stay) for _ in range(repeats // 2 + 1)]
        yield {"id": "M18", "kernel": "stay", "grid": grid, "block": 32, "shared": 0, "stay_ns": 2000, "ns": ns}


def nanoseconds(lab: Lab, prepared: Any, many: int = MANY) -> int:
    """Of a launch among *many*, for which the device is held until all are sent: longer where the host needs that."""
    driver, held = lab.device.driver, HELD_NS
    while True:
        lab.modules["measuring"].prepare("hold", 1, 1, [np.uint64(held)]).send()
        since = time.perf_counter_ns()
        first = driver.stamp()
        for _ in range(many):
            prepared.send()
        last = driver.stamp()
        host = time.perf_counter_ns() - since
        lab.device.synchronize()
        if host < held - HOLD_BEGINS or held >= MOST_HELD_NS:
            return round(driver.seconds_between(first, last) * 1e9 / many)
        held = min(MOST_HELD_NS, 2 * max(host, held))


def gaps_of_code(lab: Lab, repeats: int) -> list[Row]:
    """M24: nanoseconds of a launch among MANY, by the code that a warp of it executes twice."""
    out = []
    for instructions, grid in itertools.product(CODE, (1, lab.sms)):
        kernel = lab.modules["code"].prepare(f"code_{instructions}", grid, 32, [lab.out, np.float32(1)])
        ns = [nanoseconds(lab, kernel) for _ in range(repeats // 2 + 1)]
        out.append({"id": "M24", "kernel": "gap", "instructions": instructions, "grid": grid, "block": 32, "ns": ns})
    return out


LITTLE = ("parameters_1", "parameters_8", "parameters_32", "constant_first", "load_first", "store_last")


def gaps_of_little(lab: Lab, repeats: int) -> list[Row]:
    """M39: nanoseconds of a launch among MANY that reads parameters or a constant, loads or stores."""
    out = []
    for kernel, (per_sm, block) in itertools.product(("nothing", *LITTLE), ((0, 32), (1, 32), (1, 512), (4, 512))):
        grid = per_sm * lab.sms or 1
        file, args = ("memory", [lab.out]) if kernel == "nothing" else ("prologue", [lab.out, bytes(256)])
        prepared = lab.modules[file].prepare(kernel, grid, block, args)
        ns = [nanoseconds(lab, prepared) for _ in range(repeats // 2 + 1)]
        out.append({"id": "M39", "kernel": kernel, "grid": grid, "per_sm": per_sm, "block": block, "ns": ns})
    return out

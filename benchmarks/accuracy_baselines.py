"""Two simple predictions, that a simulator has to beat: the roofline, and the nearest calibration point.

The roofline of a kernel is the largest of its bytes at the rate of DRAM (of L2, where all data lie there) and its
floating-point operations at the rate of the tensor cores, with the launch. The nearest calibration point is the
microbenchmark whose knobs are the closest: its bytes or operations in a nanosecond are taken for the kernel's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpu.measuring import least_moved, products
from simulator import Machine
from symlayout.kernel import Kernel

Row = Mapping[str, Any]
TENSOR_FLOP = 4096  # a cycle and SM, dense, 16 bits (Hopper white paper)


def roofline(bound: Kernel, machine: Machine, warm: bool) -> float:
    """Seconds of a launch at the peaks of the machine."""
    rate = machine["l2_rate" if warm else "dram_rate"].value * 1e9
    flop = TENSOR_FLOP * machine["sms"].value * machine["sm_clock"].value * 1e9
    work = max(least_moved(bound) / rate, products(bound) / flop)
    return work + machine["launch"].value * 1e-9


def nearest(row: Row, rows: Sequence[Row], launch_s: float, moved: int, flops: int) -> float | None:
    """Seconds of a launch at the rate of the calibration point whose knobs are nearest in logarithms."""
    wanted = KNOBS[row["family"]](row)
    best = min((r for r in rows if _comparable(r, wanted)), key=lambda r: _distance(r, wanted), default=None)
    if best is None:
        return None
    work, done = (flops, _flop(best)) if flops else (moved, _bytes(best))
    ns = sorted(best["ns"])[len(best["ns"]) // 2]
    return work / (done / ns) * 1e-9 + launch_s


def _comparable(row: Row, wanted: Row) -> bool:
    same = {k: v for k, v in wanted.items() if not isinstance(v, float)}
    return all(row.get(k) == v for k, v in same.items()) and all(k in row for k in wanted) and "ns" in row


def _distance(row: Row, wanted: Row) -> float:
    return sum((math.log2(row[k]) - math.log2(v)) ** 2 for k, v in wanted.items() if isinstance(v, float))


def _bytes(row: Row) -> float:
    if row["kernel"] == "stream":
        return row["bytes"] * (2 if row["mode"] == 3 else 1)
    return row["bytes"] * row["trips"] * row["grid"] * (2 if row["mode"] & 2 and row["mode"] & 1 else 1)


def _flop(row: Row) -> float:
    return 2.0 * 64 * 16 * row["n"] * row["depth"] * row["count"] * row["warpgroups"] * row["grid"]


def _place(row: Row) -> dict[str, Any]:
    """Footprints are nearest on the same side of L2."""
    return {"footprint": float(16 << 20 if row["cache"] == "warm" else 4 << 30)}


def _blocks(row: Row) -> dict[str, Any]:
    blocks = row["options"]["blocks"]
    return {"sms": float(min(132, blocks)), "per_sm": float(max(1, blocks // 132))}


def _bulk(row: Row) -> dict[str, Any]:
    o = row["options"]
    return {
        "kernel": "ring",
        "mode": 3,
        "bytes": 4.0 * o["chunk"],
        "slots": float(o["slots"]),
        **_blocks(row),
        **_place(row),
    }


def _cp_async(row: Row) -> dict[str, Any]:
    o = row["options"]
    return {
        "kernel": "ring",
        "mode": 3,
        "bytes": 16.0 * o["threads"],
        "slots": float(o["stages"]),
        **_blocks(row),
        **_place(row),
    }


def _box(row: Row, mode: int) -> dict[str, Any]:
    o = row["options"]
    width = 4 if o["dtype"] == "f32" else 2
    rows, columns = o["tile"]
    return {"kernel": "boxes", "mode": mode, "row_bytes": float(width * columns), "rows": float(rows),
            "slots": float(o.get("slots", o.get("stages"))), **_blocks(row)}  # fmt: skip


KNOBS: dict[str, Callable[[Row], dict[str, Any]]] = {
    "vector_copy": lambda r: {"kernel": "stream", "mode": 3, "block": float(r["options"]["threads"]), **_place(r)},
    "row_sum": lambda r: {"kernel": "stream", "mode": 1, "block": 32.0 * r["options"]["warps"], **_place(r)},
    "cp_async_copy": _cp_async,
    "bulk_copy": _bulk,
    "tma_copy": lambda r: _box(r, 3),
    "tma_transpose": lambda r: _box(r, 7),
    "gemm": lambda r: {
        "long": 1,
        "n": float(r["options"]["tile"][1]),
        "warpgroups": float(r["options"]["tile"][0] // 64),
    },
}

"""A device with the code and the data of the microbenchmarks: launches a point, and makes a row of its stamps.

Protocol: one launch that is not counted, then some repeats. The cycles of a repeat are the median over the CTAs, its
nanoseconds last from the first begin to the last end; a quarter of the CTAs, and half of them, have ended before.
Repeats whose ratio of cycles to nanoseconds is off the median by more than 1 % are dropped where they last long enough
to tell. Data look random; sums of what came are checked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import gpu
from gpu.conditions import conditions
from gpu.measuring import SWEEP

from . import products, steps

HERE = Path(__file__).parent
FILES = (
    *("ring", "boxes", "memory", "core", "banks", "threads", "flows"),
    *("code", "prologue", "tiles", "ways", "bursts", "neighbours", "products", "steps"),
)
MADE = {"products": products.source, "steps": steps.source}
KIB, GIB = 1 << 10, 1 << 30
u32, u64, f32 = np.uint32, np.uint64, np.float32
REPEATS = 21
STAMP = np.dtype([(name, "<u8") for name in ("clock0", "clock1", "ns0", "ns1", "sm", "sum", "a", "b")])
TELLS_NS = 50_000  # from which on the ratio of cycles to nanoseconds says something
MOST_CTAS = 1 << 17
PARTS = {"quarter": 0.25, "half": 0.5}  # rows say when these parts of the CTAs had ended: late ones were served less
WORD = 2654435761  # words of the source are their number times this

Row: TypeAlias = dict[str, Any]
Points: TypeAlias = "Iterator[Point]"


@dataclass(frozen=True)
class Point:
    """One launch configuration of a kernel; *args* says its arguments after the stamps, for each repeat.

    *facts* are what a fit wants to know, *before* is done ahead of each repeat, *checked* says what the sums of the
    CTAs are to be.
    """

    id: str
    file: str
    kernel: str
    grid: int
    block: int
    args: Callable[[Lab, int], list[Any]]
    facts: Mapping[str, Any] = field(default_factory=dict)
    shared: int = 0
    cluster: int = 0
    before: Callable[[Lab, int], None] | None = None
    checked: Callable[[int], Any] | None = None
    maps_first: bool = False  # the arguments before the stamps are two tensor maps
    one_stamp: bool = False


def text(file: str) -> str:
    """The source of a file."""
    return MADE[file]() if file in MADE else (HERE / f"{file}.cu").read_text()


def compiled() -> dict[str, gpu.Cubin]:
    """All files as cubins, several at once."""
    headers = {"ptx.cuh": (HERE / "ptx.cuh").read_text()}
    with ThreadPoolExecutor(len(FILES)) as pool:
        made = pool.map(lambda f: gpu.compile(text(f), name=f"{f}.cu", headers=headers, limit_s=120.0), FILES)
        return dict(zip(FILES, made, strict=True))


def hashes() -> dict[str, str]:
    """The start of the hash of each source, header included."""
    head = (HERE / "ptx.cuh").read_text()
    return {f: hashlib.sha256((head + text(f)).encode()).hexdigest()[:16] for f in FILES}


class Lab:
    """A device, its source of random words and its target, both of *size* bytes."""

    def __init__(self, device: gpu.Device, size: int = 4 * GIB) -> None:
        self.device, self.size = device, size
        cubins = compiled()
        self.compiler = cubins["ring"].compiler
        self.modules = {f: gpu.load(cubin, device) for f, cubin in cubins.items()}
        self.src, self.dst = device.allocate(size), device.allocate(size)
        self.out = device.allocate(MOST_CTAS * STAMP.itemsize)
        self.swept, self.none = device.allocate(256 << 20), device.allocate(4)
        self.kept: dict[str, Any] = {}
        self.swept.fill(0)
        self.modules["measuring"] = gpu.load(gpu.compile(SWEEP, name="sweep.cu"), device)
        self.reset()

    @property
    def sms(self) -> int:
        return int(self.device.facts.multiprocessors)

    def reset(self) -> None:
        """Random words into the source again."""
        self.modules["memory"].launch("words", self.sms * 8, 1024, [self.src, np.uint64(self.size // 4)]).wait()

    def sweep(self, *_: Any) -> None:
        """Fill L2 with lines that nobody wants."""
        count = np.uint64(self.swept.nbytes // 16)
        self.modules["measuring"].launch("sweep", self.sms * 2, 1024, [self.swept, count, self.none])

    def touch(self, nbytes: int) -> None:
        """Read the first bytes of the source, so that L2 has them."""
        args = [self.out, self.src, self.dst, np.uint64(0), *[np.uint64(nbytes // 16)] * 2, np.uint32(1)]
        self.modules["memory"].launch("stream", self.sms, 1024, args).wait()

    def stamps(self, point: Point, repeat: int) -> np.ndarray[Any, Any]:
        """The stamps of one launch."""
        if point.before:
            point.before(self, repeat)
        args = point.args(self, repeat)
        args = [*args[:2], self.out, *args[2:]] if point.maps_first else [self.out, *args]
        cluster = {"cluster": point.cluster} if point.cluster else {}
        module = self.modules[point.file]
        module.launch(point.kernel, point.grid, point.block, args, shared=point.shared, **cluster).wait(30.0)
        count = 1 if point.one_stamp else point.grid
        return self.out.download("u8", (count * STAMP.itemsize,)).view(STAMP)

    def row(self, point: Point, repeats: int = REPEATS) -> Row:
        """The row of a point; *wrong* where the sums of what came are other than they have to be."""
        self.stamps(point, 0)
        found = [reduced(self.stamps(point, 1 + i)) for i in range(repeats)]
        right = point.checked is None or np.array_equal(self.stamps(point, 0)["sum"], point.checked(0))
        kept = _steady(found)
        row: Row = {"id": point.id, "kernel": point.kernel, "grid": point.grid, "block": point.block}
        row |= {"shared": point.shared, **point.facts, "dropped": len(found) - len(kept)}
        row |= {} if right else {"wrong": "sums of what came"}
        for key in ("cycles", "most", "ns", "quarter", "half", "a", "b"):
            values = [f[key] for f in kept]
            if any(values):
                row[key] = values
        row["ghz"] = round(float(np.median([f["ghz"] for f in kept])), 4)
        return row

    def conditions(self) -> str:
        return str(conditions(self.device))


def reduced(stamps: np.ndarray[Any, Any]) -> dict[str, Any]:
    """The numbers of a repeat."""
    cycles = (stamps["clock1"] - stamps["clock0"]).astype(np.int64)
    each = (stamps["ns1"] - stamps["ns0"]).astype(np.int64)
    ended = (stamps["ns1"] - stamps["ns0"].min()).astype(np.int64)
    return {
        "cycles": int(np.median(cycles)),
        "most": int(cycles.max()),
        "ns": int(ended.max()),
        **{name: int(np.quantile(ended, part)) for name, part in PARTS.items()},
        "a": int(np.median(stamps["a"])),
        "b": int(np.median(stamps["b"])),
        "ghz": float(np.median(cycles / np.maximum(each, 1))),
    }


def _steady(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without repeats whose clock was off by more than 1 %."""
    middle = float(np.median([f["ghz"] for f in found]))
    return [f for f in found if f["ns"] < TELLS_NS or abs(f["ghz"] / middle - 1) <= 0.01]

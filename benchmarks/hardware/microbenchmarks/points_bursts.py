"""The sweep of short launches: a few tiles of each SM, which all SMs load at once and store at once.

>>> len(list(bursts(132)))
520
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .lab import KIB, Lab, Row, u32
from .launches import GAPS, nanoseconds

MOST = 6  # tiles of a CTA that are told
TOLD = np.dtype([(x, "<u8") for x in ("ns0", "ns1", "clock0", "clock1", "sm", "tiles")] + [
    ("come", "<u8", (MOST,)), ("read", "<u8", (MOST,))
])  # fmt: skip
ROW, TILES_X = 64, 24  # words of a row of a box; tiles along a row of the tensor
RESERVED = 1 << 10  # bytes of shared memory of each CTA
SHARED = 227 * KIB


@dataclass(frozen=True)
class Burst:
    """A launch: so many tiles of so many bytes, by CTAs with a ring each; of the rows of boxes some are *inside*.

    Where not all are, boxes lie side by side in a tensor that is so high.
    """

    how: str
    mode: int
    bytes: int
    slots: int
    per_sm: int
    grid: int
    tiles: int
    inside: int

    @property
    def rows(self) -> int:
        return self.bytes // (4 * ROW)

    @property
    def shared(self) -> int:
        return self.slots * (self.bytes + 16) + KIB


def bursts(sms: int) -> Iterator[Burst]:
    """Copies, loads and stores of tiles by size, of a quarter of the SMs to three tiles each; then partial boxes."""
    counts = (sms // 4, sms, sms * 5 // 4, 2 * sms, 3 * sms)
    for how, mode, size, (slots, per_sm), tiles in itertools.product(
        ("bulk", "mapped"), (1, 2, 3), (4, 8, 16, 32), ((1, 1), (2, 1), (1, 2), (1, 4)), counts
    ):
        burst = Burst(how, mode, size * KIB, slots, per_sm, per_sm * sms, tiles, 4 * size)
        if per_sm * (burst.shared + RESERVED) <= SHARED:
            yield burst
    for size, per_sm, tiles in itertools.product((8, 32), (1, 4), (sms, sms * 5 // 4)):
        rows = 4 * size
        for inside in (rows, rows - 1, rows // 2 + 1, rows // 4, 1):
            yield Burst("mapped", 3, size * KIB, 1, per_sm, per_sm * sms, tiles, inside)


def rows_of_bursts(lab: Lab, burst: Burst, repeats: int) -> Row:
    """The row of a launch: nanoseconds of it among many, and of one what its CTAs tell."""
    beside = {"id": "M43", "kernel": "burst", **asdict(burst)}
    args = _args(lab, burst)
    module, name = lab.modules["bursts"], f"{burst.how}_burst"
    gap = module.prepare(name, burst.grid, 64, args, shared=burst.shared)
    row: Row = {**beside, "ns": [nanoseconds(lab, gap) for _ in range(GAPS)]}
    told = []
    for _ in range(repeats // 2 + 1):
        module.launch(f"{name}_stamped", burst.grid, 64, args, shared=burst.shared).wait(30.0)
        told.append(_reduced(lab.out.download("u8", (burst.grid * TOLD.itemsize,)).view(TOLD)))
    for key in told[0]:
        row[key] = [t[key] for t in told]
    row["tiles_of_sms"] = told[-1]["tiles_of_sms"]
    for key in ("come", "read"):  # the median over the repeats of least, median and most
        row[key] = np.median([t[key] for t in told], axis=0).round().astype(int).tolist()
    return row


def _args(lab: Lab, burst: Burst) -> list[Any]:
    from gpu import Mapped
    from symlayout import Layout, TensorMap

    partial = burst.inside < burst.rows
    tiles_x = burst.tiles if partial else TILES_X
    high = burst.inside if partial else burst.rows * -(-burst.tiles // TILES_X)
    numbers = [u32(x) for x in (burst.bytes, burst.slots, burst.tiles, tiles_x, ROW, burst.rows, burst.mode)]
    if burst.how == "bulk":
        return [lab.out, lab.src, lab.dst, *numbers]
    over = TensorMap.over(Layout((ROW * tiles_x, high), (1, ROW * tiles_x)), "f32", (ROW, burst.rows))
    return [Mapped(over, lab.src), Mapped(over, lab.dst), lab.out, *numbers]


def _reduced(told: Any) -> dict[str, Any]:
    """What the CTAs of a launch with tiles tell, in nanoseconds from the first begin of any CTA on.

    *come* and *read* have of the first tile of CTAs, of their second and so on the least, the median and the most.
    """
    began = told["ns0"].min()
    lasted = (told["ns1"] - told["ns0"]).astype(np.int64)
    cycles = (told["clock1"] - told["clock0"]).astype(np.int64)
    ghz = float(cycles.sum() / max(1, lasted.sum()))
    begins = (told["ns0"] - began).astype(np.int64)
    out: dict[str, Any] = {"ghz": round(ghz, 3), "stamped_ns": int((told["ns1"] - began).max())}
    some = told["tiles"] > 0
    out["begun"] = [int(np.quantile(begins[some], x)) for x in (0.5, 1.0)]
    of_sms: Counter[int] = Counter()
    for sm, tiles in zip(told["sm"].tolist(), told["tiles"].tolist(), strict=True):
        of_sms[sm] += tiles
    out["tiles_of_sms"] = sorted(Counter(of_sms.values()).items())
    for key in ("come", "read"):
        times = begins[:, None] + told[key].astype(np.int64) / ghz
        each = [times[told["tiles"] > k, k] for k in range(min(MOST, int(told["tiles"].max())))]
        out[key] = [[round(float(np.quantile(x, q))) for q in (0.0, 0.5, 1.0)] for x in each]
    return out


__all__ = ["Burst", "bursts", "rows_of_bursts"]

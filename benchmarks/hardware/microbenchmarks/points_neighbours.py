"""The sweep of neighbours: what SMs of a TPC, of a GPC and of a grid take from one another on their way to L2.

>>> len(list(neighbours(132)))
294
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .lab import KIB, STAMP, Lab, Row, u32, u64

LOADS, STORES = 1, 2
ALONE = 114 * KIB + 1024  # bytes of shared memory of which an SM has place for one CTA
REGION = 128 * KIB
CLUSTERS = (2, 3, 4, 5, 6, 7, 8)
BITS = 64
MAPPED = "neighbours"  # the key of the GPCs in ``Lab.kept``


@dataclass(frozen=True)
class Neighbours:
    """Rings of so many slots of so many bytes by some SMs.

    *chosen* says which: "sms", the first ones; "tpcs", one of each of so many TPCs of a GPC, "pairs", both of these;
    "grid", those that get a CTA of a launch of so many, in clusters of *cluster*. All load the *same* bytes, or each
    its own.
    """

    chosen: str
    count: int
    slots: int
    bytes: int
    mode: int = LOADS
    gpc: int = 0
    cluster: int = 1
    same: bool = False

    @property
    def trips(self) -> int:
        return (4 << 20) // self.bytes


def neighbours(sms: int) -> Iterator[Neighbours]:
    """First an SM alone and with one more, then SMs of a GPC, then those of grids that are smaller than the chip."""
    rings = [(2, 16 * KIB), (4, 8 * KIB), (4, 16 * KIB), (4, 32 * KIB)]
    for (slots, size), mode in itertools.product(rings, (LOADS, STORES)):
        for chosen, count in (("sms", 1), ("sms", 2), ("sms", 3), ("tpcs", 2)):
            yield Neighbours(chosen, count, slots, size, mode)
    for (slots, size), gpc in itertools.product(rings, (0, 1)):
        for count, chosen in itertools.product((1, 2, 3, 4, 5, 6, 7, 8, 9), ("tpcs", "pairs")):
            yield Neighbours(chosen, count, slots, size, LOADS, gpc)
    for count, chosen in itertools.product((1, 3, 6, 8), ("tpcs", "pairs")):
        yield Neighbours(chosen, count, *rings[2], STORES)
    for (slots, size), same in itertools.product(rings, (False, True)):
        for count in (8, 16, 24, 33, 48, 66, 72, 84, 96, 108, 120, sms):
            yield Neighbours("grid", count, slots, size, same=same)
    for (slots, size), count in itertools.product(rings[2:], (16, 32, 48, 72, 96, 120, sms)):
        yield Neighbours("grid", count, slots, size, cluster=2)


def rows_of_neighbours(lab: Lab, point: Neighbours, repeats: int) -> Row:
    """The row of a point: of each SM that was chosen its cycles, the median over the repeats."""
    gpcs = _gpcs(lab)
    bits = _bits(lab, point, gpcs)
    grid, cluster = (point.count, point.cluster) if point.chosen == "grid" else (lab.sms, 1)
    words = [u64(bits >> BITS * k & (1 << BITS) - 1) for k in range(3)]
    numbers = [u32(x) for x in (REGION, 0 if point.same else REGION, point.bytes, point.slots, point.trips, point.mode)]
    shared = max(ALONE, point.slots * (point.bytes + 8) + KIB)
    args = [lab.out, lab.dst, *words, *numbers]
    of_sms: dict[int, list[int]] = {}
    ns, ghz = [], []
    for _ in range(1 + repeats // 2):
        found = _stamps(lab, "neighbours", grid, args, shared, cluster)
        those = found[found["sum"] > 0]
        for sm, cycles in zip(those["sm"].tolist(), (those["clock1"] - those["clock0"]).tolist(), strict=True):
            of_sms.setdefault(sm, []).append(cycles)
        ns.append(int(those["ns1"].max() - those["ns0"].min()))
        ghz.append(float(np.median((those["clock1"] - those["clock0"]) / (those["ns1"] - those["ns0"]))))
    sms = sorted(of_sms)
    row: Row = {"id": "M44", "kernel": "neighbours", **asdict(point), "trips": point.trips, "ns": ns, "sms": sms}
    row["each"] = [int(np.median(of_sms[sm])) for sm in sms]
    row["gpcs"] = [next(k for k, gpc in enumerate(gpcs) if sm in gpc) for sm in sms]
    return {**row, "ghz": round(float(np.median(ghz)), 4)}


def _stamps(lab: Lab, kernel: str, grid: int, args: list[Any], shared: int, cluster: int) -> Any:
    beside = {"cluster": cluster} if cluster > 1 else {}
    lab.modules["neighbours"].launch(kernel, grid, 32, args, shared=shared, **beside).wait(30.0)
    return lab.out.download("u8", (grid * STAMP.itemsize,)).view(STAMP)


def _gpcs(lab: Lab) -> list[list[int]]:
    """The SMs of each GPC: those of a cluster are in one, and clusters of other sizes lie elsewhere in it."""
    if MAPPED not in lab.kept:
        of = list(range(lab.sms))
        for cluster in CLUSTERS:
            found = _stamps(lab, "placed", lab.sms // cluster * cluster, [lab.out], ALONE, cluster)["sm"].tolist()
            for first, sm in ((found[k - k % cluster], sm) for k, sm in enumerate(found)):
                a, b = of[first], of[sm]
                of = [a if x == b else x for x in of]
        lab.kept[MAPPED] = [[sm for sm in range(lab.sms) if of[sm] == k] for k in sorted(set(of))]
    return list(lab.kept[MAPPED])


def _bits(lab: Lab, point: Neighbours, gpcs: list[list[int]]) -> int:
    """The chosen SMs, a bit each; SMs 2k and 2k + 1 are those of a TPC."""
    if point.chosen == "grid":
        return (1 << lab.sms) - 1
    if point.chosen == "sms":
        return (1 << point.count) - 1
    tpcs = sorted({sm // 2 for sm in gpcs[point.gpc % len(gpcs)]})[: point.count]
    each = 3 if point.chosen == "pairs" else 1
    return sum(each << 2 * tpc for tpc in tpcs)


__all__ = ["Neighbours", "neighbours", "rows_of_neighbours"]

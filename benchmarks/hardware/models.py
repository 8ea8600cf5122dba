"""What loads and stores leave behind: the probe checks itself with it where there is only Python and NumPy.

What a copy does is defined in ``symlayout.semantics``; tests hold this walk and that definition to the same recorded
rows. A walk lists the rows of a box: coordinates of the first element, offset in shared memory, elements, bytes of one.
Rows are rows of elements with interleave NONE and single pixels else.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator

from benchmarks.hardware.cases import F16, SIZE, TF32, UNIT, Case, pitch, steps
from benchmarks.hardware.rows import LEAD, content, origin, sha

Row = tuple[list[int], int, int, int]
MODELLED = (
    ("load", "multicast", "store"),
    ("load_im2col", "store_im2col", "multicast_im2col"),
)  # by whether the map is im2col


def walk(case: Case) -> Iterator[Row]:
    """The rows of a box in the order in which they lie in shared memory."""
    unit = UNIT[case["interleave"]]
    if case["mode"] == "im2col":
        for number, x in enumerate(pixels(case)):
            yield x, number * pitch(case), 1 if unit else case["channels"], unit or SIZE[case["dtype"]]
        return
    n = steps(case)
    first = 0 if unit else 1
    inner = (1, unit) if unit else (n[0], SIZE[case["dtype"]])
    rows = itertools.product(*(range(k) for k in reversed(n[first:])))
    for number, t in enumerate(rows):
        step = [0] * first + list(reversed(t))
        x = [c + k * s for c, k, s in zip(case["coord"], step, case["estride"], strict=True)]
        yield x, number * pitch(case), *inner


def pixels(case: Case) -> Iterator[list[int]]:
    """The pixels of an im2col copy, with the offsets added."""
    first, ns = (0 if case["interleave"] else 1), case["rank"] - 2
    at, lower = list(case["coord"]), case["lower"]
    high = [case["dim"][first + i] - 1 + case["upper"][i] for i in range(ns)]
    for _ in range(case["pixels"]):
        x = list(at)
        for i in range(ns):
            x[first + i] += case["off"][i]
        yield x
        for i in range(ns):
            at[first + i] += case["estride"][first + i]
            if at[first + i] <= high[i]:
                break
            at[first + i] = lower[i]
        else:
            at[-1] += case["estride"][-1]


def inside(case: Case, x: list[int]) -> bool:
    """Whether a row lies in the tensor in every dimension but the first."""
    return all(0 <= v < d for v, d in zip(x[1:], case["dim"][1:], strict=True))


def offset(case: Case, x: list[int], size: int) -> int:
    return x[0] * size + sum(v * s for v, s in zip(x[1:], case["stride"], strict=True))


def swizzled(case: Case, address: int) -> int:
    return address ^ (address >> 7 & (1 << case["swizzle"]) - 1) << 4


def rounded(word: int) -> int:
    """A float's bits rounded to TF32, ties to even, as a load rounds."""
    sign, magnitude = word & 0x80000000, word & 0x7FFFFFFF
    if magnitude > 0x7F800000:
        return 0x7FFFE000
    return sign | (magnitude + 0x0FFF + (magnitude >> 13 & 1)) & ~0x1FFF


def converted(case: Case, data: bytes) -> bytes:
    if case["dtype"] not in (TF32, TF32 + 1):
        return data
    words = struct.unpack(f"<{len(data) // 4}I", data)
    return struct.pack(f"<{len(words)}I", *map(rounded, words))


def load(case: Case) -> bytes:
    """The dump of a load."""
    dump = bytearray(b"\xee" * case["dump"])
    memory = content("source")
    start = case["addr"] + (case["edge"] << 20) - case.get("wide", 0)
    fill = b"\xf7\x7f" if case["oob"] and case["dtype"] >= F16 else b"\0\0"
    for x, lin, n, size in walk(case):
        low, high = (max(0, -x[0]), min(n, case["dim"][0] - x[0])) if inside(case, x) else (0, 0)
        row = bytearray(fill * (n * size // 2))
        if low < high:
            at = start + offset(case, [x[0] + low, *x[1:]], size)
            row[low * size : high * size] = converted(case, memory[at : at + (high - low) * size])
        for k in range(0, n * size, 16):
            to = swizzled(case, case["base"] + lin + k)
            dump[to : to + 16] = row[k : k + 16]
    return bytes(dump[: case["dump"]])


def store(case: Case) -> bytes:
    """The target after a store, from byte 4096 on: the inner end is clipped at 16 bytes, with interleave at pixels."""
    target = bytearray(content(case["init"]))
    tile = content(case["fill"])
    for x, lin, n, size in walk(case):
        if not inside(case, x):
            continue
        end = case["dim"][0] * size
        wide = min(n * size, max(0, -(-end // 16) * 16 - x[0] * size))
        for k in range(0, wide, 16):
            at = origin(case) + offset(case, x, size) + k
            source = swizzled(case, case["base"] + lin + k)
            target[at : at + 16] = tile[source : source + 16]
    return bytes(target[LEAD:])


def expected(case: Case) -> list[str] | None:
    """The hash of every dump of a case, by the walk above; None where there is no model, or none is meant."""
    form, im2col = case["form"], case["mode"] == "im2col"
    if case["nd"] != case["rank"] or form not in MODELLED[im2col] or case["nulls"]:
        return None
    if form.startswith("store"):
        return [sha(store(case))]
    dump, untouched = sha(load(case)), sha(b"\xee" * case["dump"])
    if not form.startswith("multicast"):
        return [dump]
    return [dump if case["mask"] >> c & 1 else untouched for c in range(case["cluster"])]

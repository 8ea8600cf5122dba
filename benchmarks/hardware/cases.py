"""The cases of the probe: what is encoded, what is copied, from fixed seeds.

A case is a plain dictionary that says everything a replay needs. Its numbers are those of the driver API and of
PTX, innermost dimension first: ``dtype``, ``interleave``, ``swizzle`` are enum values, ``stride`` is in bytes.
``rule`` names a pair: the two cases of one ``pair`` differ in one number, and ``side`` says which of them breaks
the rule ("fault") and which keeps it ("ok").
"""

from __future__ import annotations

import math
from typing import Any

from benchmarks.hardware.contents import CONTENTS

Case = dict[str, Any]

SIZE = (1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4)  # bytes of an element by data type
U32, S32, U64, S64, F16, F32, F64, BF16, F32_FTZ, TF32, TF32_FTZ = range(2, 13)
SPAN = (0, 32, 64, 128)  # bytes of a row by swizzle; 0: as wide as the box
UNIT = (0, 16, 32)  # bytes of a pixel by interleave

OPERATIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")
FORMS = {
    name: code
    for code, name in enumerate(
        (
            *("encode", "load", "load_im2col", "multicast", "store", "store_im2col", "bulk_load", "bulk_store"),
            *("barrier", "multicast_im2col"),
        )
    )
}
FORMS |= {f"reduce_{op}": 16 + k for k, op in enumerate(OPERATIONS)}
FORMS |= {f"reduce_im2col_{op}": 32 + k for k, op in enumerate(OPERATIONS)}
MODES = {"none": 0, "tiled": 1, "im2col": 2}

UNREACHED = (1 << 19) + 1  # an odd transaction count no sum of credits meets: the barrier's state shows the credit
MEASURE = 400_000  # cycles
WAIT = 2_000_000  # cycles

# A line of the program's input: every field and its number of entries, in order.
FIELDS = (
    *(("id", 1), ("form", 1), ("nd", 1), ("coord", 5), ("off", 3), ("base", 1), ("smem", 1), ("dump", 1)),
    *(("fill", 1), ("init", 1), ("edge", 1), ("arm", 8), ("limit", 1), ("cluster", 1), ("issuer", 1), ("mask", 1)),
    *(("barrier", 1), ("size", 1), ("mode", 1), ("dtype", 1), ("rank", 1), ("addr", 1), ("dim", 5), ("stride", 4)),
    *(("box", 5), ("estride", 5), ("lower", 3), ("upper", 3), ("channels", 1), ("pixels", 1), ("interleave", 1)),
    *(("swizzle", 1), ("l2", 1), ("oob", 1), ("nulls", 1), ("wide", 1)),
)

PLAIN: Case = {
    **{"form": "load", "nd": 0, "coord": [], "off": [0, 0, 0], "base": 0, "smem": 49152, "dump": 0},
    **{"fill": "s9", "init": "ee", "edge": 0, "arm": [UNREACHED], "limit": MEASURE, "cluster": 1, "issuer": 0},
    **{"mask": 0, "barrier": 0, "size": 0, "mode": "tiled", "dtype": 0, "rank": 1, "addr": 0, "dim": [], "stride": []},
    **{"box": [], "estride": [], "lower": [], "upper": [], "channels": 0, "pixels": 0, "interleave": 0},
    **{"swizzle": 0, "l2": 0, "oob": 0, "nulls": 0, "wide": 0, "bytes": 0},
}


def header() -> str:
    """The C++ enum of where each field stands in a line."""
    at, names = 0, []
    for name, width in FIELDS:
        names.append(f"  F_{name} = {at},")
        at += width
    return "\n".join(["enum {", *names, f"  FIELDS = {at}", "};", ""])


def line(case: Case) -> str:
    """A case as the program reads it: whitespace between integers, short lists filled with 0, arms with -1."""
    names = list(CONTENTS)
    coded = {"form": FORMS[case["form"]], "mode": MODES[case["mode"]]}
    coded |= {"fill": names.index(case["fill"]), "init": names.index(case["init"])}
    numbers: list[int] = []
    for field, width in FIELDS:
        value = coded[field] if field in coded else case[field]
        entries = value if isinstance(value, list) else [value]
        numbers += entries + [-1 if field == "arm" else 0] * (width - len(entries))
    return " ".join(map(str, numbers))


def ceil(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def steps(case: Case) -> list[int]:
    """Steps of a box in every dimension, as measured: one slice of an interleaved tensor, all of dimension 0."""
    n = [-(-b // s) for b, s in zip(case["box"], case["estride"], strict=True)]
    if case["interleave"]:
        n[-2] = 1
    else:
        n[0] = case["box"][0]
    return n


def pitch(case: Case) -> int:
    """Bytes from one row in shared memory to the next; a pixel with interleave."""
    if case["interleave"]:
        return UNIT[case["interleave"]]
    inner = case["channels"] if case["mode"] == "im2col" else case["box"][0]
    return SPAN[case["swizzle"]] or inner * SIZE[case["dtype"]]


def expected_bytes(case: Case) -> int:
    """The transaction bytes of a load, where they are known; else the likely number."""
    if case["mode"] == "im2col":
        return case["pixels"] * (UNIT[case["interleave"]] or case["channels"] * SIZE[case["dtype"]])
    return math.prod(steps(case)) * (UNIT[case["interleave"]] or SIZE[case["dtype"]])


def footprint(case: Case) -> int:
    """Bytes of shared memory that the box may take under the widest reading."""
    if case["mode"] == "im2col":
        return case["pixels"] * max(pitch(case), case["channels"] * SIZE[case["dtype"]])
    n = [-(-b // s) for b, s in zip(case["box"], case["estride"], strict=True)]
    return math.prod(n) * pitch(case) if case["interleave"] else math.prod(n[1:]) * pitch(case)


def finish(case: Case) -> Case:
    """Fill in what follows from the rest: coordinates of the instruction, dumped bytes, transaction bytes."""
    case["nd"] = case["nd"] or case["rank"]
    if case["mode"] != "none":
        case["bytes"] = expected_bytes(case)
    if not case["form"].startswith(("store", "reduce", "bulk_store")):
        case["dump"] = case["dump"] or min(case["smem"], ceil(case["base"] + footprint(case), 1024) + 1024)
    return case

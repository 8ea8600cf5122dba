"""From an answer to a row: what a later model is compared with."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from benchmarks.hardware.cases import Case
from benchmarks.hardware.child import ENCODED, LAUNCHED, Answer
from benchmarks.hardware.contents import CONTENTS

LEAD = 4096  # bytes of the target before the tensor
ERRORS = {
    700: "illegal memory access",
    702: "launch timed out",
    714: "hardware stack error",
    715: "illegal instruction",
    716: "misaligned address",
    717: "invalid address space",
    718: "invalid program counter",
    719: "unspecified launch failure",
    720: "launch too large for a cooperative grid",
}
TAKEN: dict[str, bytes] = {}


def content(name: str) -> bytes:
    """The bytes of a run of contents, made once."""
    if name not in TAKEN:
        TAKEN[name] = CONTENTS[name]()
    return TAKEN[name]


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 6)).decode()


def unpacked(text: str) -> bytes:
    """The bytes of a row's ``raw``."""
    return zlib.decompress(base64.b64decode(text))


def stores(case: Case) -> bool:
    return case["form"].startswith(("store", "reduce", "bulk_store"))


def runs(before: bytes, after: bytes) -> list[list[int]]:
    """Ranges of bytes that differ."""
    differs = np.frombuffer(before, np.uint8) != np.frombuffer(after, np.uint8)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], differs, [False])).astype(np.int8)))
    return [[int(a), int(b)] for a, b in zip(edges[::2], edges[1::2], strict=True)]


def origin(case: Case) -> int:
    """Where the tensor of a store begins in the target; the target of a wide case lies ``wide`` bytes on."""
    return case["addr"] - case["wide"] if case.get("wide") else LEAD + case["addr"]


def stored(case: Case, answer: Answer) -> dict[str, Any]:
    """What a store or reduction changed, relative to the tensor; the hash is of the target from LEAD on."""
    initial = content(case["init"])
    span = initial[answer.low : answer.low + len(answer.payload)]
    after = initial[: answer.low] + answer.payload + initial[answer.low + len(answer.payload) :]
    low = answer.low - origin(case)
    found = {"changed": answer.changed, "stray": answer.stray, "low": low if answer.changed else 0}
    found["runs"] = [[a + low, b + low] for a, b in runs(span, answer.payload)[:12]]
    return found | {"sha": sha(after[LEAD:]), "raw": packed(answer.payload)}


def landed(dump: bytes, cta: Iterable[int]) -> dict[str, Any]:
    """What a load left in the shared memory and in the barrier of one CTA."""
    initial, armed, waited, settled, completed, polls, beyond, at = cta
    states = [f"{state:016x}" for state in (initial, armed, waited, settled)]
    found = {"completed": completed, "polls": polls, "states": states, "beyond": beyond, "at": at}
    return found | {"dumped": len(dump), "sha": sha(dump), "raw": packed(dump)}


def row(case: Case, answer: Answer | None, died: str = "") -> dict[str, Any]:
    """A case with its answer: ``code`` of the encode call, ``error`` of a fault, else what was copied."""
    if answer is None:
        return case | {"error": died}
    found = case | {"code": answer.code}
    if answer.stage == ENCODED:
        return found
    if answer.error:
        where = "launch: " if answer.stage == LAUNCHED else ""
        return found | {"error": where + ERRORS.get(answer.error, "error"), "errno": answer.error}
    if stores(case):
        return found | stored(case, answer)
    size = case["dump"]
    parts = [landed(answer.payload[k * size : (k + 1) * size], answer.ctas[k]) for k in range(case["cluster"])]
    return found | (parts[0] if len(parts) == 1 else {"ctas": parts})

"""Replay recorded tensor copies in NumPy: every byte, every fault and every refusal as recorded.

    python -m benchmarks.hardware.replay FILE...

Prints rows, mismatches and rows that nothing here settles, for each file. Exit status 1 on a mismatch.

A row is an encode call with its ``code`` (0 accepted, 1 refused) and, where accepted, a copy: from ``coord`` (im2col
offsets ``off``) at ``base`` bytes into shared memory, with the ``error`` that it raised or the hash of what it left.
Loads read ``source`` (the runs are those of ``contents``) from byte ``addr`` on, 1 MiB further if ``edge``, into shared
memory full of poison; the hash is of its first ``dumped`` bytes, ``completed`` says whether the barrier, armed with
``arm``, else ``bytes``, flipped. Stores send ``fill``, else ``s9``, onto ``init``, else poison, the tensor at byte
4096 + ``addr``; the hash is of the target from byte 4096 on, ``changed`` and ``runs`` say what differs there.
"""

from __future__ import annotations

import argparse
import collections
import functools
import hashlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.hardware import contents
from symlayout.arch import SM90
from symlayout.errors import TmaFault
from symlayout.rules.tma import violations
from symlayout.semantics import byte_ranges, tma_load, tma_store
from symlayout.tensormap_rows import read, tensor_map

Row = Mapping[str, Any]
LEAD = 4096  # bytes of a store's target before the tensor
RUNS = 12  # changed ranges that a row lists

COPIED, FAULTED, REFUSED, UNSETTLED, MISMATCH = "copied", "faulted", "refused", "unsettled", "mismatch"
OUTCOMES = (COPIED, FAULTED, REFUSED, UNSETTLED, MISMATCH)


@dataclass(frozen=True)
class Replayed:
    """What became of a row: ``copied``, ``faulted`` and ``refused`` as recorded, ``unsettled`` or ``mismatch``."""

    outcome: str
    text: str = ""


class Mismatch(Exception):
    """What differs from the recording."""


def expect(what: str, recorded: Any, got: Any) -> None:
    if recorded != got:
        raise Mismatch(f"expected {what} {recorded}, got {got}")


@functools.cache
def content(name: str) -> bytes:
    """The bytes of a run of contents, made once."""
    return contents.CONTENTS[name]()


def memory(name: str) -> np.ndarray[Any, Any]:
    return np.frombuffer(content(name), dtype=np.uint8)


def sha(data: Any) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def load(row: Row) -> None:
    """A load leaves the recorded dump and credits the recorded bytes."""
    m = tensor_map(row, row.get("edge", 0) << 20)
    shared = np.full(row.get("smem", SM90.shared_bytes_per_block), contents.POISON, dtype=np.uint8)
    offsets = tuple(row["off"][: m.rank - 2]) if m.is_im2col else ()
    effect = tma_load(m, tuple(row["coord"]), memory("source"), shared, row.get("base", 0), offsets=offsets)
    expect("the fault", row.get("error", "none"), "none")
    expect("the hash of the dump", row["sha"], sha(shared[: row["dumped"]]))
    armed, credited = row["arm"][0] if "arm" in row else row["bytes"], effect.transaction_bytes
    known = "arm" not in row and not m.interleave  # armed by the formula: the very bytes
    if known or armed >= credited:  # with less, the credit arrives in pieces and may or may not meet it
        expect(f"completed after {credited} of {armed} bytes", row["completed"], int(armed == credited))


def store(row: Row) -> None:
    """A store leaves the recorded target; onto poison, its effect names exactly the bytes that changed."""
    before, after = memory(row.get("init", "ee")), memory(row.get("init", "ee")).copy()
    source = memory(row.get("fill", "s9"))[: row.get("smem")]
    effect = tma_store(tensor_map(row, LEAD), tuple(row["coord"]), after, source, row.get("base", 0))
    expect("the fault", row.get("error", "none"), "none")
    expect("the hash of the target", row["sha"], sha(after[LEAD:]))
    changed = np.flatnonzero(before != after)
    ranges = byte_ranges(changed - LEAD - row["addr"])
    expect("changed bytes", row["changed"], len(changed))
    expect("changed ranges", row.get("runs", []), [list(r) for r in ranges[:RUNS]])
    if row.get("init", "ee") == "ee" and row.get("fill", "s9") == "s9":
        touched = np.concatenate([effect.inside.ravel(), effect.outside.ravel()])
        expect("changed ranges as the effect has them:", byte_ranges(touched), byte_ranges(changed))


KINDS: Mapping[str, Callable[[Row], None]] = {"load": load, "load_im2col": load, "store": store}


def replay(row: Row) -> Replayed:
    """Judge, copy and compare one row; one without ``form`` is a store if it says whether a coordinate is negative."""
    form = row.get("form", "store" if "neg" in row else "load")
    if form not in KINDS:
        return Replayed(UNSETTLED, f"{form} is not replayed")
    refusals = violations(tensor_map(row), "driver")
    if bool(refusals) != bool(row["code"]):
        return Replayed(MISMATCH, f"expected code {row['code']}, got {'; '.join(map(str, refusals)) or 'no refusal'}")
    if refusals:
        return Replayed(REFUSED)
    try:
        KINDS[form](row)
    except TmaFault as fault:
        if fault.effect in row.get("error", ""):
            return Replayed(FAULTED)
        return Replayed(MISMATCH, f"expected {row.get('error', 'no fault')}, got {fault}")
    except NotImplementedError as unknown:
        return Replayed(UNSETTLED, str(unknown))
    except Mismatch as different:
        return Replayed(MISMATCH, str(different))
    return Replayed(COPIED)


def replayed(path: Path) -> Iterator[tuple[int, Replayed]]:
    """Line number and outcome of every row of a file but its header."""
    for number, row in enumerate(read(path), 1):
        if "header" not in row:
            yield number, replay(row)


def main() -> int:
    """Replay files and print the score."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--list", type=int, default=10, metavar="N", help="mismatches listed for each file")
    args = parser.parse_args()
    print(f"{'file':<32}{'rows':>6}" + "".join(f"{o:>11}" for o in OUTCOMES) + f"{'s':>8}")
    wrong = 0
    for path in args.files:
        begin = time.perf_counter()
        found = list(replayed(path))
        seconds = time.perf_counter() - begin
        score = collections.Counter(r.outcome for _, r in found)
        print(f"{path.name:<32}{len(found):>6}" + "".join(f"{score[o]:>11}" for o in OUTCOMES) + f"{seconds:>8.1f}")
        for number, r in [(n, r) for n, r in found if r.outcome == MISMATCH][: args.list]:
            print(f"  {path.name}:{number}: {r.text}")
        reasons = collections.Counter(r.text.partition(";")[0] for _, r in found if r.outcome == UNSETTLED)
        for reason, n in reasons.most_common():
            print(f"  {n} unsettled: {reason}")
        wrong += score[MISMATCH]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

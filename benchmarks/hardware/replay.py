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
from symlayout.semantics import (
    bulk_copy,
    byte_ranges,
    phase_completes,
    tma_load,
    tma_multicast,
    tma_reduce,
    tma_store,
)
from symlayout.semantics.memory import Memory
from symlayout.tma.recorded import read, tensor_map

Row = dict[str, Any]
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


def form_of(row: Row) -> str:
    """The form of a row; one without is a store if it says whether a coordinate is negative."""
    return str(row.get("form", "store" if "neg" in row else "load"))


def copied(row: Row) -> dict[str, Any]:
    """Map, coordinate and form of the instruction as the semantics of a copy take them."""
    form = form_of(row)
    start = LEAD if form.startswith(("store", "reduce")) else row.get("edge", 0) << 20
    if row.get("nulls") or row.get("wide"):
        row, start = row | {"addr": 0} if row["nulls"] else row, 0
    instruction = f"{row['nd']}d.{'im2col' if 'im2col' in form else 'tile'}" if "nd" in row else ""
    return {"tensor_map": tensor_map(row, start), "coordinate": tuple(row["coord"]), "instruction": instruction}


def placed(row: Row, held: np.ndarray[Any, Any]) -> Memory:
    """Global memory where a row has it: ``wide`` bytes behind the addresses that it counts from, not at address 0."""
    return Memory(held, NOWHERE if row.get("nulls") else row.get("wide", 0))


def load(row: Row) -> None:
    """A load leaves the recorded dump and credits the recorded bytes."""
    copy, shared = copied(row), shared_memory(row)
    m = copy["tensor_map"]
    offsets = tuple(row["off"][: m.rank - 2]) if m.is_im2col else ()
    effect = tma_load(
        global_memory=placed(row, memory("source")),
        shared_memory=shared,
        shared_address=row.get("base", 0),
        offsets=offsets,
        **copy,
    )
    landed(row, shared, effect.transaction_bytes, row["arm"][0] if "arm" in row else row["bytes"])


def multicast(row: Row) -> None:
    """Each CTA of a cluster has what the mask gives it, and its barrier the credit."""
    memories = [shared_memory(row) for _ in range(row["cluster"])]
    copy = copied(row)
    effects = tma_multicast(
        copy["tensor_map"],
        copy["coordinate"],
        memory("source"),
        memories,
        row["base"],
        row["mask"],
        offsets=tuple(row["off"][: copy["tensor_map"].rank - 2]) if copy["tensor_map"].is_im2col else (),
    )
    expect("the fault", row.get("error", "none"), "none")
    for cta, shared, effect, arm in zip(row["ctas"], memories, effects, row["arm"], strict=True):
        landed(cta, shared, effect.transaction_bytes if effect else 0, arm)


def bulk_load(row: Row) -> None:
    shared = shared_memory(row)
    credited = bulk_copy(row["size"], memory("source"), row["addr"], shared, row["base"])
    landed(row, shared, credited, row["arm"][0])


def barrier(row: Row) -> None:
    landed(row, shared_memory(row), row["size"], row["arm"][0])


def shared_memory(row: Row) -> np.ndarray[Any, Any]:
    return np.full(row.get("smem", SM90.shared_bytes_per_block), contents.POISON, dtype=np.uint8)


def landed(row: Row, shared: np.ndarray[Any, Any], credited: int, armed: int) -> None:
    """The dump is as recorded, and the barrier flipped if it was to."""
    expect("the fault", row.get("error", "none"), "none")
    expect("the hash of the dump", row["sha"], sha(shared[: row["dumped"]]))
    expect("changed bytes beyond the dump", row.get("beyond", 0), 0)
    completes = phase_completes(armed, credited)
    if "arm" not in row and "states" not in row and row.get("interleave", 0) == 0:
        completes = armed == credited  # armed by the formula: the very bytes
    if completes is not None:
        expect(f"completed after {credited} of {armed} bytes", row["completed"], int(completes))


def store(row: Row) -> None:
    """A store or a reduction leaves the recorded target; onto poison, its effect names exactly the bytes changed."""
    before, after = memory(row.get("init", "ee")), memory(row.get("init", "ee")).copy()
    form = form_of(row)
    op = form.rpartition("_")[2] if form.startswith("reduce") else ""
    effect = (functools.partial(tma_reduce, op) if op else tma_store)(
        global_memory=placed(row, after),
        shared_memory=memory(row.get("fill", "s9"))[: row.get("smem")],
        shared_address=row.get("base", 0),
        **copied(row),
    )
    stored(row, before, after)
    if row.get("init", "ee") == "ee" and row.get("fill", "s9") == "s9":
        touched = np.concatenate([effect.inside.ravel(), effect.outside.ravel()])
        expect(
            "changed ranges as the effect has them:",
            byte_ranges(touched),
            byte_ranges(np.flatnonzero(before != after) + row.get("wide", 0)),
        )


def bulk_store(row: Row) -> None:
    after = memory(row["init"]).copy()
    bulk_copy(row["size"], memory(row["fill"]), row["base"], after, LEAD + row["addr"])
    stored(row, memory(row["init"]), after)


def stored(row: Row, before: np.ndarray[Any, Any], after: np.ndarray[Any, Any]) -> None:
    """The target is as recorded, and so is what changed."""
    expect("the fault", row.get("error", "none"), "none")
    expect("the hash of the target", row["sha"], sha(after[LEAD:]))
    changed = np.flatnonzero(before != after)
    ranges = byte_ranges(changed - (row["addr"] - row["wide"] if row.get("wide") else LEAD + row["addr"]))
    expect("changed bytes", row["changed"], len(changed))
    expect("changed ranges", row.get("runs", []), [list(r) for r in ranges[:RUNS]])
    expect("changed words far outside", row.get("stray", 0), 0)


KINDS: Mapping[str, Callable[[Row], None]] = {
    **{
        "load": load,
        "load_im2col": load,
        "multicast": multicast,
        "multicast_im2col": multicast,
        "store": store,
        "store_im2col": store,
    },
    **{"reduce": store, "bulk_load": bulk_load, "bulk_store": bulk_store, "barrier": barrier},
}
NOWHERE = 1 << 48  # far from the null address
ADDRESS = 1  # of the null pointers of an encode call, the only one that it accepts


def refused(row: Row) -> str:
    """Why the driver refuses to encode a row's map, or nothing."""
    if row.get("mode") == "none":
        return ""
    if row.get("nulls", 0) & ~ADDRESS:
        return "a null pointer"
    m = tensor_map(row if not row.get("nulls") else {**row, "addr": 0})
    return "; ".join(map(str, violations(m, "driver")))


def replay(row: Row) -> Replayed:
    """Judge, copy and compare one row; one without ``form`` is a store if it says whether a coordinate is negative."""
    form = form_of(row)
    refusal = refused(row)
    if bool(refusal) != bool(row["code"]):
        return Replayed(MISMATCH, f"expected code {row['code']}, got {refusal or 'no refusal'}")
    if refusal:
        return Replayed(REFUSED)
    if form == "encode":
        return Replayed(COPIED)
    kind = "reduce" if form.startswith("reduce") else form
    if kind not in KINDS:
        return Replayed(UNSETTLED, f"{form} is not replayed")
    try:
        KINDS[kind](row)
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

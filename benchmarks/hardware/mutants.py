"""Broken kernels on a device: who catches each, and whether what is let pass runs as the kernel that it comes from.

    python -m benchmarks.hardware.mutants [--family tma_copy] [--most 50] [--every 300] [--out FILE] [--workers 12]
        [--judged FILE]

Every mutant of ``benchmarks.kernel_mutation`` is judged by proof and by untimed runs. Those that are proved, or open
while no run tells them from the kernel, are printed as CUDA, compiled and run at the sizes of their family, in child
processes: each has to leave the bytes of the reference, guards and inputs untouched, and neither fault nor hang. A
refusal before the launch (an argument that no map or rule admits) is no run. With ``--every`` the others are run too,
evenly spread, as many as so many seconds allow: what a device makes of a kernel that the proof refutes or a run
catches. A row of --out is written when its mutant has run, and a mutant that has one is not run again. Prints a table;
exit status 1 where one that was let pass does otherwise, 4 where there is no device.
"""

from __future__ import annotations

import contextlib
import functools
import json
import queue
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import gpu
from benchmarks.kernel_mutation import FAMILIES, Judged, Mutant, every, inputs, judgements, key
from benchmarks.reproduce import caught_by, is_refusal
from gpu import child
from gpu.differential import data
from gpu.differential.cases import difference
from gpu.running import Generated, run_unproved
from symlayout.errors import LayoutError

from .command import NO_DEVICE, is_missing, parser_of

LIMIT_S = 20.0  # of one mutant on the device, its compilation included
DELAYS = 1  # the seed of random waits, with which races show
POLLS = ("POLL_LIMIT=200000",)  # a wait that never ends traps
# What makes a mutant slow and not wrong; the trap of POLLS serialises wgmma.
ALLOWED = ("wgmma-serialized", "wgmma-wait-injected", "setmaxnreg-ignored", "spills", "stack")


@functools.cache
def _context() -> gpu.Device:
    """A device that this process does not close, so that it makes a context once."""
    return gpu.Device().__enter__()


def on_device(family: str, i: int) -> str:
    """Run mutant *i* at all sizes: "" for the reference's bytes, or what is otherwise."""
    name, mutant = every(family)[i]
    try:
        code = Generated(mutant, defines=POLLS, allow=ALLOWED, delays=DELAYS)
    except LayoutError as e:
        return f"no code: {e}"
    with _context() and gpu.Device() as device:
        for at in FAMILIES[family].sizes:
            bound = mutant.bind(**at) if mutant.dims else mutant
            given = inputs(bound)
            try:
                found = run_unproved(bound, given, device, code)
            except gpu.errors.RunError as e:
                return f"{at}: {e}"
            wanted = data.wanted(bound, given)
            assert wanted is not None
            if told := difference(bound, None, found, wanted, f"reference of {name}"):
                return f"{at}: {told}"
    return ""


def device_runs(wanted: Iterable[Mutant], workers: int, until: float = float("inf")) -> Iterator[tuple[Mutant, str]]:
    """Mutants and what a device said of each, as they end: several at a time, each in a child process.

    None begins after a moment.
    """
    todo = deque(wanted)
    ended: queue.SimpleQueue[tuple[Mutant, str] | None] = queue.SimpleQueue()

    def work() -> None:
        taken: list[Mutant] = []

        def cases() -> Iterator[Mutant]:
            while todo and time.monotonic() < until:
                try:
                    taken.append(todo.popleft())
                except IndexError:  # another took the last
                    return
                yield taken[-1]

        try:
            for outcome in child.each("benchmarks.hardware.mutants:on_device", cases(), limit_s=LIMIT_S):
                ended.put((taken[-1], str(outcome.error) if outcome.error else outcome.value))
        finally:
            ended.put(None)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(workers)]
    for t in threads:
        t.start()
    for _ in threads:
        yield from iter(ended.get, None)


def spread(items: Sequence[Mutant]) -> list[Mutant]:
    """The same items, so ordered that each beginning is spread evenly over all of them.

    >>> spread([("a", i) for i in range(5)])
    [('a', 0), ('a', 4), ('a', 2), ('a', 1), ('a', 3)]
    """
    bits = max(1, (len(items) - 1).bit_length())
    order = sorted(range(1 << bits), key=lambda n: int(f"{n:0{bits}b}"[::-1], 2))
    return [items[n] for n in order if n < len(items)]


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--family", choices=FAMILIES, nargs="*", default=list(FAMILIES))
    parser.add_argument("--every", type=float, default=0, help="seconds for mutants that were refuted or caught")
    parser.add_argument("--most", type=int, default=0, help="mutants of each family, evenly spread (default: all)")
    parser.add_argument("--judged", type=Path, help="judgements as by kernel_mutation --resume, to go on with")
    parser.add_argument("--workers", type=int, default=12)
    options = parser.parse_args()
    if is_missing():
        return NO_DEVICE
    named = [m for f in options.family for m in spread([(f, i) for i in range(len(every(f)))])[: options.most or None]]
    began = time.monotonic()
    found = dict(judgements(named, options.judged, options.workers))
    print(f"judged {len(found)} mutants in {time.monotonic() - began:.0f} s", flush=True)
    passed = [m for m, j in found.items() if j.proof == "proved" or j.kind == "equivalent"]
    told = _told_before(options.out, named)

    def tell(wanted: list[Mutant], until: float = float("inf")) -> None:
        for m, device in device_runs([m for m in wanted if m not in told], options.workers, until):
            told[m] = device
            if options.out:
                with options.out.open("a") as f:
                    f.write(json.dumps(_row(m, found[m], device)) + "\n")

    tell(passed)
    print(f"ran those that were let pass, {time.monotonic() - began:.0f} s", flush=True)
    if options.every:
        let = set(passed)
        tell(spread([m for m in found if m not in let]), time.monotonic() + options.every)
    bad = list(_table(found, told, set(passed)))
    for m in bad[:20]:
        print(f"{m[0]} {found[m].name}: {told[m]}"[:400], flush=True)
    print(f"{time.monotonic() - began:.0f} s")
    return 1 if bad else 0


def _row(m: Mutant, j: Judged, device: str) -> dict[str, Any]:
    family, digest = key(m)
    said = {"proof": j.proof, "run": j.said, "device": device}
    return {"family": family, "digest": digest, "mutant": j.name, **said}


def _told_before(out: Path | None, named: Iterable[Mutant]) -> dict[Mutant, str]:
    """What a device said of these mutants, as a file has it. A line that was cut off is none."""
    found = dict[tuple[str, str], str]()
    text = out.read_text() if out is not None and out.exists() else ""
    if out is not None and text and not text.endswith("\n"):
        out.write_text(text + "\n")
    for line in text.splitlines():
        with contextlib.suppress(json.JSONDecodeError):
            row = json.loads(line)
            found[row["family"], row["digest"]] = row["device"]
    return {m: found[key(m)] for m in named if found and key(m) in found}


def _table(found: dict[Mutant, Judged], told: dict[Mutant, str], passed: set[Mutant]) -> Iterator[Mutant]:
    """Print a row for each family; the mutants that were let pass and did otherwise."""
    heads = ("let pass", "same bytes", "refused", "otherwise", "others")
    print(f"{'family':16} {'mutants':>8}", *(f"{head:>10}" for head in heads))
    for family in dict.fromkeys(f for f, _ in found):
        own = [m for m in told if m[0] == family]
        let = [m for m in own if m in passed]
        refused = [m for m in let if is_refusal(told[m])]
        wrong = [m for m in let if told[m] and m not in refused]
        same, n = len(let) - len(refused) - len(wrong), sum(f == family for f, _ in found)
        numbers = (len(let), same, len(refused), len(wrong), len(own) - len(let))
        print(f"{family:16} {n:8}", *(f"{x:10}" for x in numbers), flush=True)
        yield from wrong
    others = {m: told[m] for m in told if m not in passed}
    for who, n in Counter(caught_by(_row(m, found[m], others[m])) for m in others).most_common():
        print(f"{n:6} of the others caught by {who}")


if __name__ == "__main__":
    sys.exit(main())

"""Ask a GPU of compute capability 9.0 what its tensor memory accelerator does where the documents are silent.

    python benchmarks/hardware/tma_probe.py --out DIR [--deadline-s 480] [--procs 12] [--families NAME,..] [--first ID]

Builds ``probe.cu`` with nvcc, shares the cases of ``families.py`` and ``rules.py`` among processes (a fault ends a
process; the next case gets a new one) and writes rows as they come. At the deadline it stops and keeps what it has;
the rows' ids are in the order in which cases run, so ``--first`` goes on where an earlier run stopped.

Files in DIR, one JSON object a line, gzip, the first line a ``header`` (device, driver, versions):

    known       loads and stores whose result is known, barrier states, null pointers, expect_tx, far coordinates
    interleaved, im2col, stores, reductions, multicast
    rules       pairs that differ in one number (``rule``, ``pair``, ``side``, ``broken``: that number's field)
    summary.txt the table that is printed last

A row is the case (every field of ``cases.PLAIN``, plus id, family, phase) and its answer:

    code        of the encode call, 0 accepted; a refused case has no more
    error       of a fault (errno: the CUDA number), or how the process died; no more then
    loads       completed, polls, dumped, sha (32 hex digits of the SHA-256 of the dump, which starts at the 1024-byte
                aligned address ``at``, before ``base``), raw (the dump: base64 of zlib), beyond (bytes outside the
                dump that are no longer 0xEE), states (the raw mbarrier: initialised, armed, after the wait, 25 us
                later; armed with 524289 it never flips and shows the credit). A cluster has all that per CTA: ctas
    stores      changed, low (first changed byte), runs (the first 12 changed ranges, relative to the tensor), stray
                (changed 8-byte words far outside), raw (the bytes from low to the last change), sha (of the target
                from byte 4096 on; the tensor starts at 4096 + addr)

Memory is that of ``contents.py``: loads read ``source`` from byte addr on (plus 1 MiB if ``edge``) into shared memory
full of 0xEE; stores send ``fill`` onto ``init``.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Any

HERE = Path(__file__).resolve().parent
if not __package__:  # run as a file: the repository's root, not this folder, is where imports begin
    sys.path[0] = str(HERE.parents[1])

from benchmarks.hardware import contents
from benchmarks.hardware.cases import Case, header, line
from benchmarks.hardware.child import RAN, Child, Died
from benchmarks.hardware.models import expected
from benchmarks.hardware.rows import row, sha
from benchmarks.hardware.rules import RULES, every_case

RAW = 15_000_000  # characters of dumps per file
GROUPS = (
    "interleaved",
    "im2col",
    "reduce",
    "multicast_im2col",
    "multicast",
    "tf32_store",
    "far_",
    "wide_",
    "null_",
    "outside",
)
FILES = {"reduce": "reductions", "tf32_store": "stores"} | dict.fromkeys(GROUPS[-4:], "far")
KNOWN = ("far_coordinate", "far_inner")  # recorded before there was a file for the rest


def group(case: Case) -> str:
    """The file that a case's row goes to."""
    if "rule" in case:
        return "rules"
    if case["family"] in KNOWN:
        return "known"
    found = next((g for g in GROUPS if case["family"].startswith(g)), "known")
    return FILES.get(found, found)


def build(folder: Path) -> Path:
    """Compile the program for sm_90a.

    Raises:
        SystemExit: nvcc is missing or refuses the source; its words follow.
    """
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    (folder / "fields.h").write_text(header())
    command = [nvcc, "-std=c++17", "-O1", "-gencode=arch=compute_90a,code=sm_90a", "-I", str(folder)]
    command += ["-o", str(folder / "probe"), str(HERE / "probe.cu")]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    except FileNotFoundError:
        raise SystemExit(f"expected nvcc on the PATH or at {nvcc}, got neither") from None
    if done.returncode:
        raise SystemExit(f"expected {HERE / 'probe.cu'} to compile, got\n{done.stderr[-4000:]}")
    return folder / "probe"


def first_line(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20).stdout.strip().split("\n")[-1]
    except (OSError, subprocess.TimeoutExpired):
        return ""


class Files:
    """Rows into one gzip file per group, flushed as they come."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.lock = folder, threading.Lock()
        self.open: dict[str, gzip.GzipFile] = {}
        self.raw: collections.Counter[str] = collections.Counter()
        self.head: dict[str, Any] = {}
        self.flushed = time.monotonic()

    def write(self, name: str, found: dict[str, Any]) -> None:
        size = len(found.get("raw", "")) + sum(len(c["raw"]) for c in found.get("ctas", ()))
        with self.lock:
            if self.raw[name] + size > RAW:
                found.pop("raw", None)
                for cta in found.get("ctas", ()):
                    cta.pop("raw", None)
            else:
                self.raw[name] += size
            if name not in self.open:
                self.open[name] = gzip.GzipFile(self.folder / f"{name}.jsonl.gz", "wb", 6)
                self._line(name, {"header": self.head})
            self._line(name, found)
            if time.monotonic() - self.flushed > 5:
                self.flushed = time.monotonic()
                for file in self.open.values():
                    file.flush()

    def _line(self, name: str, value: dict[str, Any]) -> None:
        self.open[name].write(json.dumps(value, separators=(",", ":")).encode() + b"\n")

    def close(self) -> None:
        for file in self.open.values():
            file.close()


class Probe:
    """Workers that take cases from one queue, each with a process of its own."""

    def __init__(
        self, command: list[str], cases: list[Case], files: Files, deadline: float, patience: float, log: IO[bytes]
    ) -> None:
        self.command, self.files, self.deadline, self.patience = command, files, deadline, patience
        self.queue = collections.deque(cases)
        self.planned = collections.Counter(key(case) for case in cases)
        self.tally: dict[tuple[str, str], collections.Counter[str]] = collections.defaultdict(collections.Counter)
        self.lock = threading.Lock()
        self.children: dict[int, Child] = {}
        self.calibration: list[dict[str, Any]] = []
        self.measured: list[tuple[tuple[str, str], int, list[str]]] = []
        self.gone: list[Child] = []
        self.log = log

    def take(self) -> Case | None:
        with self.lock:
            return self.queue.popleft() if self.queue and time.monotonic() < self.deadline else None

    def work(self, number: int) -> None:
        """One worker: a case, an answer, a row; after a fault a new process, after three failed starts none."""
        child, failed = None, 0
        while (case := self.take()) is not None:
            ended = False
            try:
                if child is None:
                    child = self.children[number] = Child(self.command, self.log, self.patience)
                try:
                    child.start()
                    failed = 0
                except Died as how:
                    failed += 1
                    with self.lock:
                        self.queue.appendleft(case)
                    print(f"worker {number}: no start ({how})", flush=True)
                    raise
                answer = child.ask(line(case))
                ended = answer.error != 0 and answer.stage == RAN
                self.keep(case, row(case, answer))
            except Died as how:
                ended = True
                if not failed:
                    self.keep(case, row(case, None, f"died: {how}"))
            if ended and child is not None:
                self.leave(child)
                child = None
            if failed >= 3:
                return
        if child is not None:
            self.leave(child)

    def leave(self, child: Child) -> None:
        child.stop()
        child.process.wait(60)  # contexts that are still being taken down keep new ones from starting
        with self.lock:
            self.gone = [c for c in self.gone if c.process.poll() is None] + [child]

    def keep(self, case: Case, found: dict[str, Any]) -> None:
        place = key(case)
        shas = [found["sha"]] if "sha" in found else [c["sha"] for c in found.get("ctas", ())]
        model = expected(case) if shas else None
        with self.lock:
            counts = self.tally[place]
            counts["modelled"] += model is not None
            counts["as model"] += model is not None and model == shas
            counts["rows"] += 1
            counts[outcome(found)] += 1
            counts["stray"] += bool(found.get("stray") or found.get("beyond"))
            if case["family"] == "barrier" and "states" in found:
                self.calibration.append(found)
            elif "states" in found and not found["completed"]:
                self.measured.append((place, case["bytes"], found["states"]))
        self.files.write(group(case), found)

    def run(self, workers: int) -> None:
        threads = [threading.Thread(target=self.work, args=(k,), daemon=True) for k in range(workers)]
        for thread in threads:
            thread.start()
        begin = last = time.monotonic()
        while any(thread.is_alive() for thread in threads):
            time.sleep(0.05)
            now = time.monotonic()
            if now - last > 15:
                last = now
                left = len(self.queue)
                print(f"{now - begin:5.0f} s: {sum(self.planned.values()) - left} cases taken, {left} left", flush=True)
            if now > self.deadline + 10:
                for child in list(self.children.values()):
                    child.process.kill()
                break
        for thread in threads:
            thread.join(5)
        for child in self.gone:
            child.process.wait(20)


def key(case: Case) -> tuple[str, str]:
    return case["family"], case.get("side", "")


COLUMNS = {"illegal instruction": "illegal", "misaligned address": "misalign", "illegal memory access": "access"}
SHOWN = ("planned", "rows", "ran", "refused", *COLUMNS.values(), "other", "stray", "modelled", "as model")
ABOUT = (
    "device",
    "capability",
    "driver_cuda",
    "runtime_cuda",
    "shared_optin",
    "shared_static",
    "registers",
    "reserved",
)


def outcome(found: dict[str, Any]) -> str:
    """The column of the table that a row counts in."""
    if "error" in found:
        return COLUMNS.get(found["error"], "other")
    return "refused" if found.get("code") else "ran"


def credit_shift(rows: list[dict[str, Any]]) -> tuple[int, int] | None:
    """How a credit shows in the raw barrier, (sign, shift), if one reading explains every calibration row."""
    for sign in (1, -1):
        for shift in range(64):
            fits = [credit(r["states"], sign, shift) == r["size"] for r in rows if not r["completed"]]
            if fits and all(fits):
                return sign, shift
    return None


def credit(states: list[str], sign: int, shift: int) -> int:
    """Bytes credited between the armed state and the one after the wait."""
    grown = sign * (int(states[2], 16) - int(states[1], 16)) % (1 << 64)
    return grown >> shift if grown % (1 << shift) == 0 else -1


def table(probe: Probe) -> str:
    """Planned and run cases by family and side, their outcomes, and how many credits are as expected."""
    shift = credit_shift(probe.calibration)
    credited: dict[tuple[str, str], list[int]] = collections.defaultdict(lambda: [0, 0])
    for place, size, states in probe.measured:
        credited[place][0] += shift is not None and credit(states, *shift) == size
        credited[place][1] += 1
    lines = [f"credit in the raw barrier (sign, shift): {shift}, from {len(probe.calibration)} rows"]
    lines.append(f"{'family':34}" + "".join(f"{c:>10}" for c in SHOWN) + "   credit as expected")
    for place in probe.planned:
        counts = probe.tally[place] | {"planned": probe.planned[place]}
        right, of = credited[place]
        text = f"   {right} of {of}" if of else ""
        lines.append(f"{' '.join(place):34}" + "".join(f"{counts.get(c, 0):>10}" for c in SHOWN) + text)
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    begin = time.monotonic()
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the rows")
    parser.add_argument("--deadline-s", type=float, default=480, help="seconds after which no case is started")
    parser.add_argument("--procs", type=int, default=12, help="processes at a time")
    parser.add_argument("--families", default="", help="only these families and rules, comma-separated")
    parser.add_argument("--first", type=int, default=0, help="skip the cases before this id")
    parser.add_argument("--patience-s", type=float, default=20, help="seconds until a silent process is killed")
    parser.add_argument("--runner", default="", help="a command in place of the compiled program")
    chosen = parser.parse_args(arguments)

    names = set(filter(None, chosen.families.split(",")))
    cases = [c for c in every_case() if c["id"] >= chosen.first and (not names or c["family"] in names)]
    unknown = names - {c["family"] for c in cases}
    if unknown:
        parser.error(
            f"--families: expected names of families.FAMILIES or rules.RULES, got {', '.join(sorted(unknown))}"
        )
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryFile() as log:
        folder = Path(scratch)
        contents.write(folder / "contents")
        digest = sha((folder / "contents").read_bytes())
        command = chosen.runner.split() or [str(build(folder))]
        command.append(str(folder / "contents"))
        print(f"{len(cases)} cases; built after {time.monotonic() - begin:.1f} s", flush=True)
        files = Files(chosen.out)
        probe = Probe(command, cases, files, begin + chosen.deadline_s, chosen.patience_s, log)
        try:
            first = Child(command, probe.log, chosen.patience_s)
            try:
                about = first.start().payload.decode().split("\n")
            except Died as how:
                probe.log.seek(0)
                print(f"expected a device that runs the probe, got {how}: {probe.log.read().decode().strip()}")
                return 2
            finally:
                probe.leave(first)
            files.head = dict(zip(ABOUT, about, strict=False))
            files.head["driver"] = first_line("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
            files.head["nvcc"] = first_line("nvcc", "--version")
            files.head |= {"contents": digest, "cases": len(cases), "rules": {rule: count for rule, _, count in RULES}}
            print(json.dumps(files.head), flush=True)
            probe.run(max(1, min(chosen.procs, 2 * (os.cpu_count() or 1))))
        finally:
            files.close()
        summary = f"{table(probe)}\n{time.monotonic() - begin:.0f} s"
        lowest = min((case["id"] for case in probe.queue), default=None)
        if lowest is not None:
            summary += f"; {len(probe.queue)} cases not run: go on with --first {lowest}"
        log.seek(0)
        said = log.read().decode(errors="replace").strip().splitlines()
        if said:
            summary += f"\n{len(said)} lines on standard error, the last: {said[-1][:300]}"
        (chosen.out / "summary.txt").write_text(json.dumps(files.head) + "\n" + summary + "\n")
        print(summary)
    return 0


if __name__ == "__main__":
    sys.exit(main())

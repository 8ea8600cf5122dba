"""Ask a GPU of compute capability 9.0 what its matrix instructions read, write and sum, and compare with the semantics.

    python benchmarks/hardware/matrix_probe.py --out DIR

Builds ``matrix_probe.cu`` with nvcc. Shared memory holds small whole numbers, whose sums are exact in any order, so
that every bit must be right; a second run on normal numbers measures errors against ``error_bound``. Writes
``matrix_probe.jsonl.gz``: for each case what it is, how the semantics did (``same``), and the SHA-256 (16 hex digits)
of what the device left: registers in the order (thread, value), or the first 32 KiB of shared memory. With ``--raw``
also ``raw.npz``, the words of the device.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import hashlib
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
if not __package__:  # run as a file: the repository's root, not this folder, is where imports begin
    sys.path[0] = str(HERE.parents[1])

from symlayout.atoms import MatrixDescriptor
from symlayout.dtype import bf16
from symlayout.semantics import ldmatrix, mma, stmatrix, wgmma

SHARED, WORDS, OUT = 192 * 1024, 64, 8192
DUMPED = 4 * OUT  # bytes of shared memory after stmatrix
ROOM = 64 * 1024  # where operands start below; their parts reach less than 128 KiB further
Case = dict[str, Any]


def shared_memory(whole: bool) -> np.ndarray[Any, Any]:
    """The bytes that each case starts with: whole numbers of -3 .. 3, or normal numbers."""
    draw = np.random.RandomState(11)
    n = SHARED // 2
    numbers = draw.randint(-3, 4, n) if whole else draw.standard_normal(n) * 2.0 ** draw.randint(-6, 7, n)
    return numbers.astype(bf16.numpy()).view(np.uint8)


def cases() -> Iterator[Case]:
    """Descriptors by family, then rows for ldmatrix and stmatrix, then fragments."""
    draw = random.Random(5)
    for family in ("canonical", "phase", "base_offset", "steps", "start"):
        for major_a in ("K", "MN"):
            for major_b in ("K", "MN"):
                for swizzle in (0, 32, 64, 128):
                    for _ in range(5):
                        a, b = (_operand(draw, family, major, swizzle) for major in (major_a, major_b))
                        yield {"kind": "wgmma", "family": family, "a": a, "b": b}
    for kind in ("ldmatrix", "stmatrix"):
        for n in (1, 2, 4):
            for trans in (False, True):
                for _ in range(3):
                    rows = draw.sample(range(DUMPED // 16), 32)
                    word = f"{kind}.x{n}{'.trans' * trans}"
                    yield {"kind": kind, "family": kind, "word": word, "rows": [16 * r for r in rows]}
    yield {"kind": "mma", "family": "mma"}


def _operand(draw: random.Random, family: str, major: str, swizzle: int) -> Case:
    """A descriptor of 64 x 16: of tiles as they are, or with one thing that no tile of CuTe has."""
    span = max(16, swizzle)
    start, base_offset = 1024 * draw.randrange(ROOM // 1024), 0
    leading, stride = (draw.randrange(1, 5) * 8 * span for _ in range(2))
    if family == "phase":  # no multiple of the swizzle's repeat
        start += 128 * draw.randrange(1, 8)
    if family == "base_offset":
        start, base_offset = start + 128 * draw.randrange(8), draw.randrange(1, 8)
    if family == "steps":  # parts that begin anywhere
        leading, stride = (16 * draw.randrange(1, 300) for _ in range(2))
    if family == "start" and major == "K":  # inside a row of the swizzle
        start += 32 * draw.randrange(max(1, span // 32))
    if family == "start" and major == "MN":
        start += 8 * span * draw.randrange(4)
    return {
        "start": start,
        "leading": leading,
        "stride": stride,
        "swizzle": swizzle,
        "major": major,
        "base": base_offset,
    }


def descriptor(x: Case) -> MatrixDescriptor:
    return MatrixDescriptor(x["start"], x["leading"], x["stride"], x["swizzle"], x["major"], x["base"])


def record(case: Case) -> list[int]:
    """The words of a case."""
    if case["kind"] == "wgmma":
        a, b = descriptor(case["a"]), descriptor(case["b"])
        words = [0, a.encode(), b.encode(), int(a.major == "MN"), int(b.major == "MN")]
    elif case["kind"] == "mma":
        words = [3]
    else:
        name, count, *trans = case["word"].split(".")
        words = [1 if name == "ldmatrix" else 2, int(count[1:]), len(trans), *case["rows"]]
    return words + [0] * (WORDS - len(words))


def expected(case: Case, shared: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], Any]:
    """What the semantics leave, as an array; for products the bound of each value."""
    if case["kind"] == "wgmma":
        start = np.zeros((128, 32), np.float32)
        found = wgmma("wgmma.m64n64k16.bf16", shared, descriptor(case["a"]), descriptor(case["b"]), start)
        return found.values, found.bound
    if case["kind"] == "mma":
        lanes = shared[: 32 * 32].view(bf16.numpy()).reshape(32, 16)
        found = mma("mma.m16n8k16.bf16", lanes[:, :8], lanes[:, 8:12], np.zeros((32, 4), np.float32))
        return found.values, found.bound
    n = int(case["word"].split(".")[1][1:])
    if case["kind"] == "ldmatrix":
        return ldmatrix(case["word"], shared, case["rows"]), None
    memory = shared.copy()
    registers = memory[: 32 * 16].copy().view(np.uint16).reshape(32, 8)[:, : 2 * n]
    stmatrix(case["word"], memory, case["rows"][: 8 * n], registers)
    return memory[:DUMPED], None


def answered(case: Case, out: np.ndarray[Any, Any], like: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """What the device left, in the form of what is expected."""
    words = {"wgmma": 128 * 32, "mma": 32 * 4, "ldmatrix": 32 * 4, "stmatrix": OUT}[case["kind"]]
    found = out[:words].view(like.dtype)
    if case["kind"] == "ldmatrix":
        found = found.reshape(32, 8)[:, : like.shape[1]]
    return np.ascontiguousarray(found).reshape(like.shape)


def digest(x: np.ndarray[Any, Any]) -> str:
    """Of the values: a sum of 0 may have either sign."""
    return hashlib.sha256((x + x.dtype.type(0)).tobytes()).hexdigest()[:16]


def ask(program: Path, folder: Path, shared: np.ndarray[Any, Any], asked: list[Case]) -> np.ndarray[Any, Any]:
    """The device's words for each case. Raises CalledProcessError with what the program said."""
    (folder / "shared.bin").write_bytes(shared.tobytes())
    (folder / "cases.bin").write_bytes(np.array([record(c) for c in asked], dtype=np.uint64).tobytes())
    names = [str(folder / n) for n in ("shared.bin", "cases.bin", "out.bin")]
    subprocess.run([str(program), *names], check=True, timeout=120)
    return np.fromfile(folder / "out.bin", dtype=np.uint32).reshape(len(asked), OUT)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--raw", action="store_true")
    given = parser.parse_args()
    folder = given.out
    asked = list(cases())
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(scratch) / "matrix_probe"
        build = ["nvcc", "-gencode=arch=compute_90a,code=sm_90a", "-O1", "-o", str(program)]
        subprocess.run([*build, str(HERE / "matrix_probe.cu")], check=True, timeout=300)
        whole, normal = shared_memory(True), shared_memory(False)
        out, rounded = (ask(program, Path(scratch), x, asked) for x in (whole, normal))
    if given.raw:
        np.savez_compressed(folder / "raw.npz", whole=out, normal=rounded)
    counts: collections.Counter[tuple[str, bool]] = collections.Counter()
    with gzip.open(folder / "matrix_probe.jsonl.gz", "wt") as f:
        for case, words in zip(asked, out, strict=True):
            want, _ = expected(case, whole)
            got = answered(case, words, want)
            same = bool((got == want).all())
            counts[case["family"], same] += 1
            f.write(json.dumps({**case, "same": same, "sha": digest(got)}) + "\n")
    worst = 0.0
    for case, words in zip(asked, rounded, strict=True):
        want, bound = expected(case, normal)
        if bound is not None and case["family"] in ("canonical", "mma"):
            off = np.abs(answered(case, words, want).astype(np.float64) - want)
            worst = max(worst, float((off / bound).max()))
    for (family, same), n in sorted(counts.items()):
        print(f"{family:12} {'same' if same else 'OTHER':6} {n}")
    print(f"largest error of a product: {worst:.3f} of the bound")


if __name__ == "__main__":
    main()

"""Ask a GPU of compute capability 9.0 what its matrix products are: of every type, and of numbers that round.

    python benchmarks/hardware/product_probe.py --out DIR

Builds ``product_probe.cu`` with nvcc. *Whole* cases multiply small whole numbers, whose sums are exact in any order:
every N, each type of operands and sums, operands in registers, descriptors of every kind. *Number* cases have sums that
round, cancel, underflow, overflow or are NaN. Writes ``products_0.npz`` and so on: the words that each case left, in
the order of ``cases``; ``product_replay.py`` compares them with the semantics.
"""

from __future__ import annotations

import argparse
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

from benchmarks.hardware.product_numbers import LATER, REGIMES, Numbers, matrices, packed, whole
from benchmarks.hardware.product_variants import BITS, INDEX, TYPES, VARIANTS, Variant, sources
from symlayout.atoms import MatrixDescriptor, MmaAtom, atom
from symlayout.dtype import DType
from symlayout.errors import LayoutError
from symlayout.semantics.matrix import to_threads

SHARED, WORDS = 192 * 1024, 16
PART = 700  # cases of one file of words
ROOM = 64 * 1024  # where operands start below
FAMILIES = ("canonical", "phase", "base_offset", "steps", "start")
MAJOR = {"K": "K", "M": "MN"}
Case = dict[str, Any]


def row_of(case: Case) -> MmaAtom:
    row = atom(case["word"])
    assert isinstance(row, MmaAtom)
    return row


def variant(case: Case) -> Variant:
    return VARIANTS[INDEX[case["word"], case["majors"]]]


# -- cases ----------------------------------------------------------------------------------------------


def cases() -> list[Case]:
    """All cases, each with its number as seed."""
    found = [*_whole(), *_numbers(REGIMES), *_numbers(LATER)]
    return [case | {"seed": seed} for seed, case in enumerate(found)]


def _whole() -> Iterator[Case]:
    draw = random.Random(7)
    for v in VARIANTS:
        if v.name == "mma":
            yield from (_case(v, "whole") for _ in range(2))
            continue
        for swizzle in (0, 32, 64, 128) if v.rs or v.majors == "KK" else (0, 128):
            family = "rs" if v.rs else "n" if v.majors == "KK" else "major"
            yield from _of_shared(draw, v, family, "canonical", swizzle)
        if v.n in (16, 64, 128, 256) and not v.rs:
            for how in FAMILIES[1:]:
                for swizzle in (0, 32, 64, 128):
                    yield from _of_shared(draw, v, "descriptor", how, swizzle)
        if v.n in (8, 64, 256) and v.majors == "KK":
            yield from (case | {"scale": 0} for case in _of_shared(draw, v, "zero", "canonical", 128))
        if v.sums == "i32" and v.n in (8, 64):
            yield from _of_shared(draw, v, "wrap", "canonical", 128)


def _case(v: Variant, family: str, **more: Any) -> Case:
    return {"word": v.word, "majors": v.majors, "family": family, "scale": 1, "steps": 1} | more


def _of_shared(draw: random.Random, v: Variant, family: str, how: str, swizzle: int) -> Iterator[Case]:
    """A case with random descriptors; MN-major rows that do not fill the span are a family of their own."""
    size = BITS[v.dtype] // 8
    ragged = v.majors[1] == "M" and v.n * size > swizzle and swizzle and v.n * size % swizzle
    a = {} if v.rs else {"a": _operand(draw, how, MAJOR[v.majors[0]], swizzle, 64, size)}
    b = _operand(draw, how, MAJOR[v.majors[1]], swizzle, v.n, size)
    yield _case(v, "ragged" if ragged else family, how=how, b=b, **a)


def _operand(draw: random.Random, how: str, major: str, swizzle: int, rows: int, size: int) -> Case:
    """A descriptor of tiles as they are, or with one thing that no tile of CuTe has, inside of shared memory."""
    span = max(16, swizzle)
    while True:
        start, base = 1024 * draw.randrange(ROOM // 1024), 0
        leading, stride = (draw.randrange(1, 5) * 8 * span for _ in range(2))
        if how == "phase":
            start += 128 * draw.randrange(1, 8)
        if how == "base_offset":
            start, base = start + 128 * draw.randrange(8), draw.randrange(1, 8)
        if how == "steps":
            leading, stride = (16 * draw.randrange(1, 300) for _ in range(2))
        if how == "start":
            start += 32 * draw.randrange(max(1, span // 32)) if major == "K" else 8 * span * draw.randrange(4)
        found = {"start": start, "leading": leading, "stride": stride, "swizzle": swizzle, "major": major, "base": base}
        at = addresses(found, rows, 32 // size, size)
        if at.min() >= 0 and at.max() < SHARED - 4:
            return found


def descriptor(x: Case) -> MatrixDescriptor:
    return MatrixDescriptor(x["start"], x["leading"], x["stride"], x["swizzle"], x["major"], x["base"])


def addresses(x: Case, rows: int, depth: int, size: int) -> Numbers:
    """Those of a descriptor; of rows that do not fill the span, the first of those that do."""
    dtype = {1: "u8", 2: "u16", 4: "u32"}[size]
    try:
        return descriptor(x).addresses(rows, depth, dtype)
    except LayoutError:
        unit = max(1, x["swizzle"] // size)
        return descriptor(x).addresses(-(-rows // unit) * unit, depth, dtype)[:rows]


def _numbers(of: tuple[str, ...]) -> Iterator[Case]:
    for dtype, sums in TYPES:
        if sums == "i32":
            continue
        k = 256 // BITS[dtype]
        regimes = [r for r in of if r != "low" or dtype == "tf32"]
        for regime in regimes:
            for _ in range(3):
                yield _plain("wgmma", 16, k, dtype, sums, regime)
            for steps in (4,) if regime in ("normal", "spread", "cancel") else ():
                yield _plain("wgmma", 16, k, dtype, sums, regime, steps=steps)
        for regime in ("normal", "cancel") if of is REGIMES else of:
            yield _plain("wgmma", 256, k, dtype, sums, regime)
        for regime in ("normal", "ladder", "bits", *("low",) * (dtype == "tf32")) if of is REGIMES else of:
            yield _plain("wgmma", 8, k, dtype, sums, regime, rs=True)
        for shape in {k // 2, k}:
            if ("mma", 8, shape, dtype, sums) in MMA:
                for regime in regimes:
                    for _ in range(4):
                        yield _plain("mma", 8, shape, dtype, sums, regime)


MMA = {(v.name, v.n, v.k, v.dtype, v.sums) for v in VARIANTS if v.name == "mma"}


def _plain(name: str, n: int, k: int, dtype: str, sums: str, regime: str, steps: int = 1, rs: bool = False) -> Case:
    """Canonical tiles, not swizzled, A before B; of several steps one behind the other."""
    v = Variant(name, n, k, dtype, sums, rs)
    case = _case(v, "numbers", regime=regime) | {"steps": steps}
    if name == "mma":
        return case
    tile = {"leading": 128, "stride": 256, "swizzle": 0, "major": "K", "base": 0}
    return case | ({} if rs else {"a": {"start": 0, **tile}}) | {"b": {"start": 2048 * steps, **tile}}


# -- what a case works on -------------------------------------------------------------------------------


def inputs(case: Case) -> dict[str, Numbers]:
    """Shared memory (bytes) and the registers (threads, values) of A, B and C; those that the instruction has."""
    v, row = variant(case), row_of(case)
    kind, sums = DType.of(v.dtype), DType.of(v.sums)
    draw = np.random.RandomState(case["seed"])
    (m, n, k), words = row.mnk, v.words
    if case["family"] != "numbers":
        found = {"shared": whole(kind, SHARED // kind.bytes, np.random.RandomState(11)).view(np.uint8)}
        held = {"a": (v.threads, words[0] * 4 // kind.bytes), "b": (v.threads, words[1] * 4 // kind.bytes)}
        found |= {name: whole(kind, shape, draw) for name, shape in held.items() if shape[1]}
        c = draw.randint(-100, 101, (v.threads, words[2] * 4 // sums.bytes))
        if case["family"] == "wrap":
            c = np.where(draw.rand(*c.shape) < 0.5, 2**31 - 1 - abs(c), -(2**31) + abs(c))
        start = c.astype(sums.numpy())
        if not case["scale"]:
            start.view(np.uint8)[:] = 0xFF
        return found | {"c": start}
    a, b, c = matrices(case["regime"], kind, sums, (m, n, case["steps"] * k), draw)
    found = {"c": to_threads(row.tv_c, c)}
    if v.name == "mma":
        return found | {"a": to_threads(row.tv_a, a), "b": to_threads(row.tv_b, b)}
    parts = [packed(b[:, s * k : s * k + k]) for s in range(case["steps"])]
    first = [packed(a[:, s * k : s * k + k]) if not v.rs else np.zeros(2048, np.uint8) for s in range(case["steps"])]
    return found | {"shared": np.concatenate(first + parts)} | ({"a": to_threads(row.tv_a, a)} if v.rs else {})


class Blob:
    """Bytes that cases point into, each kept once, at multiples of 16."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.at: dict[bytes, int] = {}
        self.size = 0

    def put(self, array: Numbers) -> int:
        text = np.ascontiguousarray(array).tobytes()
        text += bytes(-len(text) % 16)
        if text not in self.at:
            self.at[text] = self.size
            self.parts.append(text)
            self.size += len(text)
        return self.at[text]


def record(case: Case, blob: Blob, out: int) -> list[int]:
    """The words of a case."""
    v, held = variant(case), inputs(case)
    at = {name: blob.put(held[name]) if name in held else 0 for name in ("shared", "a", "b", "c")}
    bits = [descriptor(case[x]).encode() if x in case else 0 for x in ("a", "b")]
    size = len(held["shared"]) if "shared" in held and v.name == "wgmma" else 0
    steps = [2048 // 16, v.n * 32 // 16]
    words = [INDEX[v.word, v.majors], at["shared"], size, *bits, case["scale"], at["a"], at["b"], at["c"], out]
    words += [case["steps"], *steps]
    return words + [0] * (WORDS - len(words))


def build(folder: Path) -> Path:
    """Compile the program. Raises CalledProcessError where nvcc refuses it."""
    for name, text in sources().items():
        (folder / name).write_text(text)
    command = ["nvcc", "-std=c++17", "-O1", "-gencode=arch=compute_90a,code=sm_90a", "--split-compile=0"]
    command += ["-I", str(folder), "-o", str(folder / "product_probe"), str(HERE / "product_probe.cu")]
    subprocess.run(command, check=True, timeout=300, stderr=subprocess.DEVNULL)
    return folder / "product_probe"


def ask(program: Path, folder: Path, asked: list[Case]) -> list[Numbers]:
    """The words that each case left. Raises CalledProcessError where the program fails."""
    blob, out, records, sizes = Blob(), 0, [], []
    for case in asked:
        v = variant(case)
        records.append(record(case, blob, 4 * out))
        sizes.append(v.threads * v.words[2])
        out += sizes[-1]
    (folder / "blob.bin").write_bytes(b"".join(blob.parts))
    (folder / "cases.bin").write_bytes(np.array(records, dtype=np.uint64).tobytes())
    names = [str(folder / n) for n in ("blob.bin", "cases.bin", "out.bin")]
    subprocess.run([str(program), *names], check=True, timeout=120)
    return np.split(np.fromfile(folder / "out.bin", dtype=np.uint32), np.cumsum(sizes)[:-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    asked = cases()
    with tempfile.TemporaryDirectory() as scratch:
        found = ask(build(Path(scratch)), Path(scratch), asked)
    given.out.mkdir(parents=True, exist_ok=True)
    for part in range(0, len(found), PART):
        np.savez_compressed(given.out / f"products_{part // PART}.npz", words=np.concatenate(found[part : part + PART]))
    print(f"{len(asked)} cases, {sum(map(len, found))} words")


if __name__ == "__main__":
    main()

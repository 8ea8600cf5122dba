"""How far the functions of ``Map`` are on a device from their exact values, beside what is stated of their errors.

    python -m benchmarks.hardware.functions [--only ex2.approx ..] [--out FILE]

A function of one 16-bit number runs on all of them, any other on 2^20 draws of random bits and of usual numbers. Of an
approximate function the worst error is given as a share of its documented bound; one that rounds once
has to leave the very bits. NaNs are compared as such, and those of other bits counted. Exit status 1 where a result is
outside, 4 where there is no device.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import gpu
from symlayout import Layout
from symlayout.atoms.functions import FUNCTIONS, MapFunction
from symlayout.dtype import DType
from symlayout.kernel import Builder, Kernel

TYPES = ("f32", "f64", "f16", "bf16")
# A conversion to the same type is a copy; a product of 64 bits has no reference; relu of 16 bits is not printed.
WITHOUT = {("convert", kind) for kind in TYPES} | {("fma", "f64"), ("relu", "f16"), ("relu", "bf16")}
DRAWS = 1 << 20
THREADS, EACH = 128, 2

Array = np.ndarray[Any, Any]


def applied(word: str, kind: str, n: int) -> Kernel:
    """y = f(x0, ..) for n elements, two a thread.

    >>> print(applied("rcp.approx", "f32", 256).text().splitlines()[-2].strip())
    rcp.approx r0 -> r x2
    """
    dtype, row = DType.of(kind), FUNCTIONS[word]
    k = Builder("applied", grid=(n // (THREADS * EACH),), threads=THREADS)
    given = [k.global_tensor(f"x{i}", kind, Layout(n)) for i in range(len(row.counts))]
    out, r = k.global_tensor("y", kind, Layout(n)), k.registers("r", kind, EACH)
    registers = [k.registers(f"r{i}", kind, EACH) for i in range(len(given))]
    at = EACH * (THREADS * k.block[0] + k.thread)
    for x, own in zip(given, registers, strict=True):
        k.copy(f"ld.global.{EACH * dtype.bytes}", x(at), own())
    k.map(word, tuple(x() for x in registers), r(), EACH)
    k.copy(f"st.global.{EACH * dtype.bytes}", r(), out(at))
    return k.kernel()


def numbers(kind: str, n: int, draw: np.random.Generator) -> Array:
    """Random bits, and as many numbers of usual size, in random order."""
    dtype = DType.of(kind)
    bits = draw.integers(0, 1 << dtype.bits, n // 2, dtype=np.uint64).astype(f"u{dtype.bytes}")
    usual = (draw.standard_normal(n - n // 2) * 4.0 ** draw.integers(-4, 5, n - n // 2)).astype(dtype.numpy())
    found = np.concatenate([bits.view(dtype.numpy()), usual])
    return found[draw.permutation(n)]


def sources(row: MapFunction, kind: str) -> list[Array]:
    """Every number of 16 bits for a function of one, else draws."""
    dtype, count, draw = DType.of(kind), len(row.counts), np.random.default_rng(1)
    if count == 1 and dtype.bits == 16:
        return [np.arange(1 << 16, dtype=np.uint16).view(dtype.numpy())]
    drawn = [numbers(kind, DRAWS, draw) for _ in range(count)]
    # Where a function takes one number for all elements, the elements of a thread have the same.
    return [np.repeat(x[::EACH], EACH) if n == 1 else x for x, n in zip(drawn, row.counts, strict=True)]


def compared(row: MapFunction, kind: str, given: list[Array], found: Array) -> dict[str, Any]:
    """What a device computed, next to the exact value and its bound."""
    dtype = DType.of(kind)
    typed = [(dtype, x[None]) for x in given]
    wanted, bound = row.result(typed, dtype, 1)[0], row.error_bound(typed, dtype, 1)[0]
    with np.errstate(all="ignore"):
        nan = np.isnan(wanted.astype(np.float64)) & np.isnan(found.astype(np.float64))
        other_bits = nan & (wanted.view(f"u{dtype.bytes}") != found.view(f"u{dtype.bytes}"))
        off = np.abs(found.astype(np.float64) - wanted.astype(np.float64))
        same = wanted.view(f"u{dtype.bytes}") == found.view(f"u{dtype.bytes}")
        inside = nan | same | (np.isfinite(off) & (off <= bound))
        share = np.where(np.isfinite(off) & (bound > 0), off / np.where(bound > 0, bound, 1), 0.0)
    worst = int(np.argmax(share))
    told: dict[str, Any] = {
        **{"function": row.word, "type": kind, "stated": str(row.errors.get(kind, "rounded once"))},
        **{"inputs": len(found), "outside": int((~inside).sum()), "other_nans": int(other_bits.sum())},
        **{"not_the_nearest": int((~same & ~nan).sum()), "worst_of_bound": round(float(share[worst]), 4)},
    }
    if not inside.all():
        at = [int(i) for i in np.flatnonzero(~inside)[:4]]
        told["first"] = [[*(float(x[i]) for x in given), float(found[i]), float(wanted[i])] for i in at]
    return told


def measured(words: list[str]) -> Iterator[dict[str, Any]]:
    """A row for each function and type."""
    with gpu.Device() as device:
        for word in words:
            row = FUNCTIONS[word]
            for kind in TYPES:
                if not row.has(DType.of(kind)) or (word, kind) in WITHOUT:
                    continue
                given = sources(row, kind)
                kernel = applied(word, kind, len(given[0]))
                found = gpu.run_unproved(kernel, {f"x{i}": x for i, x in enumerate(given)}, device)["y"]
                yield {"device": device.facts.name, **compared(row, kind, given, found)}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="*", choices=FUNCTIONS, default=list(FUNCTIONS))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if not gpu.availability():
        print(gpu.availability())
        return 4
    rows = []
    for r in measured(options.only):
        rows.append(r)
        print(
            f"{r['function']:14} {r['type']:5} {r['inputs']:8} inputs, {r['outside']:6} outside of: {r['stated']};"
            f" worst {r['worst_of_bound']:.3f} of it, {r['other_nans']} NaNs of other bits {r.get('first', '')}",
            flush=True,
        )
        if options.out:
            options.out.write_text("".join(json.dumps(x) + "\n" for x in rows))
    return 1 if any(r["outside"] for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())

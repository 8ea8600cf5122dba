"""What the functions of ``Map`` give on a device, beside their exact values and what is stated of their errors.

    python -m benchmarks.hardware.functions [--only ex2.approx ..] [--types f32 ..] [--out FILE]

Every function runs in every type that has code for it, and every conversion from each type to the others. Numbers of 16
bits are all there, pairs of 8 bits too; others are 2^20 draws of bits, of usual numbers and of numbers next to ties. Of
an approximate function the worst error is given as a share of its documented bound; one that rounds once has to leave
the very bits. NaNs are compared as such, and those of other bits counted. Exit status 1 where a result is outside, 4
where there is no device.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import gpu
from benchmarks.hardware.command import NO_DEVICE, is_missing, parser_of, write
from gpu.codegen.numbers import applied as printed
from symlayout import Layout
from symlayout.atoms.functions import FUNCTIONS, INTEGERS, MapFunction
from symlayout.dtype import DType
from symlayout.errors import LayoutError
from symlayout.kernel import Builder, Kernel

TYPES = ("f32", "f64", "f16", "bf16", "e4m3", "e5m2", *INTEGERS)
DRAWS = 1 << 20
THREADS, EACH = 128, 2
TOGETHER = 8  # functions of a kernel, each with an output of its own

Array = np.ndarray[Any, Any]
Call = tuple[str, str]  # a function, and the type of its results


def calls(kind: str, words: Sequence[str] = tuple(FUNCTIONS)) -> list[Call]:
    """The functions of a type that have code, and its conversions to the others.

    >>> calls("u8", ("add", "div", "relu")), ("convert", "bf16") in calls("i64")
    ([('add', 'u8'), ('relu', 'u8')], True)
    """
    to = [kind] + [other for other in TYPES if other != kind]
    named = [(word, out) for word in words for out in (to[1:] if word == "convert" else to[:1])]
    return [call for call in named if _has_code(kind, *call)]


def _has_code(kind: str, word: str, out: str) -> bool:
    row, type_of = FUNCTIONS[word], DType.of(out)
    if (word, out) == ("fma", "f64") or not row.has(type_of):  # a product of 64 bits has no reference
        return False
    try:
        return row.packed or bool(printed(word, [DType.of(kind)] * len(row.counts), type_of, "abc"))
    except LayoutError:
        return False


def applied(kind: str, some: Sequence[Call], n: int) -> Kernel:
    """y0 = f(x0, ..), y1 = g(x0, ..) and so on, for n elements, two a thread.

    >>> print(*applied("f32", [("add", "f32"), ("convert", "i8")], 256).text().splitlines()[-4:], sep="\\n")
      add r0, r1 -> s0 x2
      st.global.8 s0 -> y0[256*block_x + 2*thread]
      convert r0 -> s1 x2
      st.global.2 s1 -> y1[256*block_x + 2*thread]
    """
    k = Builder("applied", grid=(n // (THREADS * EACH),), threads=THREADS)
    given = [k.global_tensor(f"x{i}", kind, Layout(n)) for i in range(3)]
    registers = [k.registers(f"r{i}", kind, EACH) for i in range(3)]
    at = EACH * (THREADS * k.block[0] + k.thread)
    for x, own in zip(given, registers, strict=True):
        k.copy(f"ld.global.{EACH * DType.of(kind).bytes}", x(at), own())
    for i, (word, out) in enumerate(some):
        y, r = k.global_tensor(f"y{i}", out, Layout(n)), k.registers(f"s{i}", out, EACH)
        k.map(word, tuple(own() for own in registers[: len(FUNCTIONS[word].counts)]), r(), EACH)
        k.copy(f"st.global.{EACH * DType.of(out).bytes}", r(), y(at))
    return k.kernel()


def numbers(kind: str, n: int, draw: np.random.Generator) -> Array:
    """Random bits; numbers of usual size; of types of 32 bits or more numbers next to ties of narrower ones; zeros."""
    dtype, which = DType.of(kind), draw.integers(0, 16, n)
    whole = dtype.kind in ("int", "uint")
    usual = draw.standard_normal(n) * 4.0 ** draw.integers(-4, 5, n)
    width = draw.choice(
        [8, 24] if dtype.bits == 64 else [8], n
    )  # a tie of bf16 or f32 has one bit more than these hold
    tie = (
        (1 << width | draw.integers(0, 1 << width) | 1) << draw.integers(0, dtype.bits - 1 - width)
        if dtype.bits >= 32
        else np.zeros(n, np.int64)
    )
    tie += draw.integers(-1, 2, n)
    found = draw.integers(0, 256, n * dtype.bytes, np.uint8).view(dtype.numpy())
    for at, x in ((which < 7, np.trunc(16 * usual) if whole else usual), (which > 12, tie), (which == 7, 0 * tie)):
        found[at] = (x.astype(np.int64) if whole else x)[at].astype(dtype.numpy())
    return found


def sources(kind: str) -> list[Array]:
    """Three operands: all numbers of 16 bits as the first, all pairs of 8 bits as the first two, else draws."""
    dtype, draw = DType.of(kind), np.random.default_rng(1)
    x, y, z = (numbers(kind, DRAWS, draw) for _ in range(3))
    if dtype.bits <= 16:
        every = np.resize(np.arange(1 << 16, dtype=np.uint16), DRAWS)
        x, y = (every, y) if dtype.bits == 16 else (every.astype(np.uint8), (every >> 8).astype(np.uint8))
        x, y = x.view(dtype.numpy()), y.view(dtype.numpy())
    return [x, np.where(draw.integers(0, 8, DRAWS) == 0, x, y) if dtype.bits > 8 else y, z]


def compared(row: MapFunction, kind: str, out: str, given: list[Array], found: Array) -> dict[str, Any]:
    """What a device computed, next to the exact value and its bound."""
    of, dtype = DType.of(kind), DType.of(out)
    # Where a function takes one number for all elements, the elements of a thread have that of the first.
    used = [np.repeat(x[::EACH], EACH) if n == 1 else x for x, n in zip(given, row.counts, strict=False)]
    typed = [(of, x[None]) for x in used]
    wanted, bound = row.result(typed, dtype, 1)[0], row.error_bound(typed, dtype, 1)[0]
    with np.errstate(all="ignore"):
        nan = np.isnan(wanted.astype(np.float64)) & np.isnan(found.astype(np.float64))
        same = wanted.view(f"u{dtype.bytes}") == found.view(f"u{dtype.bytes}")
        off = np.abs(found.astype(np.float64) - wanted.astype(np.float64))
        inside = nan | same | ((out in row.errors) & np.isfinite(off) & (off <= bound))
        share = np.where(np.isfinite(off) & (bound > 0), off / np.where(bound > 0, bound, 1), 0.0)
    told: dict[str, Any] = {
        **{"function": row.word, "of": kind, "type": out, "stated": str(row.errors.get(out, "rounded once"))},
        **{"inputs": len(found), "outside": int((~inside).sum()), "other_nans": int((nan & ~same).sum())},
        **{"not_the_nearest": int((~same & ~nan).sum()), "worst_of_bound": round(float(share.max()), 4)},
    }
    if not inside.all():
        at = [int(i) for i in np.flatnonzero(~inside)[:4]]
        told["first"] = [[*(str(x[i]) for x in used), str(found[i]), str(wanted[i])] for i in at]
    return told


def measured(types: Sequence[str], words: Sequence[str]) -> Iterator[dict[str, Any]]:
    """A row for each function and type."""
    with gpu.Device() as device:
        for kind in types:
            given, every = sources(kind), calls(kind, words)
            for some in (every[i : i + TOGETHER] for i in range(0, len(every), TOGETHER)):
                inputs = {f"x{i}": x for i, x in enumerate(given)}
                found = gpu.run_unproved(applied(kind, some, DRAWS), inputs, device)
                for i, (word, out) in enumerate(some):
                    yield {"device": device.facts.name, **compared(FUNCTIONS[word], kind, out, given, found[f"y{i}"])}


def main() -> int:
    parser = parser_of(__doc__, FUNCTIONS)
    parser.add_argument("--types", nargs="*", choices=TYPES, default=TYPES)
    options = parser.parse_args()
    if is_missing():
        return NO_DEVICE
    rows = []
    for r in measured(options.types, options.only):
        rows.append(r)
        print(
            f"{r['function']:14} {r['of']:>4} to {r['type']:5} {r['outside']:6} of {r['inputs']} outside of:"
            f" {r['stated']}; worst {r['worst_of_bound']:.3f} of it,"
            f" {r['other_nans']} NaNs of other bits {r.get('first', '')}",
            flush=True,
        )
        write(options.out, rows)
    return 1 if any(r["outside"] for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())

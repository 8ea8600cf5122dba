"""The numbers that ``product_probe`` multiplies: whole ones, and such that sums round, cancel, underflow, overflow."""

from __future__ import annotations

from typing import Any

import numpy as np

from symlayout.dtype import DType, tf32

Numbers = np.ndarray[Any, Any]
Matrices = tuple[Numbers, Numbers, Numbers]

REGIMES = ("normal", "spread", "cancel", "against", "ladder", "subnormal", "huge", "special", "bits", "low")
LATER = ("uneven",)
# By type: exponents of the smallest normal and of the largest number, and the lowest of the factors of a ladder.
EXPONENTS = {
    **{"f16": (-14, 15, -14), "bf16": (-126, 127, -15), "tf32": (-126, 127, -15)},
    **{"e4m3": (-6, 8, -8), "e5m2": (-14, 15, -9)},
}


def whole(kind: DType, shape: Any, draw: np.random.RandomState) -> Numbers:
    """Numbers of -3 .. 3, whose sums are exact; integers of all 8 bits."""
    low, high = {"i8": (-128, 128), "u8": (0, 256)}.get(kind.name, (-3, 4))
    return draw.randint(low, high, shape).astype(np.float32).astype(kind.numpy())


def rounded(kind: DType, x: Numbers) -> Numbers:
    """Numbers as a type has them, finite ones within its range."""
    with np.errstate(all="ignore"):
        out = np.asarray(x, dtype=np.float64).astype(np.float32).astype(kind.numpy())
    if kind is tf32:
        out = (out.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    return out


def bits(kind: DType, shape: Any, draw: np.random.RandomState) -> Numbers:
    """Any bits; of TF32 without those that it does not have."""
    found = draw.randint(0, 256, (*shape, kind.bytes)).astype(np.uint8).view(kind.numpy()).reshape(shape)
    return (found.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32) if kind is tf32 else found


def matrices(regime: str, kind: DType, sums: DType, mnk: tuple[int, int, int], draw: np.random.RandomState) -> Matrices:
    """A (M,K), B (N,K) and C (M,N) of a regime."""
    m, n, k = mnk
    normal = draw.standard_normal
    least, most, low = EXPONENTS[kind.name]
    a, b, c = normal((m, k)), normal((n, k)), normal((m, n))
    if regime == "spread":
        wide = min(8, (most - least) // 4)
        a, b = (x * 2.0 ** draw.randint(-wide, wide + 1, x.shape) for x in (a, b))
        c = c * 2.0 ** draw.randint(-12, 13, c.shape)
    elif regime == "cancel":
        half, order = k // 2, draw.permutation(k)
        a = np.concatenate([a[:, :half], a[:, :half]], axis=1)[:, order]
        near = 1 + draw.choice([0.0, 0.0, 2.0**-3, 2.0**-7, 2.0**-10], (n, half))
        b = np.concatenate([b[:, :half], -b[:, :half] * near], axis=1)[:, order]
        c = c * 2.0 ** draw.randint(-20, 1, c.shape)
    elif regime == "against":
        x, y = (rounded(kind, z).astype(np.float64) for z in (a, b))
        c = -(x @ y.T) * (1 + draw.choice([0.0, 2.0**-23, 2.0**-12, -(2.0**-18)], c.shape))
    elif regime == "ladder":
        a, b = (
            (1 + draw.randint(0, 4, x.shape) / 4) * draw.choice([-1, 1], x.shape) * 2.0 ** draw.randint(low, 0, x.shape)
            for x in (a, b)
        )
        one = draw.randint(0, k)
        a[:, one], b[:, one] = 1, draw.choice([1, -1, 2, 1.5], n)
        c = np.where(draw.rand(m, n) < 0.5, 0, c * 2.0 ** draw.randint(-28, 29, c.shape))
    elif regime == "subnormal":
        center = max(least, -63)
        a, b = (x * 2.0 ** draw.randint(center - 8, center + 3, x.shape) for x in (a, b))
        a, b = (np.where(draw.rand(*x.shape) < 0.2, x * 2.0 ** (least - center - 2), x) for x in (a, b))
        c = c * 2.0 ** draw.randint(-149, -120, c.shape) * (draw.rand(m, n) < 0.7)
    elif regime == "huge":
        top = min(most, 64)
        a, b = (x * 2.0 ** draw.randint(top - 4, top, x.shape) for x in (a, b))
        limit = 2.0 ** (127 if sums.bits == 32 else 15)
        c = np.where(draw.rand(m, n) < 0.3, np.sign(c) * limit * (1 + draw.rand(m, n) * 0.99), c)
    elif regime == "special":
        extra = [0.0, -0.0, np.inf, -np.inf, np.nan]
        a, b, c = (np.where(draw.rand(*x.shape) < 0.03, draw.choice(extra, x.shape), x) for x in (a, b, c))
    elif regime == "uneven":  # subnormals times large numbers, beside products of their size and smaller ones
        large = min(most - 1, 100)
        product = least - 3 + large
        tiny, odd = 2.0 ** (least - draw.randint(1, 4 if kind.bits == 8 else 8, k)), draw.rand(k) < 0.4
        half = np.clip((product - draw.randint(0, 27, k)) // 2, least, most)
        a = np.where(odd, tiny, 2.0**half) * draw.choice([-1, 1], (m, k)) * (1 + draw.rand(m, k))
        b = np.where(odd, 2.0**large, 2.0**half) * draw.choice([-1, 1], (n, k)) * (1 + draw.rand(n, k) / 2)
        c = c * 2.0 ** (product - draw.randint(0, 30, c.shape)) * (draw.rand(m, n) < 0.7)
    elif regime == "bits":
        return bits(kind, (m, k), draw), bits(kind, (n, k), draw), bits(sums, (m, n), draw)
    elif regime == "low":
        return a.astype(np.float32), b.astype(np.float32), c.astype(sums.numpy())
    with np.errstate(all="ignore"):
        return rounded(kind, a), rounded(kind, b), c.astype(np.float32).astype(sums.numpy())


def packed(matrix: Numbers) -> Numbers:
    """Rows of 32 bytes as K-major cores of 8 rows and 16 bytes: 128 bytes to the next of K, 256 to the next rows."""
    cores = np.ascontiguousarray(matrix).view(np.uint8).reshape(-1, 8, 2, 16)
    return np.ascontiguousarray(cores.transpose(0, 2, 1, 3)).reshape(-1)

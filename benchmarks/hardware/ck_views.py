"""Tensor views and tile windows of CK Tile on a device, bit for bit as NumPy has them, at sizes where mistakes show.

    python -m benchmarks.hardware.ck_views [--only NAME ..] [--delays 1] [--out FILE] [--host]

Each case is one kernel for all its sizes: a view that is padded, transposed, sliced, merged, an image as a matrix,
xored, copied index by index (``copy_views``) or by windows of a distribution. What it leaves is compared with slices,
pads and transposes of NumPy arrays, that know nothing of descriptors; the destination begins with random bytes, and
what no index reaches has to keep them. ``--host`` makes untimed runs instead, with no device. Exit status 1 where an
element differs or a run faults, 4 where there is no device.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import gpu
from symlayout import ceil_div, dim, dims
from symlayout.ck_tile import (
    TensorView,
    TileDistributionEncoding,
    copy_views,
    kernel_view,
    load_tile,
    make_buffer_view,
    make_embed_transform,
    make_merge_transform,
    make_naive_tensor_descriptor,
    make_naive_tensor_view,
    make_naive_tensor_view_packed,
    make_pad_transform,
    make_pass_through_transform,
    make_static_tile_distribution,
    make_tile_window,
    make_xor_transform,
    pad_tensor_view,
    slice_tensor_view,
    store_tile,
    transform_tensor_descriptor,
    transform_tensor_view,
    transpose_tensor_view,
)
from symlayout.errors import SymlayoutError
from symlayout.kernel import Builder, Kernel
from symlayout.semantics import execute

from .command import NO_DEVICE, is_missing, parser_of

Array = np.ndarray[Any, Any]
Sizes = dict[str, int]

keep = make_pass_through_transform
M, N, K = dims("M N K")
ROW = dim("ld", at_least=N)

# one more and one less than tiles, whole vectors and not, and one large tensor
PAIRS = [
    (1, 1),
    (1, 8),
    (5, 3),
    (31, 33),
    (32, 40),
    (127, 129),
    (128, 64),
    (129, 65),
    (136, 72),
    (300, 1000),
    (1023, 257),
]
PAIRS += [(4096, 2048)]


@dataclass(frozen=True)
class Case:
    """A kernel, what it leaves by NumPy from the contents before it, and the sizes to run at."""

    kernel: Callable[[], Kernel]
    wanted: Callable[[dict[str, Array], Sizes], dict[str, Array]]
    sizes: list[Sizes]


def of_pairs(**more: int) -> list[Sizes]:
    return [{"M": m, "N": n, **more} for m, n in PAIRS]


def matrix(rows: Any, columns: Any, stride: Any = None, dtype: str = "f32", vector: int = -1) -> TensorView:
    guarantee = vector, 1 if vector > 0 else -1
    return make_naive_tensor_view(
        None, (rows, columns), (columns if stride is None else stride, 1), *guarantee, dtype=dtype
    )


def shaped(x: Array, *shape: int) -> Array:
    """The first elements of a buffer as an array, of its own memory."""
    return x.reshape(-1)[: int(np.prod(shape))].reshape(shape)


# -- copies of views, index by index ---------------------------------------------------------------------------------


def padded(dtype: str, elements: int) -> Case:
    """A matrix with rows ld apart, padded to tiles of 8 x 16; the padding becomes 0."""
    view = pad_tensor_view(matrix(M, N, ROW, dtype), (8, 16), (True, True))
    sizes = [
        {"M": m, "N": n, "ld": n + gap} for m, n in PAIRS if n % elements == 0 for gap in (0, 3 if elements == 1 else 8)
    ]

    def wanted(given: dict[str, Array], at: Sizes) -> dict[str, Array]:
        m, n, ld = at["M"], at["N"], at["ld"]
        rows = np.pad(given["src"].reshape(-1), (0, ld - n)).reshape(m, ld)[:, :n]
        return {"dst": np.pad(rows, ((0, -m % 8), (0, -n % 16))).reshape(-1)}

    packed = make_naive_tensor_view_packed(None, view.descriptor.lengths, dtype=dtype)
    kernel = copy_views(view, packed, elements=elements)
    vectors = (N.multiple_of(elements), ROW.multiple_of(elements)) if elements > 1 else ()
    return Case(lambda: kernel.assuming(*vectors), wanted, sizes)


def transposed(dtype: str) -> Case:
    source = transpose_tensor_view(matrix(N, M, dtype=dtype))
    return Case(
        lambda: copy_views(source, matrix(M, N, dtype=dtype)),
        lambda given, at: {"dst": shaped(given["src"], at["N"], at["M"]).T.reshape(-1)},
        of_pairs(),
    )


def sliced() -> Case:
    """Rows 2 .. M + 1 and columns 3 .. N + 2 into a matrix with rows 5 longer, whose gaps stay."""
    source = slice_tensor_view(matrix(M + 4, N + 6), (2, 3), (M + 2, N + 3))

    def wanted(given: dict[str, Array], at: Sizes) -> dict[str, Array]:
        m, n = at["M"], at["N"]
        out = np.concatenate([given["dst"].reshape(-1), np.zeros(5, np.float32)]).reshape(m, n + 5)
        out[:, :n] = shaped(given["src"], m + 4, n + 6)[2 : m + 2, 3 : n + 3]
        return {"dst": out.reshape(-1)[: len(given["dst"])]}

    return Case(lambda: copy_views(source, matrix(M, N, N + 5)), wanted, of_pairs())


def into_pads() -> Case:
    """A destination with pads on both sides takes what they admit."""
    inner = matrix(M, N)
    pads = make_pad_transform(M, 1, 2), make_pad_transform(N, 3, 1)
    target = transform_tensor_view(inner, pads, ((0,), (1,)), ((0,), (1,)))
    return Case(
        lambda: copy_views(make_naive_tensor_view_packed(None, (M + 3, N + 4)), target),
        lambda given, at: {
            "dst": shaped(given["src"], at["M"] + 3, at["N"] + 4)[1 : at["M"] + 1, 3 : at["N"] + 3].reshape(-1)
        },
        of_pairs(),
    )


def merged() -> Case:
    """A tensor of three modes with gaps as a vector, through a merge."""
    A, B, C = dims("A B C")
    source = make_naive_tensor_view(None, (A, B, C), (B * (C + 3) + 7, C + 3, 1))
    source = transform_tensor_view(source, (make_merge_transform((A, B, C)),), ((0, 1, 2),), ((0,),))

    def wanted(given: dict[str, Array], at: Sizes) -> dict[str, Array]:
        a, b, c = at["A"], at["B"], at["C"]
        planes = np.pad(given["src"].reshape(-1), (0, b * (c + 3) + 7)).reshape(-1)[: a * (b * (c + 3) + 7)]
        return {"dst": planes.reshape(a, -1)[:, : b * (c + 3)].reshape(a, b, c + 3)[:, :, :c].reshape(-1)}

    sizes = [{"A": a, "B": b, "C": c} for a, b, c in ((1, 1, 1), (3, 5, 7), (2, 128, 33), (17, 1, 64), (64, 100, 96))]
    return Case(lambda: copy_views(source, make_naive_tensor_view_packed(None, (A * B * C,))), wanted, sizes)


def im2col() -> Case:
    """An image as the matrix of implicit GEMM, every size a symbol: pad, embed, merge."""
    names = "n h w c y x ho wo stride dilation"
    n, h, w, c, y, x, ho, wo, stride, dilation = dims(names)
    pad = dim("pad", at_least=0)
    each = ((0,), (1,), (2,), (3,))
    view = make_naive_tensor_view(None, (n, h, w, c), (h * w * c, w * c, c, 1))
    pads = keep(n), make_pad_transform(h, pad, pad), make_pad_transform(w, pad, pad), keep(c)
    view = transform_tensor_view(view, pads, each, each)
    taps = make_embed_transform((y, ho), (dilation, stride)), make_embed_transform((x, wo), (dilation, stride))
    view = transform_tensor_view(view, (keep(n), *taps, keep(c)), each, ((0,), (1, 2), (3, 4), (5,)))
    merges = make_merge_transform((n, ho, wo)), make_merge_transform((y, x, c))
    view = transform_tensor_view(view, merges, ((0, 2, 4), (1, 3, 5)), ((0,), (1,)))
    convolutions = (
        (1, 5, 5, 1, 3, 3, 1, 1, 0),
        (2, 8, 6, 4, 3, 3, 1, 1, 1),
        (1, 9, 11, 3, 2, 3, 2, 1, 1),
        (3, 14, 14, 16, 3, 3, 2, 2, 2),
        (1, 7, 7, 8, 1, 1, 3, 1, 0),
        (8, 28, 28, 32, 3, 3, 1, 1, 1),
    )
    sizes = [
        dict(zip(("n", "h", "w", "c", "y", "x", "stride", "dilation", "pad"), row, strict=True)) for row in convolutions
    ]
    for at in sizes:
        at["ho"] = (at["h"] + 2 * at["pad"] - at["dilation"] * (at["y"] - 1) - 1) // at["stride"] + 1
        at["wo"] = (at["w"] + 2 * at["pad"] - at["dilation"] * (at["x"] - 1) - 1) // at["stride"] + 1

    def wanted(given: dict[str, Array], at: Sizes) -> dict[str, Array]:
        image = shaped(given["src"], at["n"], at["h"], at["w"], at["c"])
        return {"dst": columns_of(image, at).reshape(-1)}

    return Case(lambda: copy_views(view, matrix(n * ho * wo, y * x * c)), wanted, sizes)


def columns_of(image: Array, at: Sizes) -> Array:
    """The matrix of implicit GEMM by NumPy."""
    p, s, d = at["pad"], at["stride"], at["dilation"]
    wide = np.pad(image, ((0, 0), (p, p), (p, p), (0, 0)))
    rows, columns = s * (at["ho"] - 1) + 1, s * (at["wo"] - 1) + 1
    taps = [
        wide[:, d * i : d * i + rows : s, d * j : d * j + columns : s] for i in range(at["y"]) for j in range(at["x"])
    ]
    return np.stack(taps, axis=3).reshape(-1, at["y"] * at["x"] * at["c"])


def xored(elements: int) -> Case:
    """Rows of 64 elements, whose 8 chunks are xored with the number of the row."""
    d = make_naive_tensor_descriptor((M, 8, 8), (64, 8, 1))
    d = transform_tensor_descriptor(d, (make_xor_transform((M, 8)), keep(8)), ((0, 1), (2,)), ((0, 1), (2,)))
    d = transform_tensor_descriptor(d, (keep(M), make_merge_transform((8, 8))), ((0,), (1, 2)), ((0,), (1,)))
    source = matrix(M, 64, dtype="bf16")

    def wanted(given: dict[str, Array], at: Sizes) -> dict[str, Array]:
        chunks = given["src"].reshape(at["M"], 8, 8)
        rows = np.arange(at["M"])[:, None]
        out = np.empty_like(chunks)
        out[rows, np.arange(8)[None, :] ^ (rows % 8)] = chunks
        return {"dst": out.reshape(-1)}

    sizes = [{"M": m} for m in (1, 7, 8, 129, 5000)]
    return Case(lambda: copy_views(source, TensorView(source.buffer, d), elements=elements), wanted, sizes)


# -- windows ---------------------------------------------------------------------------------------------------------

GEMM = TileDistributionEncoding((1,), ((2, 4, 16), (4, 8)), (((1, 1),), ((1, 2), (2, 0))), ((1, 0), (2, 1)))
ACCUMULATOR = TileDistributionEncoding((), ((4, 2, 4), (32,)), (((1, 1), (2, 0)),), ((1, 0), (1, 2)))
ROWS = TileDistributionEncoding((1,), ((4, 4, 8), (8, 8)), (((1, 1),), ((1, 2), (2, 0))), ((1, 0), (2, 1)))
FRAGMENTS = TileDistributionEncoding((), ((4, 32), (4, 2, 8)), (((1, 0),), ((2, 1), (1, 1))), ((2, 0), (2, 2)))


def windows(
    encoding: TileDistributionEncoding, threads: int, dtype: str, vector: int, stride: Any = None, turned: bool = False
) -> Case:
    """A matrix by the tiles of a distribution; *turned*, from its transpose in memory."""
    d = make_static_tile_distribution(encoding)
    source = matrix(N, M, None, dtype, vector) if turned else matrix(M, N, stride, dtype, vector)
    source = transpose_tensor_view(source) if turned else source
    target = matrix(M, N, None, dtype, vector)

    def kernel() -> Kernel:
        sizes = (M, N, *((ROW,) if stride is ROW else ()))
        k = Builder("windows", *sizes, grid=tuple(map(ceil_div, (M, N), d.lengths)), threads=threads)
        origin = tuple(n * b for n, b in zip(d.lengths, k.block, strict=False))
        views = [pad_tensor_view(v, d.lengths, (True, True)) for v in (source, target)]
        a, b = (
            make_tile_window(kernel_view(k, x, v), d.lengths, origin, d)
            for x, v in zip(("src", "dst"), views, strict=True)
        )
        store_tile(b, load_tile(a))
        whole = [x.multiple_of(vector) for x in (M if turned else N, N, *sizes[2:])] if vector > 1 else []
        return k.kernel(*whole)

    def wanted(given: dict[str, Array], at: Sizes) -> dict[str, Array]:
        return {"dst": given["src"].T if turned else given["src"]}

    sizes = [
        {"M": m, "N": n, **({"ld": n + gap} if stride is ROW else {})}
        for m, n in PAIRS
        for gap in ((0, 8) if stride is ROW else (0,))
        if vector < 2 or (n % vector == 0 and not (turned and m % vector))
    ]
    return Case(kernel, wanted, sizes)


def through_lds(swizzled: bool) -> Case:
    """Tiles of 128 x 64 by way of LDS: stored as rows, read as fragments."""
    rows, fragments = map(make_static_tile_distribution, (ROWS, FRAGMENTS))
    d = make_naive_tensor_descriptor((128, 8, 8), (64, 8, 1), 8, 1)
    if swizzled:
        d = transform_tensor_descriptor(d, (make_xor_transform((128, 8)), keep(8)), ((0, 1), (2,)), ((0, 1), (2,)))
    d = transform_tensor_descriptor(d, (keep(128), make_merge_transform((8, 8))), ((0,), (1, 2)), ((0,), (1,)))
    tile = (128, 64)

    def kernel() -> Kernel:
        k = Builder("through_lds", M, N, grid=(ceil_div(M, 128), ceil_div(N, 64)), threads=256)
        at = 128 * k.block[0], 64 * k.block[1]
        view = pad_tensor_view(matrix(M, N, None, "bf16", 8), tile, (True, True))
        a, b = kernel_view(k, "src", view), kernel_view(k, "dst", view)
        s = kernel_view(k, "s", TensorView(make_buffer_view(None, 128 * 64, space="lds", dtype="bf16"), d))
        store_tile(make_tile_window(s, tile, (0, 0), rows), load_tile(make_tile_window(a, tile, at, rows)))
        k.sync()
        held = load_tile(make_tile_window(s, tile, (0, 0), fragments))
        store_tile(make_tile_window(b, tile, at, fragments), held)
        return k.kernel(N.multiple_of(8))

    sizes = [{"M": m, "N": n} for m, n in PAIRS if n % 8 == 0]
    return Case(kernel, lambda given, at: {"dst": given["src"]}, sizes)


CASES: dict[str, Callable[[], Case]] = {
    "padded_f32": lambda: padded("f32", 1),
    "padded_bf16_by_8": lambda: padded("bf16", 8),
    "transposed_f32": lambda: transposed("f32"),
    "transposed_u8": lambda: transposed("u8"),
    "sliced": sliced,
    "into_pads": into_pads,
    "merged": merged,
    "im2col": im2col,
    "xored_by_1": lambda: xored(1),
    "xored_by_8": lambda: xored(8),
    "window_gemm_bf16": lambda: windows(GEMM, 256, "bf16", 8, ROW),
    "window_gemm_f32": lambda: windows(GEMM, 256, "f32", 8),
    "window_gemm_elements": lambda: windows(GEMM, 256, "f32", -1, ROW),
    "window_accumulator": lambda: windows(ACCUMULATOR, 64, "f32", -1),
    "window_transpose": lambda: windows(ACCUMULATOR, 64, "f32", 4, None, True),
    "lds_swizzled": lambda: through_lds(True),
    "lds_plain": lambda: through_lds(False),
}


def contents(kernel: Kernel, seed: int) -> dict[str, Array]:
    """Random bytes for every tensor in global memory, NaNs among them."""
    rng = np.random.default_rng(seed)
    out = {}
    for t in kernel.tensors:
        if str(t.space) == "global":
            shape = tuple(int(n) for n in np.atleast_1d(t.layout.shape))
            kind = t.dtype.numpy()
            out[t.name] = rng.integers(0, 256, int(np.prod(shape)) * kind.itemsize, np.uint8).view(kind).reshape(shape)
    return out


def differing(found: Array, wanted: Array) -> int:
    """How many elements are not of the same bytes."""
    a, b = (np.ascontiguousarray(x).reshape(-1).view(np.uint8).reshape(x.size, -1) for x in (found, wanted))
    return int((a != b).any(axis=1).sum())


def outcomes(name: str, delays: tuple[int | None, ...], host: bool) -> Iterator[dict[str, Any]]:
    """A row for each size and way of running."""
    case = CASES[name]()
    kernel = case.kernel()
    for seed in delays:
        code = None if host else gpu.Generated(kernel, delays=seed)
        for at in case.sizes:
            row: dict[str, Any] = {"name": name, "digest": kernel.digest, "sizes": at, "delays": seed}
            bound = kernel.bind(**at)
            given = contents(bound, sum(at.values()))
            began = time.perf_counter()
            try:
                found = execute(bound, given, seed or "eager") if host else gpu.run_unproved(bound, given, None, code)
            except SymlayoutError as e:
                yield {**row, "error": str(e)[:500]}
                continue
            wrong = {x: differing(found[x], want) for x, want in case.wanted(given, at).items()}
            yield {**row, "wrong": sum(wrong.values()), "ms": round(1e3 * (time.perf_counter() - began), 1)}


def main() -> int:
    parser = parser_of(__doc__, CASES)
    parser.add_argument("--delays", nargs="*", type=int, default=[1])
    parser.add_argument("--host", action="store_true")
    options = parser.parse_args()
    if not options.host and is_missing():
        return NO_DEVICE
    bad = 0
    device = contextlib.nullcontext() if options.host else gpu.Device()
    with device, open(options.out, "a") if options.out else contextlib.nullcontext(sys.stdout) as log:
        for name in options.only:
            rows = list(outcomes(name, (None, *options.delays), options.host))
            wrong = [r for r in rows if r.get("wrong", 1)]
            bad += len(wrong)
            print(f"{name:22} {len(rows) - len(wrong)} of {len(rows)} runs the same, bit for bit", flush=True)
            for r in rows if options.out else wrong[:3]:
                print(json.dumps(r), file=log, flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

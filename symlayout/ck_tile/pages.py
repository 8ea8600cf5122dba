"""The pages of docs/ck_tile: one for each transform, with its picture; written from the rows of ``transforms.words``.

    python -m symlayout.ck_tile.pages docs/ck_tile

A test compares what is there with what would be written.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from ..draw.maps import map_grid
from ..draw.svg import svg
from ..transforms import Transform
from ..transforms.words import WORDS, Words
from .adaptor import TensorAdaptor
from .adaptors import make_single_stage_tensor_adaptor
from .tensor_view import make_naive_tensor_view_packed
from .tiles.distribution import TileDistribution
from .tiles.encoding import TileDistributionEncoding
from .tiles.pictures import distribution_grid, window_grid
from .tiles.window_functions import make_tile_window
from .view_idioms import pad_tensor_view

MADE = "<!-- made by python -m symlayout.ck_tile.pages docs/ck_tile -->"


def picture(t: Transform) -> str:
    """SVG of a transform: the lower index at each upper one, masked ones grey.

    >>> from symlayout.transforms import Xor
    >>> "xor(4, 4)" in picture(Xor((4, 4)))
    True
    """
    return svg(map_grid(_alone(t), title=f"{t}: lower index at each upper index")) + "\n"


def _alone(t: Transform) -> TensorAdaptor:
    return make_single_stage_tensor_adaptor((t,), (tuple(range(t.lower_rank)),), (tuple(range(t.upper_rank)),))


def page(w: Words) -> str:
    """The page of a transform in Markdown; its example is run by the tests of pages."""
    t = w.example
    name = f"{type(t).__name__}"
    rows = (
        ("CK", f"`{w.ck}`"),
        ("lower index", w.lower),
        ("upper lengths", w.lengths),
        ("valid", w.valid),
        ("inverse", w.inverse),
        ("vectors, upstream", w.upstream),
        ("lemma of proofs", w.lemma),
        ("moving", w.moves),
        ("CuTe", w.cute),
    )
    table = "\n".join(f"| {a} | {b} |" for a, b in rows)
    example = f"""```python
>>> from symlayout.transforms import {name}
>>> t = {_code(t)}
>>> t.upper_lengths, t.lower({_index(t)})
({t.upper_lengths}, {t.lower(_index(t))})
>>> print(t.inverse())
{t.inverse()}

```"""
    note = f"\n{t.note[0].upper()}{t.note[1:]}.\n" if t.note else ""
    return f"""{MADE}
# {w.kind}

{w.says}

![{t}](images/{w.kind}.svg)

| | |
|---|---|
{table}
{note}
{example}
"""


def _code(t: Transform) -> str:
    values = ", ".join(repr(v) for v in t._values() if not isinstance(v, bool))
    return f"{type(t).__name__}({values})"


def _index(t: Transform) -> tuple[int, ...]:
    """An index in the middle."""
    return tuple(int(n) // 2 for n in t.upper_lengths)


# CK Tile's words beside CuTe's, and the other way round: (CK Tile, CuTe, what differs).
BESIDE = (
    (
        "tensor_descriptor",
        "Layout",
        "a descriptor is a graph of transforms, and may mask; a layout is shape and stride",
    ),
    ("naive descriptor (lengths, strides)", "Layout(shape, stride)", "the same function"),
    ("packed descriptor", "LayoutRight", "row-major without gaps"),
    ("merge of dimensions", "a nested mode", "CK's last dimension is the fastest, CuTe's first mode"),
    ("xor transform", "Swizzle<b,m,s>", "dimensions there, bits of the offset here; same function for powers of two"),
    ("pad transforms", "a predicate, identity tensor", "a mask is part of a descriptor, and of no layout"),
    ("slice, offset", "domain_offset, local_tile", "CuTe moves the iterator, CK the index"),
    ("freeze", "layout(2, None)", "slicing"),
    ("element_space_size", "cosize", "CK's is kept by every transform"),
    ("element_size", "size", "padding included"),
    ("calculate_offset", "layout(coord)", ""),
    ("tensor_view", "Tensor", "CK's knows the size of its buffer and what an invalid read gives"),
    ("buffer_view", "pointer", "with an address space and a size"),
    ("adaptor", "Layout with basis strides, ComposedLayout", "several bottom dimensions are coordinates"),
    ("bottom, lower", "codomain, offset", "towards memory"),
    ("top, upper", "domain, coordinate", "towards the caller"),
    ("guaranteed vector length", "max_common_vector, Vectorizable", "CK's is a promise, CuTe's is computed"),
    ("tile_distribution_encoding", "thread-value layout", "H factors, P and Y lists; modes of threads and values"),
    ("tile_distribution", "TV layout of a TiledCopy or TiledMMA", "(warp, lane, Y) to X, and Y to D; thread and value"),
    ("R of an encoding", "a mode of stride 0 among threads", "of values only CuTe has one"),
    ("Y to D", "the order of values", "D is row-major in Y; CuTe's first value mode is the fastest"),
    ("tile_window", "local_tile, local_partition", "a window moves; a tile is sliced"),
    ("load_tile, store_tile", "copy(tiled_copy, ...)", "CK's vectors follow guarantees, CuTe's the copy atom"),
    ("tile_window_linear", "a view and constant offsets", "CK adds offsets of a packed tile, unchecked"),
    ("async_load_tile, async_load_tile_raw", "copy by SM80_CP_ASYNC", "CK's raw one looks at no mask"),
    ("load_tile_raw", "copy_if into a filled fragment", "registers stay where a mask is false"),
    ("update_tile", "copy by an atomic or reduction", "by the operation of the view"),
    ("static_distributed_tensor", "a register tensor, fragment", "CK's knows the tile that it is part of"),
    ("sweep_tile", "a loop over size<1>(fragment)", "in the order of H, not of registers"),
    ("wave of 64 lanes, LDS", "warp of 32 lanes, shared memory", ""),
)


def table() -> str:
    """The words of both, and the transforms, as tables."""
    words = "\n".join(f"| {ck} | {cute} | {says} |" for ck, cute, says in BESIDE)
    back = sorted(((cute, ck) for ck, cute, _ in BESIDE), key=lambda row: row[0].lower())
    cutes = "\n".join(f"| {cute} | {ck} |" for cute, ck in back)
    transforms = "\n".join(f"| [`{w.kind}`]({w.kind}.md) | {w.lower} | {w.valid} | {w.cute} |" for w in WORDS)
    return f"""{MADE}
# CK Tile's words and CuTe's

## From CK Tile

| CK Tile | CuTe | what differs |
|---|---|---|
{words}

## From CuTe

| CuTe | CK Tile |
|---|---|
{cutes}

## Transforms

| transform | lower index | valid | CuTe |
|---|---|---|---|
{transforms}
"""


# The example of upstream's document, docs/conceptual/ck_tile/tile_distribution.rst: 2 x 2 elements a thread.
EXAMPLE = TileDistributionEncoding((), ((2, 2), (2, 2)), (((1, 0),), ((2, 0),)), ((1, 1), (2, 1)))


def tile_pictures() -> Iterator[tuple[str, str]]:
    """The pictures of the page on distributions."""
    d = TileDistribution(EXAMPLE)
    view = pad_tensor_view(make_naive_tensor_view_packed(None, (5, 6)), (4, 4), (True, True))
    yield "images/distribution.svg", svg(distribution_grid(d)) + "\n"
    yield "images/window.svg", svg(window_grid(make_tile_window(view, (4, 4), (2, 3), d))) + "\n"


def files() -> Iterator[tuple[str, str]]:
    """(path in the folder, text) of every page and picture that is made."""
    yield "words.md", table()
    yield from tile_pictures()
    for w in WORDS:
        yield f"{w.kind}.md", page(w)
        yield f"images/{w.kind}.svg", picture(w.example)


def main(folder: str) -> None:
    """Write the pages."""
    for name, text in files():
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])

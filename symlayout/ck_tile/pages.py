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
    ("tile_window", "local_tile, local_partition", "a window moves; a tile is sliced"),
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


def files() -> Iterator[tuple[str, str]]:
    """(path in the folder, text) of every page and picture that is made."""
    yield "words.md", table()
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

"""Laws 12 and 13: identity layouts are coordinates; thread-value layouts deal a tile out, each element once or as often
as it is broadcast."""

from __future__ import annotations

from collections import Counter

import pytest

from symlayout import (
    Layout,
    blocked_product,
    composition,
    crd2crd,
    crd2idx,
    inner_product,
    make_identity_layout,
    make_identity_tensor,
    make_layout,
    right_inverse,
    size,
    zipped_divide,
)
from symlayout.basis import as_tuple
from tests.support.draw import Draw, read

# (thread, value) -> position in a column-major tile, of tensor core atoms (PTX ISA, matrix fragments)
ATOMS = {
    "SM80 16x8x16 C": ((16, 8), "((4,8),(2,2)):((32,1),(16,8))", 1),
    "SM80 16x8x16 A": ((16, 16), "((4,8),(2,2,2)):((32,1),(16,8,128))", 1),
    "SM80 16x8x16 B": ((8, 16), "((4,8),(2,2)):((16,1),(8,64))", 1),
    "SM70 8x8x4 C": ((8, 8), "((2,2,2),(2,2,2)):((1,16,4),(8,2,32))", 1),
    "SM90 64x64 C": ((64, 64), "((4,8,4),(2,2,8)):((128,1,16),(64,8,512))", 1),
    "SM75 8x8x16 A, two warps share": ((8, 16), "((4,8,2),4):((32,1,0),8)", 2),
    "everyone reads a row": ((1, 8), "(32,8):(0,1)", 32),
}


@pytest.mark.parametrize("name", ATOMS)
def test_threads_and_values_cover_the_tile_as_often_as_it_is_broadcast(name):
    shape, text, copies = ATOMS[name]
    tv = read(text)
    tile = make_identity_tensor(shape).compose(tv)
    dealt = Counter(tile(t, v) for t in range(size(tv.shape[0])) for v in range(size(tv.shape[1])))

    assert dealt == {make_identity_tensor(shape)(i): copies for i in range(size(shape))}
    assert tv.size() == copies * size(shape)


@pytest.mark.parametrize("name", [name for name, (_, _, copies) in ATOMS.items() if copies == 1])
def test_the_inverse_of_a_thread_value_layout_names_the_owner(name):
    shape, text, _ = ATOMS[name]
    tv = read(text)
    owner = right_inverse(tv)

    for i in range(size(shape)):
        t, v = crd2crd(owner(i), tv.size(), (size(tv.shape[0]), size(tv.shape[1])))
        assert tv(t, v) == i


def test_atoms_tiled_over_warps_cover_the_larger_tile():
    """2x2 warps of the 16x8 accumulator: slices by thread of the tiled tensor, each element once."""
    atom = read(ATOMS["SM80 16x8x16 C"][1])
    tile = make_identity_tensor((32, 16))
    by_atom = zipped_divide(tile.layout, (16, 8))  # ((16,8),(2,2))
    threads = make_layout(composition(by_atom[0], atom), by_atom[1])  # ((thread, value), (2,2))
    dealt = Counter(tile.iterator[threads(((t, v), w))] for w in range(4) for t in range(32) for v in range(4))

    assert dealt == dict.fromkeys((tile(i) for i in range(512)), 1)


def test_vectors_per_thread_in_a_copy_cover_the_tile():
    """A raked copy of 32x8 threads with 4x1 values each."""
    threads, values = Layout((32, 8), (8, 1)), Layout((4, 1))
    tiled = blocked_product(values, threads)

    assert sorted(tiled.offsets().tolist()) == list(range(1024))


def test_the_identity_evaluates_to_the_natural_coordinate():
    for seed in range(200):
        draw = Draw(seed)
        shape = draw.shape()
        c = draw.coordinate(shape)
        identity = make_identity_layout(shape)
        value = as_tuple(identity(c))

        assert value == crd2crd(crd2idx(c, shape), size(shape), shape)
        assert crd2idx(value, shape) == crd2idx(c, shape)
        assert as_tuple(identity(value)) == value


def test_a_layout_reads_through_the_identity():
    for seed in range(200):
        draw = Draw(seed)
        layout = draw.layout()
        c = draw.coordinate(layout.shape)

        assert layout(c) == inner_product(as_tuple(make_identity_layout(layout.shape)(c)), layout.stride)
        assert layout(make_identity_layout(layout.shape)(c)) == layout(c)

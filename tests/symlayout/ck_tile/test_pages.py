"""Pages and pictures of transforms are those that their rows make, and views draw themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from symlayout import LayoutError, dims
from symlayout.address_map import AddressMap
from symlayout.ck_tile import (
    make_merge_transform,
    make_naive_tensor_descriptor,
    make_naive_tensor_view_packed,
    make_pad_transform,
    make_single_stage_tensor_adaptor,
    pad_tensor_view,
    transform_tensor_descriptor,
)
from symlayout.ck_tile.pages import BESIDE, files
from symlayout.draw import map_grid
from symlayout.draw.picture import picture
from symlayout.transforms import TRANSFORMS
from symlayout.transforms.words import WORDS

FOLDER = Path(__file__).parents[3] / "docs" / "ck_tile"
M, K = dims("M K")


def test_pages_and_pictures_are_up_to_date():
    made = dict(files())

    assert {name: (FOLDER / name).read_text(encoding="utf-8") == text for name, text in made.items()} == dict.fromkeys(
        made, True
    )


def test_every_transform_has_a_page_a_picture_and_a_place_in_the_index():
    index = (FOLDER / "index.md").read_text(encoding="utf-8")

    assert [type(w.example) for w in WORDS] == list(TRANSFORMS)
    assert all(f"\n{w.kind}\n" in index for w in WORDS)
    assert len({ck for ck, _, _ in BESIDE}) == len(BESIDE)


@pytest.mark.parametrize("w", WORDS, ids=lambda w: w.kind)
def test_words_agree_with_the_code(w):
    t = w.example
    up = tuple(n // 2 for n in t.upper_lengths)

    assert (w.valid == "always") == (not t.valid(up))
    assert (t.inverse() is None) == (w.inverse == "none") or w.kind in ("embed", "modulo")
    assert w.kind in w.ck


def test_a_grid_of_a_padded_view():
    view = pad_tensor_view(make_naive_tensor_view_packed(np.arange(6), (2, 3)), (2, 4), (True, True))

    assert map_grid(view.descriptor).rows == (("0", "1", "2", "-"), ("3", "4", "5", "-"))
    assert map_grid(view.descriptor).group[0] == (0, 1, 2, -1)
    assert view._repr_svg_() == picture(view.descriptor)
    assert view.table().splitlines()[2:] == ["0 | 0 1 2 -", "1 | 3 4 5 -"]


def test_grids_of_other_ranks():
    one = make_naive_tensor_descriptor((40,), (2,))
    three = make_naive_tensor_descriptor((2, 2, 3), (6, 3, 1))
    digits = make_single_stage_tensor_adaptor((make_merge_transform((2, 3)),), ((0, 1),), ((0,),))

    assert map_grid(one).labels == ("0", "32")
    assert map_grid(one).rows[1][7:9] == ("78", "")
    assert map_grid(three).labels == ("0,0", "0,1", "1,0", "1,1")
    assert map_grid(digits).rows == (("(0,0)", "(0,1)", "(0,2)", "(1,0)", "(1,1)", "(1,2)"),)
    assert map_grid(three, rows=2).cut == "the first 2 x 3 of 4 x 3"
    assert map_grid(AddressMap((), (), 7)).rows == (("7",),)


def test_a_map_with_sizes_is_a_card():
    d = transform_tensor_descriptor(
        make_naive_tensor_descriptor((M,), (1,)), (make_pad_transform(M, 1, 2),), ((0,),), ((0,),)
    )

    assert "x0" in picture(d)
    with pytest.raises(LayoutError, match="expected a map of numbers to draw"):
        map_grid(d)

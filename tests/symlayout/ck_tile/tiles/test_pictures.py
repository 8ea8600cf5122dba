"""Pictures of distributions and windows: as text, as SVG, and on the command line."""

from __future__ import annotations

import pytest

from symlayout import LayoutError, dim
from symlayout.ck_tile import (
    TileDistribution,
    TileDistributionEncoding,
    make_naive_tensor_view_packed,
    make_tile_window,
    pad_tensor_view,
)
from symlayout.ck_tile.tiles.pictures import distribution_grid, window_grid
from symlayout.cli import app
from symlayout.draw.svg import svg
from tests.support.ck_tiles import ACCUMULATOR, DOCUMENT, FRAGMENTS, GEMM_A
from tests.support.command import CliRunner


def command(*args):
    return CliRunner().invoke(app, list(args), env={"COLUMNS": "200"})


def test_each_element_shows_its_thread_and_register():
    d = TileDistribution(GEMM_A)
    grid = distribution_grid(d)

    assert (len(grid.rows), grid.columns) == (128, 32)
    assert grid.rows[89][8] == "T101V8"  # warp 1, lane 37
    assert grid.rows[127][31] == "T255V15"
    assert distribution_grid(TileDistribution(FRAGMENTS)).rows[104][15] == "T168V15+1"
    assert distribution_grid(d, rows=2, columns=3).cut == "the first 2 x 3 of 128 x 32"


def test_tiles_of_one_and_of_three_dimensions():
    line = TileDistribution(TileDistributionEncoding((), ((4, 2),), (((1, 0),),), ((1, 1),)))
    cube = TileDistribution(TileDistributionEncoding((), ((2,), (2,), (2,)), (((1, 0), (2, 0)),), ((3, 0),)))

    assert distribution_grid(line).rows == (("T0V0", "T0V1", "T1V0", "T1V1", "T2V0", "T2V1", "T3V0", "T3V1"),)
    assert distribution_grid(cube).labels == ("0,0", "0,1", "1,0", "1,1")


def test_elements_without_a_thread_are_dots_and_those_outside_are_refused():
    unowned = TileDistribution(TileDistributionEncoding((), ((2, 2),), (((1, 0),),), ()))
    assert distribution_grid(unowned).rows == (("T0V0", ".", "T1V0", "."),)

    m = dim("m")
    with pytest.raises(LayoutError, match="lengths of numbers"):
        distribution_grid(TileDistribution(TileDistributionEncoding((), ((m, 2),), (((1, 0),),), ((1, 1),))))


def test_a_window_frames_what_its_threads_access():
    view = pad_tensor_view(make_naive_tensor_view_packed(None, (5, 6)), (4, 4), (True, True))
    grid = window_grid(make_tile_window(view, (4, 4), (2, 3), TileDistribution(DOCUMENT)))

    assert grid.rows[2] == ("12", "13", "14", "T0V0", "T0V1", "T1V0", "-", "-")
    assert grid.rows[6] == ("-",) * 8
    assert (2, 3) in grid.marked
    assert len(grid.marked) == 16
    plain = window_grid(make_tile_window(view, (4, 4), (2, 3)))
    assert plain.rows[2][3] == "15"
    assert svg(grid).startswith("<svg")


def test_the_command_shows_types_of_ck_tile():
    shown = command("show", ACCUMULATOR.cpp())

    assert shown.exit_code == 0
    assert "R=[] H=[(4,2,4),(32)] P0=[(1,1),(2,0)] Y0=(1,0) Y1=(1,2)" in shown.output
    assert "T0V0" in shown.output
    steps = command("show", ACCUMULATOR.cpp(), "--at", "(40,1,2)")
    assert "merge(2, 32)" in steps.output
    assert "1*8 + 1*4 + 2*1 = 14" in steps.output
    refused = command("show", ACCUMULATOR.cpp(), "--tile", "32,32")
    assert refused.exit_code == 2
    assert "whose tile is its own" in refused.output


@pytest.mark.parametrize("suffix", ["hip", "cpp", "hpp"])
def test_comments_of_hip_sources_are_claims_about_views_and_distributions(tmp_path, suffix):
    source = tmp_path / f"policy.{suffix}"
    source.write_text(
        f"// symlayout: distribution_covers {GEMM_A.cpp()}\n"
        f"/* symlayout: distribution_covers {DOCUMENT.cpp()} lanes 64 expect refuted */\n"
        "// symlayout: no_invalid_access tensor_descriptor<tuple<embed<tuple<constant<3>, constant<4>>,\n"
        "// ...  tuple<constant<4>, constant<1>>>>, tuple<sequence<0>>, tuple<sequence<1, 2>>, sequence<1, 2>,\n"
        "// ...  constant<12>, sequence<-1, -1, 4>, sequence<-1, -1, 1>>\n"
        "// symlayout: mask_is_exactly tensor_descriptor<tuple<embed<tuple<int>, tuple<constant<1>>>,\n"
        "// ...  right_pad<int, int>>, tuple<sequence<0>, sequence<1>>, tuple<sequence<1>, sequence<2>>, sequence<2>,\n"
        "// ...  int, sequence<-1, -1, -1>, sequence<-1, -1, -1>> predicate (i) -> i < s1\n"
    )
    shown = command("prove", str(source))

    assert shown.exit_code == 0
    assert "3 proved, 1 refuted (1 of them expected)" in shown.output
    source.write_text("// symlayout: distribution_covers tile_distribution_encoding<sequence<x>>\n")
    wrong = command("prove", str(source))
    assert wrong.exit_code == 2
    assert f"policy.{suffix}:1" in wrong.output

"""Pictures: what stands in which cell, in which colour, and that the text is well-formed XML and HTML."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from typing import Any

import pytest

from checkers import ConflictFree, Equal, FitsIn, Injective, prove
from symlayout import ComposedLayout, E, Layout, LayoutError, Swizzle, dim, dims, make_identity_layout, zipped_divide
from symlayout.answers.report import Outcome, Report, Verdict
from symlayout.draw import Grid, card, html_page, offset_grid, picture, steps, svg, swizzle_grid, thread_value_grid
from symlayout.draw.svg import colour

M, N, ld = dims("M N ld")
FRAGMENT = Layout.parse("((4,8),(2,2)):((32,1),(16,8))")  # C of mma.m16n8k16: (thread, value) -> row + 16*column
TILE = Layout.parse("Sw<3,3,3> o 0 o (8,64):(64,1)")


def shapes(source: str, tag: str) -> list[Any]:
    return [e for e in ET.fromstring(source).iter() if e.tag.endswith(f"}}{tag}")]


def labels(source: str) -> list[str]:
    return [e.text or "" for e in shapes(source, "text")]


class Tags(HTMLParser):
    """Checks that every tag is closed."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(source)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in ("br", "meta"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


# -- grids ----------------------------------------------------------------------------------------------


def test_a_layout_has_mode_0_down_and_the_rest_across():
    grid = offset_grid(Layout((2, (2, 2)), (4, (1, 10))))

    assert grid.rows == (("0", "1", "10", "11"), ("4", "5", "14", "15"))
    assert grid.band == (0, 2)


def test_one_mode_is_read_in_lines():
    grid = offset_grid(Layout(70, 3))

    assert [len(row) for row in grid.rows] == [32, 32, 32]
    assert grid.labels == ("0", "32", "64")
    assert grid.rows[2][5:7] == ("207", "")
    assert "64 | 192 195 198 201 204 207\n" in grid.table(200) + "\n"


def test_a_large_layout_is_cut_with_a_note():
    assert offset_grid(Layout((1 << 20, 1 << 20)), 4, 6).cut == "the first 4 x 6 of 1048576 x 1048576"
    assert offset_grid(Layout(1 << 20), 4).cut == "the first 128 of 1048576"
    assert offset_grid(Layout((4, 6)), 4, 6).cut == ""


def test_coordinates_as_values():
    assert offset_grid(make_identity_layout((2, 2))).rows == (("(0,0)", "(0,1)"), ("(1,0)", "(1,1)"))


def test_marked_coordinates_are_framed():
    grid = offset_grid(Layout((2, 3)), marked=[(1, 0), 5])

    assert grid.marked == {(1, 0), (1, 2)}
    frames = [e for e in shapes(svg(grid), "rect") if "fill" not in e.attrib]
    assert len(frames) == 2


def test_symbols_have_no_grid():
    with pytest.raises(LayoutError, match="expected a layout of numbers to draw"):
        offset_grid(Layout((M, N)))


def test_a_swizzle_is_drawn_in_its_units():
    grid = swizzle_grid(Swizzle(3, 4, 3))

    assert grid.title == "Sw<3,4,3> in units of 16"
    assert len(grid.rows) == grid.columns == 8
    assert all(row[j] == str(8 * i + (i ^ j)) for i, row in enumerate(grid.rows) for j in range(8))
    assert swizzle_grid(Swizzle(0, 0, 0)).rows == (("0",),)
    assert swizzle_grid(Swizzle(1, 0, -1)).rows == (("0", "3"), ("2", "1"))


def test_threads_and_values_own_the_elements_of_a_tile():
    grid = thread_value_grid(FRAGMENT, (16, 8))

    assert [row[0] for row in grid.rows[:9]] == [f"T{4 * i}V0" for i in range(8)] + ["T0V2"]
    assert grid.rows[0][:4] == ("T0V0", "T0V1", "T1V0", "T1V1")
    as_coordinates = Layout(((4, 8), (2, 2)), ((2 * E(1), E(0)), (E(1), 8 * E(0))))
    assert thread_value_grid(as_coordinates, (16, 8)).rows == grid.rows
    assert thread_value_grid(Layout((4, 2), (0, 1)), (2, 2)).rows == (("T0V0+3", "."), ("T0V1+3", "."))
    with pytest.raises(LayoutError, match="expected values inside the 16 x 4 tile, got 64 at thread 2, value 0"):
        thread_value_grid(FRAGMENT, (16, 4))


# -- colours --------------------------------------------------------------------------------------------


def luminance(c: str) -> float:
    channels = [int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_lanes_of_a_warp_have_colours_of_their_own_under_legible_labels():
    colours = [colour(lane) for lane in range(32)]

    assert len(set(colours)) == 32
    assert colour(32) == colours[0]
    black = luminance("#111111")
    assert min((luminance(c) + 0.05) / (black + 0.05) for c in colours) > 4.5  # as WCAG AA asks
    for strength in range(4):
        row = [int(c[1:], 16) for c in colours[8 * strength : 8 * strength + 8]]
        apart = [sum(abs((a >> s & 255) - (b >> s & 255)) for s in (0, 8, 16)) for a in row for b in row if a != b]
        assert min(apart) > 24


def test_offsets_that_a_swizzle_keeps_together_have_one_colour():
    grid = offset_grid(TILE)

    assert grid.group[1][:16] == (9,) * 8 + (8,) * 8
    assert offset_grid(Layout((2, 2), (32, 64))).group == ((0, 2), (1, 3))


# -- SVG ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "x",
    [Layout((4, 8), (8, 1)), Layout(100, 3), Layout((), ()), TILE, Swizzle(3, 4, 3), make_identity_layout((3, 3)),
     Layout((M, N), (1, ld)), ComposedLayout(Swizzle(2, 0, 3), 0, Layout((M, 8), (8, 1))), Layout((1 << 30, 4, 4)),
     ComposedLayout(Layout(8, 2), 1, Layout(4, 2))],
    ids=str,
)  # fmt: skip
def test_every_layout_draws_itself(x):
    source = x._repr_svg_()

    [title] = [e.text for e in shapes(source, "title")]
    assert title is not None
    assert title.startswith(str(x))
    assert labels(source)[0] == title
    assert len(source) < 400_000


def test_symbolic_layouts_say_what_they_assume():
    tiles = zipped_divide(Layout((dim("M", multiple_of=8), N), (N, 1)), (64, 64))

    assert labels(picture(tiles)) == [
        "((64,64),(ceil(M/64),ceil(N/64))):((N,1),(64*N,64))",
        "leaf 0: extent 64, stride N",
        "leaf 1: extent 64, stride 1",
        "leaf 2: extent ceil(M/64), stride 64*N",
        "leaf 3: extent ceil(N/64), stride 64",
        "assumes 1 <= M <= 2147483647",
        "assumes M % 8 == 0",
        "assumes 1 <= N <= 2147483647",
        "in domain: needs a predicate unless 64 divides M and N",
    ]
    assert "Sw<2,0,3> after adding 0" in labels(picture(ComposedLayout(Swizzle(2, 0, 3), 0, Layout((M, 8), (8, 1)))))


def test_cells_do_not_overlap_and_lie_inside():
    source = svg(thread_value_grid(FRAGMENT, (16, 8)))
    width, height = (int(ET.fromstring(source).attrib[a]) for a in ("width", "height"))
    boxes = [tuple(float(e.attrib[a]) for a in ("x", "y", "width", "height")) for e in shapes(source, "rect")[1:]]

    assert len(boxes) == 128
    assert all(x + w <= width and y + h <= height for x, y, w, h in boxes)
    assert len({(x, y) for x, y, _, _ in boxes}) == 128
    assert all(b[0] == boxes[0][0] + (j % 8) * b[2] for j, b in enumerate(boxes))
    assert len(labels(source)) == 1 + 8 + 16 + 128


def test_text_is_escaped():
    grid = Grid("<a & b>", (("<x>",),), ((0,),), "more < less")

    assert "<a & b>" in labels(svg(grid))
    assert {"<x>", "more < less"} < set(labels(svg(grid)))
    assert labels(card("<t>", ["a < b"])) == ["<t>", "a < b"]
    assert grid._repr_svg_() == svg(grid)


def test_only_what_has_a_picture_is_drawn():
    with pytest.raises(LayoutError, match=r"expected a layout, a map, a swizzle or a Grid to draw, got 'x' \(str\)"):
        picture("x")


# -- HTML -----------------------------------------------------------------------------------------------


REPORT = prove(
    Injective(Layout((M, N), (1, ld))),
    Injective(Layout((M, N), (1, ld)), given=ld >= M),
    Injective(Layout((4, 4), (1, 2)), expect="refuted"),
    Injective(Layout((M, 4), (4, 1)), given=[M <= 3, M >= 5]),
    Equal(Layout((8, 8), (8, 1)), Layout.parse("Sw<2,0,3> o 0 o (8,8):(8,1)")),
    FitsIn(Layout((M, 4), (4, 1)), bits=32),
    ConflictFree(Layout((8, 8), (64, 8)), element_bytes=2),
)


def test_a_report_is_a_table_with_coloured_outcomes():
    source = REPORT._repr_html_()

    text = " ".join(Tags(source).texts)
    assert "1 proved, 5 refuted, 1 vacuous" in text
    assert "fails for M = 2, N = 2, ld = 1: coordinates (1,0) and (0,1) both map to 1" in text
    assert "as expected" in text
    assert source.count("<tr>") == 1 + len(REPORT.verdicts)
    found = dict(re.findall(r'background:(#\w+)">(\w+)<', source))
    assert found == {"#c62828": "refuted", "#1a7f37": "proved", "#0969da": "refuted", "#8250df": "vacuous"}


def test_a_report_is_escaped():
    v = Verdict("<b>1 < 2</b>", Outcome.UNKNOWN, reason="a & b", place="<file>")

    source = Report((v,), notes=("<note>",))._repr_html_()

    assert {"<b>1 < 2</b>", "a & b", "<file>", "<note>"} <= set(Tags(source).texts)
    assert Tags(Report(())._repr_html_()).texts[0] == "no claims"


def test_a_page_is_one_file_with_the_failures_framed():
    page = html_page([REPORT, TILE, thread_value_grid(FRAGMENT, (16, 8))], "tiles <1>")

    found = Tags(page)
    assert page.count("<h1>tiles &lt;1&gt;</h1>") == 1
    assert not re.search(r"<script|https?://(?!www\.w3\.org/2000/svg)", page)
    figures = re.findall(r"<figure>(.*?)</figure>", page, re.DOTALL)
    titles = [shapes(f, "title")[0].text for f in figures]
    assert titles == [
        "injective: (2,2):(1,1) for M = 2, N = 2, ld = 1",
        "injective: (4,4):(1,2)",
        "equal: (8,8):(8,1)",
        "equal: Sw<2,0,3> o 0 o (8,8):(8,1)",
        "Sw<3,3,3> o 0 o (8,64):(64,1)",
        "((4,8),(2,2)):((32,1),(16,8)) over 16 x 8",
    ]  # a story about (536870912,0) and one about eight lanes have no picture
    assert figures[0].count('stroke-width="2.5"') == 1
    assert "M = 536870913" in " ".join(found.texts)
    assert html_page(Layout(4)).count("<figure>") == 1


def test_the_steps_of_a_swizzled_value():
    assert steps(TILE, (3, 9))[-1].split() == ["201", "->", "209"]

"""A grid, or lines of text, as one self-contained SVG picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape

from .grid import Grid

# Eight colours apart in hue and lightness, mixed with white in four strengths: 32 groups, the lanes of a warp.
HUES = ("#e15759", "#f28e2b", "#d9b51c", "#59a14f", "#2aa7a0", "#4e79a7", "#8e6bbf", "#d66fa8")
STRENGTHS = (0.34, 0.54, 0.74, 0.94)
NONE = "#eeeeee"

FONT = 'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="11"'
CHAR = 6.7  # the width of a character at that size
GAP = 4  # between bands
TOP = 44


def colour(group: int) -> str:
    """The colour of a group number, again after 32; light grey for none."""
    if group < 0:
        return NONE
    base, s = HUES[group % len(HUES)], STRENGTHS[group // len(HUES) % len(STRENGTHS)]
    return "#" + "".join(f"{round(255 + (int(base[i : i + 2], 16) - 255) * s):02x}" for i in (1, 3, 5))


def svg(grid: Grid, cell: int = 0) -> str:
    """SVG text: one box for each cell, coloured by its group, row and column numbers at the edges."""
    body, width, height = _drawn(grid, cell)
    return _document(grid.title, width, height, body, grid.cut)


def sheet(title: str, rows: Sequence[Sequence[Grid | None]]) -> str:
    """SVG text of several grids in rows and columns, each with its title; None is an empty place."""
    parts = [[_part(grid) for grid in row] for row in rows]
    widths = [max(part[1] for part in column) for column in zip(*parts, strict=True)]
    heights = [max(part[2] for part in row) for row in parts]
    body = []
    for i, row in enumerate(parts):
        for j, (lines, _, _) in enumerate(row):
            x, y = sum(widths[:j]), TOP // 2 + sum(heights[:i])
            body += [f'<g transform="translate({x:g} {y:g})">', *lines, "</g>"] if lines else []
    return _document(title, sum(widths), TOP // 2 + sum(heights), body)


def _part(grid: Grid | None) -> tuple[list[str], float, float]:
    """What is drawn of a grid of a sheet: lines, width, height."""
    if grid is None:
        return [], 0, 0
    body, width, height = _drawn(grid, 0)
    return [_title(grid.title, 12), *body], _wide(grid.title, width, grid.cut), height


def _drawn(grid: Grid, cell: int) -> tuple[list[str], float, float]:
    """The lines of a grid, its width and its height."""
    width = cell or max(22, round(CHAR * max((len(s) for row in grid.rows for s in row), default=1)) + 8)
    height = cell or 22
    left = round(CHAR * max(map(len, grid.labels), default=1)) + 16
    down, across = (_places(n, b) for n, b in zip((len(grid.rows), grid.columns), grid.band, strict=True))
    ys = [TOP + i * height + GAP * k for i, k in enumerate(down)]
    xs = [left + j * width + GAP * k for j, k in enumerate(across)]
    right, bottom = xs[-1] + width if xs else left, ys[-1] + height if ys else TOP
    boxes, labels, frames = [], [], []
    for i, (row, groups) in enumerate(zip(grid.rows, grid.group, strict=True)):
        for j, (s, g) in enumerate(zip(row, groups, strict=True)):
            if not s:
                continue
            x, y = xs[j], ys[i]
            boxes.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{colour(g)}"/>')
            labels.append(f'<text x="{x + width / 2:g}" y="{y + height / 2 + 4:g}">{escape(s)}</text>')
            if (i, j) in grid.marked:
                frames.append(f'<rect x="{x + 1}" y="{y + 1}" width="{width - 2}" height="{height - 2}"/>')
    body = ['<g text-anchor="middle" fill="#666">']
    body += [f'<text x="{x + width / 2:g}" y="{TOP - 6}">{j}</text>' for j, x in enumerate(xs)]
    body.append('</g><g text-anchor="end" fill="#666">')
    heads = zip(grid.labels, ys, strict=True)
    body += [f'<text x="{left - 8}" y="{y + height / 2 + 4:g}">{s}</text>' for s, y in heads]
    body += ['</g><g stroke="#fff">', *boxes, '</g><g text-anchor="middle" fill="#111">', *labels, "</g>"]
    if frames:
        body += ['<g fill="none" stroke="#111" stroke-width="2.5">', *frames, "</g>"]
    if grid.cut:
        body.append(f'<text x="8" y="{bottom + 18}" fill="#666">{escape(grid.cut)}</text>')
    return body, right + 10, bottom + (28 if grid.cut else 10)


def card(title: str, lines: Iterable[str]) -> str:
    """SVG text of a title and some lines, for what has no grid."""
    lines = list(lines)
    body = [f'<text x="8" y="{TOP - 4 + 17 * i}" fill="#333">{escape(s)}</text>' for i, s in enumerate(lines)]
    return _document(title, max((len(s) for s in lines), default=0) * CHAR + 20, TOP + 17 * len(lines) - 8, body)


def _document(title: str, width: float, height: float, body: list[str], note: str = "") -> str:
    w, h = round(_wide(title, width, note)), round(height)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" {FONT}>',
            f"<title>{escape(title)}</title>",
            f'<rect width="{w}" height="{h}" fill="#fff"/>',
            _title(title),
            *body,
            "</svg>",
        ]
    )


def _title(title: str, size: int = 13) -> str:
    return f'<text x="8" y="18" font-size="{size}" fill="#111">{escape(title)}</text>'


def _wide(title: str, width: float, note: str) -> float:
    """The width that holds a drawing, its title and its note."""
    return max(width, 8 * len(title) + 20, CHAR * len(note) + 20)


def _places(n: int, band: int) -> list[int]:
    """The number of gaps before each row or column."""
    return [i // band if band else 0 for i in range(n)]

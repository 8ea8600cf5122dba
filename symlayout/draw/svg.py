"""A grid as one self-contained SVG picture."""

from __future__ import annotations

from xml.sax.saxutils import escape

from .grid import Grid

HUES = 8  # distinguishable at a glance; lightness tells further groups apart


def svg(grid: Grid, cell: int = 0) -> str:
    """SVG text: one square for each cell, coloured by its group, row and column numbers at the edges."""
    longest = max((len(s) for row in grid.rows for s in row), default=1)
    width = cell or max(22, 7 * longest + 8)
    height = cell or 22
    left, top = 34, 44
    n = len(grid.rows[0]) if grid.rows else 0
    total_w = max(left + n * width + 10, 8 * len(grid.title) + 20)
    total_h = top + len(grid.rows) * height + (24 if grid.cut else 10)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total_w}" height="{total_h}" '
        f'viewBox="0 0 {total_w} {total_h}" font-family="monospace" font-size="11">',
        f"<title>{escape(grid.title)}</title>",
        f'<rect width="{total_w}" height="{total_h}" fill="#ffffff"/>',
        f'<text x="8" y="18" font-size="13" fill="#111">{escape(grid.title)}</text>',
        '<g text-anchor="middle" fill="#666">',
    ]
    out += [f'<text x="{left + j * width + width // 2}" y="{top - 6}">{j}</text>' for j in range(n)]
    out += [f'<text x="{left - 16}" y="{top + i * height + height // 2 + 4}">{i}</text>' for i in range(len(grid.rows))]
    out.append('</g><g stroke="#ffffff">')
    for i, groups in enumerate(grid.group):
        for j, g in enumerate(groups):
            x, y = left + j * width, top + i * height
            out.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{colour(g)}"/>')
    out.append('</g><g text-anchor="middle" fill="#111">')
    for i, row in enumerate(grid.rows):
        y = top + i * height + height // 2 + 4
        out += [f'<text x="{left + j * width + width // 2}" y="{y}">{escape(s)}</text>' for j, s in enumerate(row)]
    out.append("</g>")
    if grid.cut:
        out.append(f'<text x="8" y="{total_h - 8}" fill="#666">{escape(grid.cut)}</text>')
    return "\n".join([*out, "</svg>"])


def colour(group: int) -> str:
    """A light colour for a group number; grey for none."""
    if group < 0:
        return "#eeeeee"
    hue = group % HUES * 360 // HUES
    lightness = 90 - 7 * (group // HUES % 4)
    return f"hsl({hue},70%,{lightness}%)"

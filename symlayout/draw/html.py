"""Reports and pictures as HTML: a table for notebooks, a page in one file without scripts or network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

from ..answers.report import Outcome, Report, Verdict
from ..errors import SymlayoutError
from ..facts import symbols_in
from ..int_tuple import congruent
from ..layout import ComposedLayout, Layout
from .grid import offset_grid
from .picture import COLUMNS, ROWS, picture
from .svg import svg

COLOURS = {
    Outcome.PROVED: "#1a7f37",
    Outcome.REFUTED: "#c62828",
    Outcome.UNKNOWN: "#9a6700",
    Outcome.VACUOUS: "#8250df",
}
EXPECTED, UNEXPECTED = "#0969da", "#c62828"  # a refutation that its claim expects, and a proof that it does not

CELL = "padding:4px 10px;text-align:left;vertical-align:top"
WORD = "padding:1px 8px;border-radius:9px;color:#fff;font-weight:600;background:"

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 1400px; margin: 24px auto; padding: 0 16px; color: #1f2328 }}
table {{ border-collapse: collapse }} td, th {{ border-bottom: 1px solid #d1d9e0 }}
code {{ font-size: 13px }} figure {{ margin: 24px 0; overflow-x: auto }}
</style></head><body>
<h1>{title}</h1>
{body}
</body></html>
"""


def report_html(report: Report) -> str:
    """The verdicts as an HTML table, outcomes in colour; an outcome that its claim expects says so."""
    rows = "\n".join(map(_row, report.verdicts))
    head = "".join(f'<th style="{CELL}">{name}</th>' for name in ("outcome", "claim", "by"))
    notes = "".join(f"<p>{escape(n)}</p>" for n in (*report.size_lines(), *report.notes))
    return (
        f"<p><b>{escape(report.summary())}</b></p>\n"
        f'<table style="border-collapse:collapse"><tr>{head}</tr>\n{rows}\n</table>{notes}'
    )


def _row(v: Verdict) -> str:
    colour = COLOURS[v.outcome] if v.expect == Outcome.PROVED else EXPECTED if v.as_expected else UNEXPECTED
    expected = "" if v.expect == Outcome.PROVED else "<br>as expected" if v.as_expected else f"<br>expected {v.expect}"
    given = f"given {' and '.join(v.given)}"
    lines = [line.strip() for line in v.lines()][1:]
    details = "".join(f"<br>{escape(line)}" for line in lines if line != given)  # which the sentence says
    place = f'<br><small style="color:#59636e">{escape(str(v.place))}</small>' if v.place else ""
    return (
        f'<tr><td style="{CELL}"><span style="{WORD}{colour}">{v.outcome.value}</span>{expected}</td>'
        f'<td style="{CELL}"><code>{escape(v.sentence)}</code>{details}{place}</td>'
        f'<td style="{CELL}">{escape(v.method)}</td></tr>'
    )


def html_page(content: Any, title: str = "symlayout") -> str:
    """One HTML file of a report, a picture, or several of them in order.

    Pictures are of layouts, swizzles and Grids. A report shows each refuted layout at the sizes where it
    fails, the coordinates of the story framed.

    >>> html_page(Layout(4)).splitlines()[0]
    '<!DOCTYPE html>'
    """
    parts = content if isinstance(content, list | tuple) else [content]
    return PAGE.format(title=escape(title), body="\n".join(map(_part, parts)))


def _part(x: Any) -> str:
    figures: Iterable[str] = _failures(x) if isinstance(x, Report) else [picture(x, 2 * ROWS, 2 * COLUMNS)]
    table = [report_html(x)] if isinstance(x, Report) else []
    return "\n".join([*table, *(f"<figure>{s}</figure>" for s in figures)])


def _failures(report: Report) -> Iterator[str]:
    for v in report.verdicts:
        if v.outcome is Outcome.REFUTED and v.witness is not None and hasattr(v.claim, "subjects"):
            for x in v.claim.subjects():
                yield from _failure(x, v)


def _failure(x: Any, v: Verdict) -> Iterator[str]:
    """The layout at the sizes of the witness, where the picture has room for the coordinates of the story."""
    assert v.witness is not None
    sizes = v.witness.sizes
    if not isinstance(x, Layout | ComposedLayout):
        return
    try:
        bound = x.subs({s: sizes[s.name] for s in symbols_in(x) if s.name in sizes})
        coords = [c for c in v.witness.coords if congruent(c, bound.shape)]
        at = "".join(f"{', ' if i else ' for '}{s} = {n}" for i, (s, n) in enumerate(sizes.items()))
        grid = offset_grid(bound, ROWS, COLUMNS, coords, f"{v.claim.kind}: {bound}{at}")
    except SymlayoutError:
        return  # the table tells the story; a picture is an extra
    if grid.marked and all(i < len(grid.rows) and j < grid.columns for i, j in grid.marked):
        yield svg(grid)

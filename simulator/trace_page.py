"""The timeline of one CTA as an SVG picture, and a page in one file with the picture and the tables.

Both follow the colour scheme of the reader, light or dark, and load nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from .engine import NS
from .glossary import meaning
from .log import Span, Timeline
from .prediction import Prediction
from .trace_slots import slot_uses
from .trace_text import facts, resource_rows, stall_rows, title, uncertainty_rows

MOST_USES = 24  # of ring slots in a picture; of a longer run the beginning is shown
LEFT, WIDTH, RIGHT = 150, 940, 16
TOP, ROLE, SLOT, UNIT, GAP = 64, 24, 18, 12, 5
TICKS = 8
NARROW = 0.6  # pixels: spans closer than this are drawn as one

CLASSES = {  # of what is drawn: fill in the light scheme, in the dark one, and its word in the legend
    "issue": ("#4e79a7", "#7fa8d8", "issues"),
    "wait": ("#f0d9b5", "#5a4520", "waits"),
    "filling": ("#bfe3c9", "#1f4a2c", "slot is filling"),
    "full": ("#59a14f", "#6fc088", "slot is full"),
    "inuse": ("#b07aa1", "#c99abc", "slot is in use"),
    "unit": ("#8a93a0", "#8a93a0", "unit is busy"),
}
STYLE = """\
  .page { fill: #ffffff } .band { fill: #f4f6f9 } .tick { stroke: #d5dae1 }
  text { fill: #1d2430; font-family: system-ui, "Segoe UI", "DejaVu Sans", sans-serif; font-size: 12px }
  .head { font-size: 14px; font-weight: 600 } .note { fill: #55606f }
  .end { text-anchor: end } .mid { text-anchor: middle }
"""
DARK = """\
    .page { fill: #14181f } .band { fill: #1b212b } .tick { stroke: #343c49 }
    text { fill: #e6eaf0 } .note { fill: #a3adba }
"""

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>{title}</title>
<style>
:root {{ --ink: #1d2430; --page: #ffffff; --soft: #55606f; --line: #d5dae1; --bar: #c8d7ea }}
@media (prefers-color-scheme: dark) {{
  :root {{ --ink: #e6eaf0; --page: #14181f; --soft: #a3adba; --line: #343c49; --bar: #2b4263 }}
}}
body {{ font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; color: var(--ink); background: var(--page);
       max-width: 1140px; margin: 24px auto; padding: 0 16px }}
h1 {{ font-size: 20px }} h2 {{ font-size: 16px; margin: 28px 0 6px }} figure {{ margin: 16px 0; overflow-x: auto }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums }}
td, th {{ border-bottom: 1px solid var(--line); padding: 3px 14px 3px 0; text-align: right; font-weight: normal }}
td:first-child, th:first-child {{ text-align: left }} td[title] {{ cursor: help }} th {{ color: var(--soft) }}
td.bar {{ background: linear-gradient(var(--bar), var(--bar)) left / var(--part) 100% no-repeat; min-width: 84px }}
.tables {{ display: flex; flex-wrap: wrap; gap: 0 48px; align-items: flex-start }}
dl {{ display: grid; grid-template-columns: max-content 1fr; gap: 2px 18px }}
dt {{ color: var(--soft) }} dd {{ margin: 0 }}
small {{ color: var(--soft) }}
</style></head><body>
<h1>{title}</h1>
{body}
</body></html>
"""


@dataclass(frozen=True)
class Row:
    """A row of the picture: a label, and what is drawn at which times: (class, words, start, end)."""

    label: str
    height: int
    bars: tuple[tuple[str, str, int, int], ...]


def picture(p: Prediction, timeline: Timeline) -> str:
    """The roles, the ring slots and the units of the SM while its first CTA runs, or begins to."""
    rows, end, whole = _rows(timeline)
    all_of_it = f"{whole / NS / 1000:.2f} us"
    shown = f"the first {end / NS / 1000:.2f} of {all_of_it}" if end < whole else all_of_it
    cta = timeline.spans[0].who.partition(", ")[0] if timeline.spans else "no CTA"
    height = TOP + sum(r.height + GAP for r in rows) + 40
    body = [*_axis(end, height - 40), *_drawn(rows, end), *_legend(height - 14, _used(rows))]
    light = "".join(f"  .{name} {{ fill: {one} }}\n" for name, (one, _, _) in CLASSES.items())
    dark = "".join(f"    .{name} {{ fill: {two} }}\n" for name, (_, two, _) in CLASSES.items())
    width = LEFT + WIDTH + RIGHT
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img">',
            f"<title>Timeline of {escape(title(p))}</title>",
            f"<style>\n{STYLE}{light}  @media (prefers-color-scheme: dark) {{\n{DARK}{dark}  }}\n</style>",
            f'<rect class="page" width="{width}" height="{height}"/>',
            f'<text class="head" x="12" y="22">{escape(title(p))}</text>',
            f'<text class="note" x="12" y="40">{escape(cta)}, {shown}</text>',
            *body,
            "</svg>",
        ]
    )


def _rows(timeline: Timeline) -> tuple[list[Row], int, int]:
    """The rows, the time at which the picture ends, and that at which the CTA does."""
    first = timeline.spans[0].who.partition(", ")[0] if timeline.spans else ""
    mine = [s for s in timeline.spans if s.who.partition(", ")[0] == first]
    uses = [u for u in slot_uses(timeline) if u.track.startswith(f"{first}, ")]
    whole = max((s.end for s in mine), default=1)
    ends = sorted(u.freed for u in uses if u.freed is not None)
    end = ends[MOST_USES - 1] if len(ends) > MOST_USES else whole
    rows = []
    for who in dict.fromkeys(s.who for s in mine):
        spans = [s for s in mine if s.who == who]
        bars = [("wait" if s.what.startswith("wait") else "issue", s.what, s.start, s.end) for s in _outer(spans)]
        rows.append(Row(who.partition(", ")[2].removeprefix("role "), ROLE, tuple(bars)))
    for track in sorted({u.track for u in uses}):
        states = [(w.replace(" ", ""), w, a, b) for u in uses if u.track == track for w, a, b in u.states]
        rows.append(Row(track.partition(", ")[2], SLOT, tuple(states)))
    for unit in dict.fromkeys(s.who for s in timeline.services):
        busy = (("unit", unit, s.start, s.end) for s in timeline.services if s.who == unit)
        rows.append(Row(unit, UNIT, tuple(busy)))
    return rows, end, whole


def _outer(spans: Iterable[Span]) -> Iterator[Span]:
    """Spans that are no part of another one."""
    end = -1
    for s in sorted(spans, key=lambda s: (s.start, -s.end)):
        if s.end > end:
            yield s
            end = s.end


def _drawn(rows: Iterable[Row], end: int) -> Iterator[str]:
    scale, y = WIDTH / end, TOP
    for row in rows:
        yield f'<rect class="band" x="{LEFT}" y="{y}" width="{WIDTH}" height="{row.height}"/>'
        yield f'<text class="end" x="{LEFT - 8}" y="{y + row.height / 2 + 4:g}">{escape(row.label)}</text>'
        for kind, words, a, b in _joined(row.bars, scale):
            if a < end:
                x, w = LEFT + a * scale, max(NARROW, (min(b, end) - a) * scale)
                told = f"<title>{escape(words)}, {(b - a) / NS:.1f} ns at {a / NS:.1f} ns</title>"
                yield (f'<rect class="{kind}" x="{x:.2f}" y="{y}" width="{w:.2f}" height="{row.height}">{told}</rect>')
        y += row.height + GAP


def _joined(bars: Iterable[tuple[str, str, int, int]], scale: float) -> Iterator[tuple[str, str, int, int]]:
    """Bars of one class that are closer than one can see, as one."""
    held: tuple[str, str, int, int] | None = None
    for kind, words, a, b in bars:
        if held is not None and kind == held[0] and kind != "full" and (a - held[3]) * scale < NARROW:
            held = (kind, held[1] if words == held[1] else f"{held[1].partition(' ..')[0]} .. {words}", held[2], b)
            continue
        if held is not None:
            yield held
        held = (kind, words, a, b)
    if held is not None:
        yield held


def _axis(end: int, bottom: int) -> Iterator[str]:
    """Lines at round times."""
    step = _round_step(end / NS / TICKS)
    k = 0
    while k * step * NS <= end:
        x = LEFT + k * step * NS * WIDTH / end
        label = f"{k * step / 1000:g} us" if step >= 100 else f"{k * step:g} ns"
        yield f'<path class="tick" d="M{x:.2f},{TOP - 4} V{bottom}"/>'
        yield f'<text class="note mid" x="{x:.2f}" y="{TOP - 8}">{label}</text>'
        k += 1


def _round_step(at_least: float) -> float:
    """1, 2 or 5 times a power of ten, not below a number."""
    step = 1.0
    while step < at_least:
        step *= 2.5 if str(step)[0] == "2" else 2
    return step


def _used(rows: Iterable[Row]) -> list[str]:
    there = {kind for r in rows for kind, _, _, _ in r.bars}
    return [name for name in CLASSES if name in there]


def _legend(y: int, names: Iterable[str]) -> Iterator[str]:
    x = LEFT
    for name in names:
        word = CLASSES[name][2]
        yield f'<rect class="{name}" x="{x}" y="{y - 10}" width="12" height="12"/>'
        yield f'<text class="note" x="{x + 18}" y="{y}">{word}</text>'
        x += 34 + 7 * len(word)


def page(p: Prediction, timeline: Timeline) -> str:
    """The answer as a page: what is predicted, the picture, and the tables of resources, roles and numbers."""
    roles, causes = stall_rows(p)
    listed = "\n".join(f"<dt>{escape(line[:12].strip())}</dt><dd>{escape(line[12:])}</dd>" for line in facts(p)[1:])
    parts = [
        f"<dl>\n{listed}\n</dl>",
        f"<figure>{picture(p, timeline)}</figure>",
        '<div class="tables">',
        _table("Time of each role", ("cause", *roles), causes, bars=True),
        _table("Resources", ("resource", "if free", "busy", "mean wait"), resource_rows(p)),
        _table("What makes the range", ("uncertain numbers", "fast end", "slow end"), uncertainty_rows(p)),
        "</div>",
        "".join(f"<p><small>{escape(note)}</small></p>" for note in p.notes if p.uses),
    ]
    return PAGE.format(title=escape(title(p)), body="\n".join(filter(None, parts)))


def _table(head: str, columns: Sequence[str], rows: Sequence[Sequence[str]], bars: bool = False) -> str:
    """A table; with *bars* a share is drawn behind its number. A word says what it means below the pointer."""
    if not rows:
        return ""
    heads = "".join(f"<th>{escape(c)}</th>" for c in columns)
    body = "\n".join("<tr>" + _word(row[0]) + "".join(_cell(x, bars) for x in row[1:]) + "</tr>" for row in rows)
    return f"<div><h2>{escape(head)}</h2>\n<table><tr>{heads}</tr>\n{body}\n</table></div>"


def _word(text: str) -> str:
    told = f' title="{escape(meaning(text))}"' if meaning(text) else ""
    return f"<td{told}>{escape(text)}</td>"


def _cell(text: str, bar: bool) -> str:
    if not (bar and text):
        return f"<td>{escape(text)}</td>"
    return f'<td class="bar" style="--part: {text.replace(" ", "")}">{escape(text)}</td>'

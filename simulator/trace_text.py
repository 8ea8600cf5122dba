"""A prediction as tables of text, and its timeline as text of which two versions can be compared line by line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from .engine import NS
from .log import Span, Timeline
from .prediction import Prediction

US = 1000 * NS
SHOWN = 0.0005  # a part of the time that is shown as 0.1 %
CAUSE_WIDTH, WIDTH = 24, 11


def table(p: Prediction) -> str:
    """The prediction: what is predicted, then resources, roles and numbers, those that matter most first."""
    parts = [facts(p), resources(p), stalls(p), uncertainty(p), [f"note: {note}" for note in p.notes]]
    return "\n\n".join("\n".join(part) for part in parts if part)


def title(p: Prediction) -> str:
    """The kernel, its sizes and the machine."""
    sizes = ", ".join(f"{k} = {v}" for k, v in p.sizes.items())
    return f"{p.kernel}({sizes}) on {p.machine}"


def facts(p: Prediction) -> list[str]:
    """Time, range, bytes and the limiting resource, a line each; of a run that stopped, why."""
    if not p.uses:
        return [title(p), *(f"stopped     {note}" for note in p.notes)]
    around = p.around
    spread = f"p10-p90 {around.p10_ps / US:.2f} .. {around.p90_ps / US:.2f} us, " if around else ""
    rate = p.bytes / max(p.time_ps, 1)
    return [
        title(p),
        f"time        {1e6 * p.seconds:.2f} us, {spread}{p.launch_ps / US:.2f} us of launch included",
        f"            {p.cycles} cycles of {NS / p.cycle_ps:.3f} GHz without the launch",
        f"moved       {p.bytes} bytes, {p.bytes_per_cycle:.1f} per cycle, {rate:.3f} TB/s; "
        f"{p.dram_bytes} bytes of DRAM",
        f"limited by  {_limit(p)}",
    ]


def _limit(p: Prediction) -> str:
    if p.limiting:
        return f"{p.limiting} ({p.limiting} free: {percent(p.gain(p.limiting))})"
    if p.what_if:
        return "no resource that was tried"
    busiest = max(p.uses, key=lambda u: u.utilisation, default=None)
    return f"not tried; the busiest is {busiest.name} ({100 * busiest.utilisation:.1f} %)" if busiest else "not tried"


def resource_rows(p: Prediction) -> list[tuple[str, str, str, str]]:
    """(resource, time if it were free, part of the time for which it is busy, mean wait), what helps most first."""
    uses = {u.name: u for u in p.uses if u.requests}
    part = {u.name: -u.utilisation for u in p.uses}
    names = sorted({*uses, *p.what_if}, key=lambda n: (n not in p.what_if, p.what_if.get(n, 0), part.get(n, 0.0), n))
    rows = []
    for name in names:
        use, free = uses.get(name), percent(p.gain(name)) if name in p.what_if else ""
        busy, wait = (f"{100 * use.utilisation:.1f} %", f"{use.waited_ns:.1f} ns") if use else ("", "")
        rows.append((name, free, busy, wait))
    return rows


def stall_rows(p: Prediction) -> tuple[list[str], list[tuple[str, ...]]]:
    """The roles, and for each cause its part of the time of each; what takes most first."""
    roles = list(dict.fromkeys(s.role for s in p.stalls))
    share = {(s.role, s.cause): s.share for s in p.stalls}
    causes = {s.cause for s in p.stalls if s.share >= SHOWN}
    most = {c: max(share.get((r, c), 0.0) for r in roles) for c in causes}
    rows = [
        (c, *(f"{100 * x:.1f} %" if (x := share.get((r, c), 0.0)) >= SHOWN else "" for r in roles))
        for c in sorted(causes, key=lambda c: (-most[c], c))
    ]
    return [r.removeprefix("role ") for r in roles], rows


def uncertainty_rows(p: Prediction) -> list[tuple[str, str, str]]:
    """(numbers, the time with them at the fast end of their ranges, at the slow end), what matters most first."""
    effects = p.around.effects if p.around else ()
    return [(e.about, percent(e.fast), percent(e.slow)) for e in effects if max(e.slow, -e.fast) >= SHOWN]


def resources(p: Prediction) -> list[str]:
    """The table of resources."""
    return _table(("resource", "if free", "busy", "mean wait"), resource_rows(p))


def stalls(p: Prediction) -> list[str]:
    """The table of what each role spends its time on."""
    roles, rows = stall_rows(p)
    return _table(("time of each role", *roles), rows)


def uncertainty(p: Prediction) -> list[str]:
    """The table of what makes the range."""
    return _table(("uncertain numbers", "fast end", "slow end"), uncertainty_rows(p))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    rows = [head, *rows]
    if len(rows) == 1:
        return []
    widths = [max(w, *(len(r[k]) for r in rows)) for k, w in enumerate((CAUSE_WIDTH, *[WIDTH] * (len(head) - 1)))]
    return [
        " ".join([r[0].ljust(widths[0]), *(x.rjust(w) for x, w in zip(r[1:], widths[1:], strict=True))]).rstrip()
        for r in rows
    ]


def percent(part: float) -> str:
    """A change as text: ``-31.0 %``; no minus sign where nothing is left after rounding."""
    return f"{round(100 * part, 1) + 0.0:+.1f} %"


# -- the timeline ------------------------------------------------------------------------------------------------


def steps(timeline: Timeline, starts: bool = False) -> str:
    """What each role did, in order, with how long it took in nanoseconds; equal lines are counted.

    Without times of start, a change early in a run does not change all lines that come after.
    """
    roles: dict[str, list[Span]] = {}
    for s in timeline.spans:
        roles.setdefault(s.who, []).append(s)
    return "\n".join(line for who, spans in roles.items() for line in (who, *_lines(spans, starts), "")) + "\n"


def _lines(spans: list[Span], starts: bool) -> Iterator[str]:
    spans = sorted(spans, key=lambda s: (s.start, -s.end))
    if starts:
        yield from (f"  {s.start / NS:12.1f}{_line(s, within)}" for s, within in _nested(spans))
        return
    for line, same in groupby(_line(s, within) for s, within in _nested(spans)):
        count = sum(1 for _ in same)
        yield f"{line}  x {count}" if count > 1 else line


def _line(s: Span, within: bool) -> str:
    return f"  {(s.end - s.start) / NS:10.1f}  {'  ' * within}{s.what}"


def _nested(spans: list[Span]) -> Iterator[tuple[Span, bool]]:
    """Each span, and whether it is a part of one before."""
    end = 0
    for s in spans:
        yield s, s.end <= end
        end = max(end, s.end)

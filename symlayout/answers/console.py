"""Text for the terminal: verdicts in colour if it has colour, plain text otherwise."""

from __future__ import annotations

import collections
import contextlib
import itertools
import re
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from ..facts.scope import USUAL, Phrase
from ..int_tuple import text
from .report import Outcome, Report, Verdict, indented

STYLES = {
    Outcome.PROVED: "green",
    Outcome.REFUTED: "red",
    Outcome.UNKNOWN: "yellow",
    Outcome.VACUOUS: "magenta",
}

ACCESSES = ("aligned", "in bounds", "fits in")  # kinds of claims about one access of a kernel

LABEL = re.compile(r"\s*\S+(?: \S+)*?\s{2,}(?:\S+\s{2,})?")  # what stands before a column of text
ROOM = 40  # columns that words at the end of a row need
STEP = 4  # columns by which the rest of a line without a label is indented


class Lines(Console):
    """Lines as they are; on a terminal, the rest of one that is too long is indented as its text is."""

    def print(self, *objects: Any, **how: Any) -> None:
        """Print as ``rich`` does, each line of a text, or of a string without markup, broken at its spaces."""
        plain = not how.get("markup", True)
        if self.is_terminal:
            objects = tuple(
                folded(x if isinstance(x, Text) else Text(x), self.width)
                if isinstance(x, Text) or (plain and isinstance(x, str))
                else x
                for x in objects
            )
        super().print(*objects, **how)


def folded(x: Text, columns: int, indent: int | None = None) -> Text:
    """Text of which no line is wider than so many columns, where it has spaces.

    The rest of a line is indented by *indent*, or as what stands behind its label.

    >>> print(folded(Text("moved       536870912 bytes, 2020.4 per cycle"), 32))
    moved       536870912 bytes,
                2020.4 per cycle
    """
    return Text("\n").join(part for line in x.split("\n", allow_blank=True) for part in _parts(line, columns, indent))


def _indent(line: str, columns: int) -> int:
    label = LABEL.match(line)
    if label is not None and label.end() <= columns // 2:
        return label.end()
    return len(line) - len(line.lstrip()) + STEP


def _parts(line: Text, columns: int, indent: int | None) -> Iterator[Text]:
    indent = _indent(line.plain, columns) if indent is None else indent
    while cell_len(line.plain) > columns:
        cut = line.plain.rfind(" ", indent + 1, columns + 1)
        if cut < 0 or not line.plain[:cut].strip():
            break
        part, rest = line[:cut], line[cut:]
        part.rstrip()
        yield part
        line = Text(" " * indent).append(rest[len(rest.plain) - len(rest.plain.lstrip()) :])
    yield line


out = Lines(highlight=False, soft_wrap=True)
err = Lines(stderr=True, highlight=False, soft_wrap=True)


def width() -> int:
    """Columns to fill with a table."""
    return out.width if sys.stdout.isatty() else 100


def _about_an_access(v: Verdict) -> bool:
    return v.outcome is Outcome.PROVED and v.as_expected and getattr(v.claim, "kind", "") in ACCESSES


def show_line(outcome: Outcome, said: str, where: str = "") -> None:
    """One line that begins like a verdict."""
    head = Text("  ").append(indented(where), style="dim")
    out.print(head.append(f"{outcome.value:8}", style=f"bold {STYLES[outcome]}").append(f"  {said}"))


def show_verdict(v: Verdict, where: str = "") -> None:
    """One verdict at a line and column, its outcome coloured; an expected refutation is not red."""
    style = STYLES[v.outcome] if v.as_expected is (v.outcome is Outcome.PROVED) else "cyan"
    head, *rest = v.lines()
    word, tail = head[:8], head[8:]
    out.print(Text("  ").append(indented(where), style="dim").append(word, style=f"bold {style}").append(tail))
    indent = "  " + indented("" if not v.place.line else " ")
    for line in rest:
        out.print(Text(indent).append(line, style="default" if v.outcome is not Outcome.PROVED else "dim"))


MANY = 4  # proofs of accesses, one after the other, that share one line


def show_report(report: Report, verbose: bool = False) -> None:
    """The verdicts on a claim or on a kernel, what makes them all hold, and what was not asked.

    Proofs about single accesses that follow each other are counted, unless all are to be shown.
    """
    shown = ""
    for alike, some in itertools.groupby(report.verdicts, _about_an_access):
        run = list(some)
        where, shown = _where(run[0], shown), run[0].place.where
        if alike and len(run) >= MANY and not verbose:
            kinds = collections.Counter(v.claim.kind for v in run)
            counts = ", ".join(f"{n} times {kind}" for kind, n in kinds.items())
            facts = " and ".join(dict.fromkeys(f for v in run for f in v.given if f in report.given))
            given = f"  given {facts}" if facts else ""
            show_line(Outcome.PROVED, f"the accesses: {counts}{given} (--verbose shows each)", where)
        else:
            for v in run:
                show_verdict(v, where)
                where = _where(v, shown)
    failed = [v for v in report.verdicts if v.outcome is Outcome.REFUTED and not v.as_expected]
    if len(failed) > 1 and report.repairs and all(v.repairs for v in failed):
        out.print(Text(f"  all hold if {' and '.join(map(str, report.repairs))}"))
    if not all(map(_usual, report.sizes)):
        for line in report.size_lines():
            out.print(Text(f"  {line}", style="dim"))
    for note in report.notes:
        out.print(Text(f"  {note}", style="dim"))


def _where(v: Verdict, shown: str) -> str:
    """Line and column of a verdict; blank where they have been shown."""
    return " " if v.place.where and v.place.where == shown else v.place.where


def show_place(place: str) -> None:
    """The file that the following verdicts come from."""
    out.print(Text(place, style="bold"))


def show_certificate(
    words: str, reason: str, claim: str, lemmas: tuple[str, ...], stated: str, trusts: tuple[str, ...]
) -> None:
    """The theorem or the defect of a certificate, its statement, and the verdict that it came with."""
    accepted = "accepted in parts" if trusts else "accepted"
    verdict = Text("rejected", style="bold red") if reason else Text(accepted, style="bold green")
    out.print(Text("  ").append(verdict).append(f"  {words}"))
    rest = (("states ", stated), ("trusts ", "; ".join(trusts)), ("for ", claim), ("with ", "; ".join(lemmas)))
    for label, value in (("", reason), *rest):
        if value:
            out.print(Text(f"            {label}{value}", style="dim" if label else "default"))


CHECKED = {"accepted": "bold green", "rejected": "bold red", "repeat": "bold yellow", "trusts": "bold yellow"}


def show_bundle(about: list[str], checks: list[tuple[str, str]]) -> None:
    """The subject of a bundle of certificates and the result of its check: a word and the parts that it applies to."""
    for line in about:
        out.print(Text(f"  {line}", style="dim"))
    for word, what in checks:
        out.print(Text("  ").append(f"{word:8}", style=CHECKED[word]).append(f"  {what}"))


def show_layouts(layouts: dict[str, Any]) -> None:
    """Layouts by name, each with its size and shape and in coalesced form."""
    from ..algebra import coalesce

    for name, x in layouts.items():
        out.print(Text(f"{name}  ").append(str(x), style="bold"))
        out.print(Text(f"   size {x.size()}, shape {text(x.shape)}, coalesced {coalesce(x)}"))


def show_summary(report: Report, seconds: float) -> None:
    """The closing line."""
    wrong = [v for v in report.verdicts if not v.as_expected]
    expected = sum(v.as_expected and v.outcome is not Outcome.PROVED for v in report.verdicts)
    note = f" ({expected} of them expected)" if expected else ""
    if any(map(_usual, report.sizes)):
        out.print(Text(f"sizes are {USUAL} unless said otherwise", style="dim"))
    line = Text(f"{report.summary()}{note} in {seconds:.1f} s")
    if wrong:
        line.append(f"; {len(wrong)} not as expected", style="bold red")
    out.print(line)


def show_row(numbers: str, words: str) -> None:
    """A row of a table that ends in words; on a terminal without room for them they stand below."""
    if not out.is_terminal:
        out.print(f"{numbers} {words}", markup=False)
    elif out.width < len(numbers) + ROOM:
        out.print(f"{numbers.rstrip()}\n      {words}", markup=False)
    else:
        out.print(folded(Text(f"{numbers} {words}"), out.width, len(numbers) + 1))


def show_error(message: str) -> None:
    """A message on the error stream."""
    err.print(Text("error: ", style="bold red").append(message))


PATIENCE_S = 1.0  # what takes less is not worth a line


@contextlib.contextmanager
def working(what: str) -> Iterator[None]:
    """On a terminal, a line on the error stream that says what is being done, once that takes a second."""
    status = err.status(escape(what))
    with _late(status.start, status.stop):
        yield


@contextlib.contextmanager
def progress(total: int, what: str = "claims", then: str = "") -> Iterator[Callable[[int], None]]:
    """On a terminal, a bar on the error stream, once the claims, or what else there is, take a second.

    When all are done the bar says *then* what is being done, for which nobody knows how long it takes.
    """
    from rich.progress import Progress

    bar = Progress(console=err, transient=True, disable=not err.is_terminal)
    task = bar.add_task(what, total=total)
    with _late(bar.start, bar.stop):

        def step(done: int) -> None:
            bar.update(task, completed=done)
            if then and done == total:
                bar.reset(task, description=then, total=None)

        yield step


@contextlib.contextmanager
def _late(start: Callable[[], None], stop: Callable[[], None]) -> Iterator[None]:
    """Start something after a moment, unless it has ended by then. Without a terminal nothing is started."""
    if not err.is_terminal:
        yield
        return
    timer = threading.Timer(PATIENCE_S, start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        stop()


def _usual(said: str) -> bool:
    """Whether it is said of sizes that their range is the usual one."""
    return isinstance(said, Phrase) and said.usual

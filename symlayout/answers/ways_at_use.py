"""Ways to show a report that are loaded when they are asked for: as HTML, and as a script."""

from __future__ import annotations

from .report import Report, Verdict, ways


@ways.defines
def report_html(report: Report) -> str:
    """The table of a notebook, see :func:`symlayout.draw.html.report_html`."""
    from ..draw import html

    return html.report_html(report)


@ways.defines
def reproduce(verdict: Verdict) -> str:
    """The script of a refutation, see :func:`symlayout.answers.reproduce.reproduce`."""
    from . import reproduce as scripts

    return scripts.reproduce(verdict)

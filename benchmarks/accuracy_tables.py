"""The tables of a round on the cards that have measured it, as the pages of this project have them.

python -m benchmarks.accuracy_tables round7
python -m benchmarks.accuracy_tables spaces6
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from simulator.calibrate import rows_of as calibration_of

from .accuracy import rows_of
from .accuracy_report import Point, kendall, points, spaces, summary

RESULTS = Path(__file__).parent / "results"
CARDS = ("h200", "h100")
BEYOND = 0.12  # the aim for the worst of copies


def cards(name: str) -> list[str]:
    """The cards that have measured a round. Raises SystemExit for a round that none has."""
    found = [card for card in CARDS if _file(name, card, "measured").exists()]
    if not found:
        known = sorted({p.name.split("_")[0] for p in (RESULTS / "accuracy").glob("*_measured.jsonl")})
        raise SystemExit(f"expected a round that a card has measured ({', '.join(known)}), got {name!r}")
    return found


def classes(name: str, near: bool = True) -> Iterator[str]:
    """The lines of the table of classes: errors of each card and baselines, the nearest microbenchmark if *near*."""
    rounds = [_measured(name, card, near) for card in cards(name)]
    columns = [f"{card.upper()} | worst | tau | in p10-p90 | roofline | nearest" for card in cards(name)]
    yield f"| class | {' | '.join(columns)} |"
    yield "|---" * (1 + 6 * len(rounds)) + "|"
    groups = list(dict.fromkeys(p.group for p in rounds[0]))
    for group, title in [(g, f"`{g}`") for g in groups] + [("copies", "copies"), ("all", "all")]:
        yield f"| {title} | {' | '.join(_errors(_of(group, every)) for every in rounds)} |"


def widths(name: str) -> Iterator[str]:
    """For each card and class: bias, width, the error as a part of the better baseline's, points beyond 12 %."""
    for card in cards(name):
        every = _measured(name, card)
        for group in [*dict.fromkeys(p.group for p in every), "all"]:
            told = summary(_of(group, every))
            beyond = sum(abs(p.error) > BEYOND for p in _of(group, every) if p.predicted)
            shown = ", ".join(f"{k} {told[k] or 0:.1%}" for k in ("bias", "width", "ratio"))
            yield f"{card}, {group}: {shown}, {beyond} points beyond {BEYOND:.0%}"


def choices(name: str) -> Iterator[str]:
    """The lines of the table of spaces: what choosing by prediction loses."""
    columns = [f"{card.upper()}: worst to best | tau | regret | of the predicted eight" for card in cards(name)]
    yield f"| work | schedules | {' | '.join(columns)} |"
    yield "|---" * (2 + 4 * len(columns)) + "|"
    for found in zip(*(spaces(_measured(name, card, near=False)) for card in cards(name)), strict=True):
        lost = [
            f"{s.spread:.1f} | {s.tau:.2f} | {100 * s.regret:.1f} % | {100 * s.regret_of_eight:.1f} %" for s in found
        ]
        yield f"| `{found[0].work}` | {found[0].schedules} | {' | '.join(lost)} |"


def _file(name: str, card: str, what: str) -> Path:
    return RESULTS / f"accuracy/{name}_{card}_{what}.jsonl"


def _measured(name: str, card: str, near: bool = True) -> list[Point]:
    rows = [rows_of(_file(name, card, what)) for what in ("points", "measured")]
    return points(*rows, calibration_of(RESULTS / "microbenchmarks" / card)[1] if near else ())


def _of(group: str, every: Sequence[Point]) -> list[Point]:
    return [p for p in every if group in ("all", p.group) or (group == "copies" and p.group.endswith("copy"))]


def _errors(mine: Sequence[Point]) -> str:
    told = summary(mine)
    tau = kendall([p.measured for p in mine if p.predicted], [p.predicted for p in mine if p.predicted])
    mean, worst, inside, roofline, nearest = (
        "-" if told[k] is None else f"{100 * told[k]:.{digits}f} %"
        for k, digits in (("mean", 1), ("worst", 0), ("inside", 0), ("roofline", 0), ("nearest", 0))
    )
    return f"{mean} | {worst} | {tau:.2f} | {inside} | {roofline} | {nearest}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("name", help="round7, or spaces6")
    told = parser.parse_args().name
    for line in choices(told) if told.startswith("spaces") else [*classes(told), *widths(told)]:
        print(line)

"""All rows by what they are about, for ``explain`` and for the page that this module writes.

python -m symlayout.rules.catalogue > docs/tma_rules.md
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator

from ..tma import TmaType
from . import Rule

# table: what its rows are about
SECTIONS = {
    "tma": "tensor maps",
    "dlpack": "tensors of make_tma_descriptor",
    "tma_copy": "tensor copies",
    "tma_tile": "copies of a tile loop",
    "launch": "launches of a kernel",
}

PROFILES = {
    "driver": (
        "The encode calls that the CUDA 13.0 driver accepts on compute capability 9.0, no more and no less: measured "
        "on 120 000 calls."
    ),
    "cccl": (
        "The calls that `cuda::make_tma_descriptor` of libcu++ accepts. It ends in the encode call, so each driver row "
        "counts here too, and nothing that the driver would refuse is accepted."
    ),
    "documented": (
        "The text of the CUDA Driver API, types of compute capability 10 included. Some of it no driver checks."
    ),
    "hardware": "Rules of a copy that runs: a map that the driver encodes, and no fault at run time.",
    "tile": "Further rules of a copy in a tile loop: its buffer, its barrier, the end of the rows that it stores.",
    "phase": "The alignment that a consumer needs if it swizzles offsets from the start of its tile.",
    "launch": "Limits of an architecture: grids, CTAs, clusters, barriers. `Launchable` proves each row.",
    "lint": "Maps and copies that are legal and rarely intended. A warning, never a refusal.",
}


def rows(table: str) -> tuple[Rule, ...]:
    """The rows of one table."""
    found: tuple[Rule, ...] = importlib.import_module(f".{table}", __package__).RULES
    return found


def described(rule: Rule) -> str:
    """All that a row says, a line for each part."""
    parts = {
        "profiles": ", ".join(rule.profiles),
        "otherwise": rule.effect,
        "fix": rule.fix,
        "source": rule.source,
    }
    return "\n".join([rule.sentence, *(f"{name}: {text}" for name, text in parts.items() if text)])


# -- the page ---------------------------------------------------------------------------------------------

HEAD = """\
# The rules of tensor maps and launches

Every rule stands in the code once, as a row with its source; constructors, proofs, `symlayout tensormaps`,
`symlayout explain RULE` and this page read the same rows. This page is written by
`python -m symlayout.rules.catalogue > docs/tma_rules.md`.

A rule counts in one profile or in several:
"""


def page() -> str:
    """The page of all rules, by what they are about and by the profiles in which they count."""
    return "\n".join([HEAD, *_profiles(), "", *(line for table in SECTIONS for line in _section(table))])


def _profiles() -> Iterator[str]:
    yield "| profile | what it is | rules |"
    yield "|---|---|---|"
    every = [r for table in SECTIONS for r in rows(table)]
    for name, meaning in PROFILES.items():
        yield f"| {name} | {meaning} | {sum(name in r.profiles for r in every)} |"


def _section(table: str) -> Iterator[str]:
    title = SECTIONS[table]
    yield f"## {title[0].upper()}{title[1:]}\n"
    groups = dict.fromkeys(r.profiles for r in rows(table))
    for profiles in groups:
        yield f"### {' and '.join(filter(None, (', '.join(profiles[:-1]), profiles[-1])))}\n"
        yield "| rule | what must hold | otherwise | fix | source |"
        yield "|---|---|---|---|---|"
        for r in rows(table):
            if r.profiles == profiles:
                yield f"| `{r.id}` | {r.sentence} | {r.effect} | {r.fix} | {r.source} |"
        yield ""
    if table == "dlpack":
        yield from _types()


def _types() -> Iterator[str]:
    from .dlpack import TYPES

    yield "### Data types\n"
    yield "| DLPack | tensor map | profiles |"
    yield "|---|---|---|"
    for kind, (to, profiles) in TYPES.items():
        yield f"| {kind} | {TmaType(to).name} | {', '.join(profiles)} |"
    yield ""


if __name__ == "__main__":
    print(page(), end="")

"""What an instruction is: who issues it, what it moves between which memories, through which proxy, how it completes.

>>> print(atom("cp.async.16"))
cp.async.16: global -> shared, 16 bytes a thread, asynchronous, completes on cp.async groups
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import LayoutError


@dataclass(frozen=True)
class Atom:
    """An instruction. *bytes* are those that each thread moves, 0 where a tensor map or a shape says how many."""

    word: str
    kind: str  # "copy" or "mma"
    src: str  # memory spaces
    dst: str
    threads: int = 1  # that issue it together
    bytes: int = 0
    proxy: str = "generic"
    completion: str = ""  # "" when it is done where it stands, else "mbarrier" or a group of ops.GROUPS
    source: str = ""  # document and section

    @property
    def asynchronous(self) -> bool:
        return self.completion != ""

    def __str__(self) -> str:
        moved = f", {self.bytes} bytes a thread" if self.bytes else ""
        by = f", by {self.threads} threads" if self.threads > 1 else ""
        how = {"": "", "mbarrier": ", asynchronous, completes on an mbarrier"}.get(
            self.completion, f", asynchronous, completes on {self.completion} groups"
        )
        return f"{self.word}: {self.src} -> {self.dst}{moved}{by}{how}"


VECTORS = (1, 2, 4, 8, 16)  # bytes of one access

ROWS = (
    *(Atom(f"ld.global.{n}", "copy", "global", "register", bytes=n, source="PTX ISA, ld") for n in VECTORS),
    *(Atom(f"st.global.{n}", "copy", "register", "global", bytes=n, source="PTX ISA, st") for n in VECTORS),
    *(Atom(f"ld.shared.{n}", "copy", "shared", "register", bytes=n, source="PTX ISA, ld") for n in VECTORS),
    *(Atom(f"st.shared.{n}", "copy", "register", "shared", bytes=n, source="PTX ISA, st") for n in VECTORS),
    *(
        Atom(f"cp.async.{n}", "copy", "global", "shared", bytes=n, completion="cp.async", source="PTX ISA, cp.async")
        for n in (4, 8, 16)
    ),
    Atom(
        word="tma.load",
        kind="copy",
        src="global",
        dst="shared",
        proxy="async",
        completion="mbarrier",
        source="PTX ISA, cp.async.bulk.tensor",
    ),
    Atom(
        word="tma.store",
        kind="copy",
        src="shared",
        dst="global",
        proxy="async",
        completion="bulk",
        source="PTX ISA, cp.async.bulk.tensor",
    ),
)

ATOMS: Mapping[str, Atom] = {a.word: a for a in ROWS}


def atom(word: str) -> Atom:
    """The row of an instruction. Raises LayoutError for a word that has none."""
    if word not in ATOMS:
        raise LayoutError(f"expected an atom ({', '.join(ATOMS)}), got {word!r}")
    return ATOMS[word]

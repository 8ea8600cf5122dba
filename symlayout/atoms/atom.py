"""What an instruction is: who issues it, what it moves between which memories, through which proxy, how it completes.

>>> print(atom("cp.async.16"))
cp.async.16: global -> shared, 16 bytes a thread, asynchronous, completes on cp.async groups
>>> print(atom("mma.m16n8k16.bf16").tv_c)
((4,8),(2,2)):((32,1),(16,8))
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..dtype import DType
from ..errors import LayoutError
from ..layout import Layout
from ..text.reader import suggestion


@dataclass(frozen=True)
class Atom:
    """An instruction. *bytes* are those that each thread moves, 0 where a map, a shape or the operation says."""

    word: str
    kind: str  # "copy" or "mma"
    src: str  # memory spaces; of an mma those of A and B
    dst: str
    threads: int = 1  # that issue it together
    bytes: int = 0
    proxy: str = "generic"
    completion: str = ""  # "" when it is done where it stands, else "mbarrier" or a group of ops.GROUPS
    source: str = ""  # document and section
    align_bytes: int = 0  # of every shared-memory address that a thread gives
    since: tuple[int, int] = (8, 0)  # compute capability from which on there is one; none older is described

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


@dataclass(frozen=True, kw_only=True)
class MatrixCopy(Atom):
    """A copy that threads make together: (thread, value) to a position in rows of 8 elements, one after the other."""

    src_tv: Layout
    dst_tv: Layout


@dataclass(frozen=True, kw_only=True)
class MmaAtom(Atom):
    """A matrix product C + A B^T: (thread, value) to a position in a column-major tile.

    The tiles are (M,K) for A, (N,K) for B, (M,N) for C. A thread stride of 0 says that all threads see the tile.
    """

    mnk: tuple[int, int, int]
    dtype: DType  # of A and B
    acc_dtype: DType  # of C
    tv_a: Layout
    tv_b: Layout
    tv_c: Layout


VECTORS = (1, 2, 4, 8, 16)  # bytes of one access
HOPPER = (9, 0)

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
        since=HOPPER,
    ),
    Atom(
        word="tma.store",
        kind="copy",
        src="shared",
        dst="global",
        proxy="async",
        completion="bulk",
        source="PTX ISA, cp.async.bulk.tensor",
        since=HOPPER,
    ),
    *(
        Atom(
            word=f"tma.reduce.{op}",
            kind="copy",
            src="shared",
            dst="global",
            proxy="async",
            completion="bulk",
            source="PTX ISA, cp.reduce.async.bulk.tensor",
            since=HOPPER,
        )
        for op in ("add", "min", "max")
    ),
)

ATOMS: dict[str, Atom] = {a.word: a for a in ROWS}  # with the rows of the other files of this package


def add_atoms(rows: Iterable[Atom]) -> None:
    """Put rows into the table. Raises LayoutError for a word that it has already."""
    for row in rows:
        if ATOMS.setdefault(row.word, row) is not row:
            raise LayoutError(f"expected a new word for an atom, got {row.word!r} twice")


def atom(word: str) -> Atom:
    """The row of an instruction. Raises LayoutError for a word that has none."""
    if word not in ATOMS:
        kinds = ", ".join(dict.fromkeys(w.split(".")[0] for w in ATOMS))
        raise LayoutError(f"expected an atom (of {kinds}), got {word!r}{suggestion(str(word), ATOMS)}")
    return ATOMS[word]

"""Accesses to the shared memory of another CTA of the cluster, its distributed shared memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..atoms.access import AccessKind, MemorySpace, Proxy
from ..expr import Int
from .op import ByAtom
from .operands import Ref, Slot
from .touch import Touch


@dataclass(frozen=True)
class PeerCopy(ByAtom):
    """Each thread moves bytes between its registers and the shared memory of the CTA of rank *peer* in its cluster.

    The place is that of the tensor in the peer: ``mapa`` of the own one. ``ld.cluster`` and ``st.cluster`` are loads
    and stores; ``st.async`` is a store that comes later and credits its bytes to *barrier* of the peer (PTX ISA, mapa;
    st.async).

    >>> print(PeerCopy("st.cluster.4", Ref("x"), Ref("part"), 0))
    st.cluster.4 x -> part of CTA 0
    >>> print(PeerCopy("st.async.8", Ref("x"), Ref("part", 2), 1, Slot("full")))
    st.async.8 x -> part[2] of CTA 1 on full[0]
    """

    src: Ref
    dst: Ref
    peer: Int
    barrier: Slot | None = None

    @property
    def place(self) -> Ref:
        """The operand in the memory of the peer."""
        return self.src if self.row is not None and self.row.src is MemorySpace.SHARED else self.dst

    def _touched(self) -> Iterator[Touch]:
        row = self.row
        if row is None:
            yield Touch(self.src, AccessKind.READ)
            yield Touch(self.dst, AccessKind.WRITE)
            return
        for x, kind, space in ((self.src, AccessKind.READ, row.src), (self.dst, AccessKind.WRITE, row.dst)):
            yield Touch(x, kind, space, Proxy.GENERIC, row.completion, bytes=row.bytes)

    def __str__(self) -> str:
        at = f" of CTA {self.peer}"
        where = f"{self.src}{at} -> {self.dst}" if self.place is self.src else f"{self.src} -> {self.dst}{at}"
        return f"{self.atom} {where}" + (f" on {self.barrier}" if self.barrier is not None else "")

"""Accesses of a thread to the shared memory of another CTA of its cluster: loads, stores, and stores on an mbarrier.

>>> from symlayout.atoms import atom
>>> print(atom("st.async.8"))
st.async.8: register -> shared, 8 bytes a thread, asynchronous, completes on an mbarrier
>>> print(atom("ld.cluster.4"), needs_another("st.async.4"), needs_another("st.cluster.4"))
ld.cluster.4: shared -> register, 4 bytes a thread True False

All are weak accesses through the generic proxy (PTX ISA, ld; st; st.async). The mbarrier of ``st.async`` is one of the
CTA that has the bytes. PTX asks for a cluster of more than one CTA; here the bytes have to go to another CTA than the
one which issues it, since an ordinary store serves its own better.
"""

from __future__ import annotations

from .access import Completion
from .atom import HOPPER, REGISTER, SHARED, Atom

PIECES = (4, 8, 16)  # bytes of one access: b32, b64, v2.b64 and their like

ROWS = (
    *(Atom(f"ld.cluster.{n}", SHARED, REGISTER, bytes=n, source="PTX ISA, ld", since=HOPPER) for n in PIECES),
    *(Atom(f"st.cluster.{n}", REGISTER, SHARED, bytes=n, source="PTX ISA, st", since=HOPPER) for n in PIECES),
    *(
        Atom(
            f"st.async.{n}",
            REGISTER,
            SHARED,
            bytes=n,
            completion=Completion.MBARRIER,
            source="PTX ISA, st.async",
            since=HOPPER,
        )
        for n in PIECES
    ),
)
WORDS = frozenset(row.word for row in ROWS)


def needs_another(word: str) -> bool:
    """Whether the bytes have to be in another CTA than that which issues it: stricter than PTX, see above."""
    return word.startswith("st.async.")

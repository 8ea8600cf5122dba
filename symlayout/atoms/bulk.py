"""Bulk copies without a tensor map: two addresses and how many bytes, which the operation says.

>>> from symlayout.atoms import atom
>>> print(atom("bulk.load"))
bulk.load: global -> shared, asynchronous, completes on an mbarrier
>>> print(atom("bulk.store"))
bulk.store: shared -> global, asynchronous, completes on bulk groups

Both addresses and the number of bytes are multiples of 16 (PTX ISA, cp.async.bulk). A load may be multicast.
"""

from __future__ import annotations

from .access import Completion, Extent, Proxy
from .atom import GLOBAL, HOPPER, SHARED, Atom
from .cache import IN_L2

SIZE_UNIT_BYTES = 16  # of both addresses and of the size
SOURCE = "PTX ISA, cp.async.bulk"

ROWS = (
    Atom(
        word="bulk.load",
        src=GLOBAL,
        dst=SHARED,
        extent=Extent.OPERAND,
        proxy=Proxy.ASYNC,
        completion=Completion.MBARRIER,
        source=SOURCE,
        align_bytes=SIZE_UNIT_BYTES,
        since=HOPPER,
        caching=IN_L2,
    ),
    Atom(
        word="bulk.store",
        src=SHARED,
        dst=GLOBAL,
        extent=Extent.OPERAND,
        proxy=Proxy.ASYNC,
        completion=Completion.BULK,
        source=SOURCE,
        align_bytes=SIZE_UNIT_BYTES,
        since=HOPPER,
        caching=IN_L2,
    ),
)

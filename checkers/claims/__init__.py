"""The claims, one file each: what is asked, its algebra, its counterexamples, its form for the solver.

A new claim belongs here; a search that several claims share belongs in ``checkers.algebra``, and what is proved about
kernels in the folder of its subject.

A claim loads on first use: that of a layout leaves the proofs about kernels alone.
"""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..claim import Claim
    from .aligned import Aligned
    from .apart_in_time import ApartInTime
    from .arithmetic_fits import ArithmeticFits
    from .bijective import Bijective
    from .coalesced import Coalesced
    from .computes import Computes
    from .conflict_free import ConflictFree
    from .covers import Covers
    from .equal import Equal
    from .fits_in import FitsIn
    from .global_order import GlobalOrder
    from .happens_before import HappensBefore
    from .holds import Holds
    from .in_bounds import InBounds
    from .injective import Injective
    from .launchable import Launchable
    from .multiplicity import Multiplicity
    from .obeys import Obeys
    from .partition import Partition
    from .registers_fit import RegistersFit
    from .ring_protocol import RingProtocol
    from .rows_apart import RowsApart
    from .same_bytes import SameBytes
    from .shared_memory_fits import SharedMemoryFits
    from .surjective import Surjective
    from .tensor_map_valid import TensorMapValid
    from .tma_copy_safe import TmaCopySafe
    from .transaction_bytes import TransactionBytes
    from .updated_once import UpdatedOnce
    from .vectorizable import Vectorizable
    from .well_formed import WellFormed
    from .written_once import WrittenOnce

    CLAIMS: tuple[type[Claim], ...]  # what text can state
    OTHERS: tuple[type[Claim], ...]  # about kernels and their parts

_LISTS = {
    "CLAIMS": (
        "Aligned",
        "Bijective",
        "Coalesced",
        "ConflictFree",
        "Covers",
        "Equal",
        "FitsIn",
        "Holds",
        "InBounds",
        "Injective",
        "Multiplicity",
        "Partition",
        "SameBytes",
        "Surjective",
        "TensorMapValid",
        "TmaCopySafe",
        "Vectorizable",
    ),
    "OTHERS": (
        "ApartInTime",
        "ArithmeticFits",
        "Computes",
        "GlobalOrder",
        "HappensBefore",
        "Launchable",
        "Obeys",
        "RegistersFit",
        "RingProtocol",
        "RowsApart",
        "SharedMemoryFits",
        "TransactionBytes",
        "UpdatedOnce",
        "WellFormed",
        "WrittenOnce",
    ),
}

__all__ = [
    "CLAIMS",
    "OTHERS",
    "Aligned",
    "ApartInTime",
    "ArithmeticFits",
    "Bijective",
    "Coalesced",
    "Computes",
    "ConflictFree",
    "Covers",
    "Equal",
    "FitsIn",
    "GlobalOrder",
    "HappensBefore",
    "Holds",
    "InBounds",
    "Injective",
    "Launchable",
    "Multiplicity",
    "Obeys",
    "Partition",
    "RegistersFit",
    "RingProtocol",
    "RowsApart",
    "SameBytes",
    "SharedMemoryFits",
    "Surjective",
    "TensorMapValid",
    "TmaCopySafe",
    "TransactionBytes",
    "UpdatedOnce",
    "Vectorizable",
    "WellFormed",
    "WrittenOnce",
]


def __getattr__(name: str) -> Any:
    found: Any
    if name in _LISTS:
        found = tuple(getattr(importlib.import_module(__name__), claim) for claim in _LISTS[name])
    elif name in __all__:
        module = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
        found = getattr(importlib.import_module(f".{module}", __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found

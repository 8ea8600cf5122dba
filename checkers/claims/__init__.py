"""The claims, one file each: what is asked, its algebra, its counterexamples, its form for the solver.

A new claim belongs here; a search that several claims share belongs in ``checkers.algebra``, and what is proved about
kernels in the folder of its subject.
"""

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

# What text can state; the others are about kernels and their parts.
CLAIMS = (
    Aligned,
    Bijective,
    Coalesced,
    ConflictFree,
    Covers,
    Equal,
    FitsIn,
    Holds,
    InBounds,
    Injective,
    Multiplicity,
    Partition,
    SameBytes,
    Surjective,
    TensorMapValid,
    TmaCopySafe,
    Vectorizable,
)

OTHERS = (
    ApartInTime,
    ArithmeticFits,
    Computes,
    GlobalOrder,
    HappensBefore,
    Launchable,
    Obeys,
    RegistersFit,
    RingProtocol,
    RowsApart,
    SharedMemoryFits,
    TransactionBytes,
    UpdatedOnce,
    WellFormed,
    WrittenOnce,
)

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

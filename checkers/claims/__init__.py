"""The claims, one file each."""

from .bijective import Bijective
from .conflict_free import ConflictFree
from .equal import Equal
from .fits_in import FitsIn
from .in_bounds import InBounds
from .injective import Injective
from .partition import Partition
from .surjective import Surjective

CLAIMS = (Bijective, ConflictFree, Equal, FitsIn, InBounds, Injective, Partition, Surjective)

__all__ = [
    "CLAIMS",
    "Bijective",
    "ConflictFree",
    "Equal",
    "FitsIn",
    "InBounds",
    "Injective",
    "Partition",
    "Surjective",
]

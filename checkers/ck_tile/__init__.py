"""Claims about tensor views and descriptors of CK Tile, one file each. They load when one of them is first named.

A new claim about views, windows or distributions belongs here, and into ``CK_CLAIMS``.
"""

from __future__ import annotations

from .distribution_covers import DistributionCovers
from .lds_conflicts import LdsConflictDegree
from .mask_is_exactly import MaskIsExactly
from .moving_equals_making import MovingEqualsMaking
from .no_invalid_access import NoInvalidAccess
from .vector_lanes import GuaranteedVectorLength, VectorDoesNotStraddle
from .view_claims import view_claims
from .window_claims import window_claims

CK_CLAIMS = (
    DistributionCovers,
    GuaranteedVectorLength,
    LdsConflictDegree,
    MaskIsExactly,
    MovingEqualsMaking,
    NoInvalidAccess,
    VectorDoesNotStraddle,
)

__all__ = [
    "CK_CLAIMS",
    "DistributionCovers",
    "GuaranteedVectorLength",
    "LdsConflictDegree",
    "MaskIsExactly",
    "MovingEqualsMaking",
    "NoInvalidAccess",
    "VectorDoesNotStraddle",
    "view_claims",
    "window_claims",
]

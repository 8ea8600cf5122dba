"""Claims about layouts and kernels, for all sizes: proved, refuted, or left open with the reason.

    >>> from symlayout import Layout
    >>> print(prove(Bijective(Layout(((4, 8, 4), (2, 2, 8)), ((128, 1, 16), (64, 8, 512))), onto=64 * 64)))
    proved    bijective: ((4,8,4),(2,2,8)):((128,1,16),(64,8,512)) onto 4096  [mixed radix, T3]

The names load on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .budget import Budget
    from .bundle import Bundle
    from .ck_tile import (
        DistributionCovers,
        GuaranteedVectorLength,
        LdsConflictDegree,
        MaskIsExactly,
        MovingEqualsMaking,
        NoInvalidAccess,
        VectorDoesNotStraddle,
        view_claims,
        window_claims,
    )
    from .claim import Claim
    from .claims import (
        Aligned,
        ApartInTime,
        ArithmeticFits,
        Bijective,
        Coalesced,
        Computes,
        ConflictFree,
        Covers,
        Equal,
        FitsIn,
        GlobalOrder,
        HappensBefore,
        Holds,
        InBounds,
        Injective,
        Launchable,
        Multiplicity,
        Partition,
        RegistersFit,
        RingProtocol,
        SameBytes,
        SharedMemoryFits,
        Surjective,
        TensorMapValid,
        TmaCopySafe,
        TransactionBytes,
        UpdatedOnce,
        Vectorizable,
        WellFormed,
        WrittenOnce,
    )
    from .kernel_claims import claims_of
    from .kernel_reports import prove_kernel
    from .kernel_widths import with_widths
    from .proving import prove
    from .trusted.certificate_checker import verify

_WHERE = {
    "prove": "proving",
    "claims_of": "kernel_claims",
    "prove_kernel": "kernel_reports",
    "Budget": "budget",
    "Bundle": "bundle",
    "with_widths": "kernel_widths",
    "verify": "trusted.certificate_checker",
    "Claim": "claim",
    "CLAIMS": "claims",
    "Aligned": "claims",
    "ApartInTime": "claims",
    "ArithmeticFits": "claims",
    "Bijective": "claims",
    "Coalesced": "claims",
    "Computes": "claims",
    "ConflictFree": "claims",
    "Covers": "claims",
    "Equal": "claims",
    "FitsIn": "claims",
    "GlobalOrder": "claims",
    "HappensBefore": "claims",
    "Holds": "claims",
    "InBounds": "claims",
    "Injective": "claims",
    "Multiplicity": "claims",
    "Partition": "claims",
    "Launchable": "claims",
    "RegistersFit": "claims",
    "RingProtocol": "claims",
    "SameBytes": "claims",
    "SharedMemoryFits": "claims",
    "Surjective": "claims",
    "TensorMapValid": "claims",
    "TmaCopySafe": "claims",
    "TransactionBytes": "claims",
    "UpdatedOnce": "claims",
    "Vectorizable": "claims",
    "WellFormed": "claims",
    "WrittenOnce": "claims",
    "DistributionCovers": "ck_tile",
    "GuaranteedVectorLength": "ck_tile",
    "LdsConflictDegree": "ck_tile",
    "MaskIsExactly": "ck_tile",
    "MovingEqualsMaking": "ck_tile",
    "NoInvalidAccess": "ck_tile",
    "VectorDoesNotStraddle": "ck_tile",
    "view_claims": "ck_tile",
    "window_claims": "ck_tile",
}

__all__ = [
    "Aligned",
    "ApartInTime",
    "ArithmeticFits",
    "Bijective",
    "Budget",
    "Bundle",
    "Claim",
    "Coalesced",
    "Computes",
    "ConflictFree",
    "Covers",
    "DistributionCovers",
    "Equal",
    "FitsIn",
    "GlobalOrder",
    "GuaranteedVectorLength",
    "HappensBefore",
    "Holds",
    "InBounds",
    "Injective",
    "Launchable",
    "LdsConflictDegree",
    "MaskIsExactly",
    "MovingEqualsMaking",
    "Multiplicity",
    "NoInvalidAccess",
    "Partition",
    "RegistersFit",
    "RingProtocol",
    "SameBytes",
    "SharedMemoryFits",
    "Surjective",
    "TensorMapValid",
    "TmaCopySafe",
    "TransactionBytes",
    "UpdatedOnce",
    "VectorDoesNotStraddle",
    "Vectorizable",
    "WellFormed",
    "WrittenOnce",
    "claims_of",
    "prove",
    "prove_kernel",
    "verify",
    "view_claims",
    "window_claims",
    "with_widths",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        found = getattr(importlib.import_module(f".{_WHERE[name]}", __name__), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'checkers' has no attribute {name!r}")

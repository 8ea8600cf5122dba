"""The claims of a GEMM's tensor copies for all sizes: milliseconds each, first and best of ten.

    python -m benchmarks.tma_proofs

The aim is 50 ms a claim. The claims are those of ``examples/e20_gemm_tma.py``.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path

from checkers import prove
from checkers.claim import Claim

EXAMPLE = Path(__file__).parents[1] / "examples" / "e20_gemm_tma.py"
AIM_MS = 50


def claims() -> dict[str, Claim]:
    """The claims of the example by name."""
    spec = importlib.util.spec_from_file_location("e20_gemm_tma", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: x for name, x in vars(module).items() if isinstance(x, Claim)}


def main() -> int:
    slow = 0
    print(f"{'claim':<14} {'first ms':>9} {'best ms':>9}  verdict")
    for name, claim in claims().items():
        spent = []
        for _ in range(10):
            begin = time.perf_counter()
            report = prove(claim)
            spent.append(1e3 * (time.perf_counter() - begin))
        slow += spent[0] > AIM_MS
        print(f"{name:<14} {spent[0]:>9.1f} {min(spent):>9.1f}  {report.summary()}")
    print(f"{slow} claims over {AIM_MS} ms")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())

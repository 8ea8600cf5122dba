"""Which tile and how many stages for a matrix product? All of them, ranked, the illegal ones excluded by the prover.

`symlayout sweep gemm M=1024 N=1024 K=1024 stages=2,4 tile=64x128,128x128` is the same as a command.
"""

from __future__ import annotations

from collections.abc import Mapping

import checkers
from simulator.sweep import sweep
from symlayout.kernel import Kernel
from symlayout.kernels.families import family

SIZES = {"M": [1024], "N": [1024], "K": [1024]}


def refuted(kernel: Kernel, sizes: Mapping[str, int]) -> str:
    """What does not hold of a kernel at these sizes; proofs are for all sizes that meet the repairs."""
    report = checkers.prove(kernel)
    if not report and report.repairs:
        kernel = kernel.assuming(*report.repairs)
        kernel.bind(**sizes)  # raises where the sizes do not meet them
        report = checkers.prove(kernel)
    return "" if report else report.summary()


def main() -> None:
    """The ranking, and its Pareto front of time, shared memory and threads."""
    axes = {"stages": [2, 4], "tile": [(64, 128), (128, 128)]}
    found = sweep(family("gemm"), SIZES, axes, legal=refuted, best=1)
    for row in found.ranked:
        star = "*" if row in found.pareto else " "
        time = f"{1e6 * row.seconds:6.1f} us"
        print(f"{star} {time}  {row.shared_bytes:6} bytes shared  {dict(row.options)}  {row.legal}")


if __name__ == "__main__":
    main()

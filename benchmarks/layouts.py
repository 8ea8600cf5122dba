"""Layout algebra and first proofs side by side with the installable peers, in one run on the same inputs.

    python -m benchmarks.layouts

Fresh operands each iteration, no memo across iterations; the median of several batches. A ratio above 1
means that the peer takes longer. Peers that are not installed are left out with a line that says so.
"""

from __future__ import annotations

import importlib
import statistics
import subprocess
import sys
import timeit
from collections.abc import Callable
from typing import Any

import symlayout as sl
from checkers import Bijective, Equal
from checkers.prover import Budget, decide
from symlayout.linear import linear

ALGEBRA: tuple[tuple[str, Any, Any], ...] = (
    ("composition", ((6, 2), (8, 2)), ((4, 3), (3, 1))),
    ("composition", (((4, 8, 4), (2, 2, 8)), ((128, 1, 16), (64, 8, 512))), ((8, 16), (16, 1))),
    ("complement", ((2, 4), (1, 6)), 24),
    ("coalesce", ((2, (1, 6)), (1, (6, 2))), None),
    ("logical_divide", ((8, 6), (1, 8)), ((4, 2), (1, 8))),
    ("zipped_divide", ((8, 6), (6, 1)), (4, 2)),
    ("tiled_divide", ((8, 6), (6, 1)), (4, 2)),
    ("logical_product", ((2, 5), (5, 1)), ((3, 4), (1, 3))),
    ("right_inverse", ((2, 4, 6), (4, 1, 8)), None),
    ("left_inverse", ((4, 2), (1, 16)), None),
    ("max_common_vector", ((8, 4), (1, 8)), ((8, 4), (1, 16))),
)
PEER_NAMES = {"composition": "compose"}  # tensor-layouts


def microseconds(f: Callable[[], Any], number: int = 2000) -> float:
    """The median time of one call over five batches."""
    f()
    return statistics.median(timeit.repeat(f, number=number, repeat=5)) / number * 1e6


def call(module: Any, op: str, a: Any, b: Any) -> Callable[[], Any]:
    """One operation on operands made anew at each call."""
    f = getattr(module, op)
    if b is None:
        return lambda: f(module.Layout(*a))
    if isinstance(b, int) or not isinstance(b[0], tuple):
        return lambda: f(module.Layout(*a), b)
    return lambda: f(module.Layout(*a), module.Layout(*b))


def algebra(peer: Any) -> None:
    """Every operation against tensor-layouts."""
    print(f"{'operation':<20}{'symlayout us':>14}{'tensor-layouts us':>20}{'ratio':>8}")
    for op, a, b in ALGEBRA:
        ours = microseconds(call(sl, op, a, b))
        if peer is None:
            print(f"{op:<20}{ours:>14.1f}{'-':>20}{'-':>8}")
            continue
        peer_op = PEER_NAMES.get(op, op)
        if op == "max_common_vector":
            theirs = microseconds(lambda a=a, b=b: peer.max_common_vector(peer.Layout(*a), peer.Layout(*b)), 200)
        else:
            f = getattr(peer, peer_op)
            theirs = microseconds(_peer_call(peer, f, a, b))
        print(f"{op:<20}{ours:>14.1f}{theirs:>20.1f}{theirs / ours:>8.1f}")


def _peer_call(peer: Any, f: Any, a: Any, b: Any) -> Callable[[], Any]:
    if b is None:
        return lambda: f(peer.Layout(*a))
    if isinstance(b, int) or not isinstance(b[0], tuple):
        return lambda: f(peer.Layout(*a), b)
    return lambda: f(peer.Layout(*a), peer.Layout(*b))


def swizzled() -> Any:
    """A 128 x 256 tile of 128-byte swizzled atoms of two-byte elements."""
    inner = sl.Layout(((8, 16), (64, 4)), ((64, 512), (1, 8192)))
    return sl.ComposedLayout(sl.Swizzle(3, 3, 3), 0, inner)


def refined() -> Any:
    """The same function with its modes split otherwise."""
    inner = sl.Layout(((8, 4, 4), (64, 4)), ((64, 512, 2048), (1, 8192)))
    return sl.ComposedLayout(sl.Swizzle(3, 3, 3), 0, inner)


def proofs(peer: Any) -> None:
    """Bijectivity and equality of a swizzled 128 x 256 tile; construction is timed apart."""
    budget = Budget()
    built = microseconds(swizzled)
    rows: list[tuple[str, float]] = [
        ("construct the tile", built),
        (
            "bijective: verdict with a verified certificate",
            microseconds(_fresh(lambda t: decide(Bijective(t, 32768), budget))) - built,
        ),
        ("bijective: rank over GF(2)", microseconds(_fresh(lambda t: linear(t).is_bijective())) - built),
        (
            "equal to a refinement: verdict",
            microseconds(lambda: decide(Equal(swizzled(), refined()), budget)) - 2 * built,
        ),
    ]
    if peer is not None:
        tile = peer.compose(peer.Swizzle(3, 3, 3), peer.Layout(((8, 16), (64, 4)), ((64, 512), (1, 8192))))
        analysis = importlib.import_module("tensor_layouts.analysis")
        rows.append(("bijective: tensor-layouts", microseconds(lambda: analysis.is_bijective(tile), 3)))
    triton = _triton()
    if triton is not None:
        columns = [[1 << t] for t in range(15)]
        bases = ([("x", columns)], ["y"], [32768], True)  # its rank is found as it is made, then kept

        def invertible() -> bool:
            return bool(triton.from_bases(*bases).is_invertible())

        rows.append(("bijective: Triton, made and asked", microseconds(invertible, 2000)))
    print(f"\n{'swizzled 128 x 256 tile':<52}{'us':>10}")
    for name, value in rows:
        print(f"{name:<52}{value:>10.1f}")


def _fresh(f: Callable[[Any], Any]) -> Callable[[], Any]:
    return lambda: f(swizzled())


def _triton() -> Any:
    try:
        return importlib.import_module("triton._C.libtriton").linear_layout.LinearLayout
    except (ImportError, AttributeError):
        print("Triton is not installed: its row is left out", file=sys.stderr)
        return None


def imports() -> None:
    """A new process: import, then the first certificate proof."""
    program = (
        "import time; a = time.perf_counter(); import symlayout as s; from checkers import Bijective, prove; "
        "b = time.perf_counter(); M, N = s.dims('M N'); assert prove(Bijective(s.Layout((M, N)), M * N)); "
        "print(b - a, time.perf_counter() - a)"
    )
    runs = []
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        runs.append([float(x) for x in done.stdout.split()])
    print(f"\nimport {statistics.median(r[0] for r in runs) * 1e3:.0f} ms, ", end="")
    print(f"import and first proof {statistics.median(r[1] for r in runs) * 1e3:.0f} ms (new process, median of 5)")


def main() -> int:
    """Print the tables."""
    try:
        peer: Any = importlib.import_module("tensor_layouts")
    except ImportError:
        print("tensor-layouts is not installed: its columns are left out", file=sys.stderr)
        peer = None
    algebra(peer)
    proofs(peer)
    imports()
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The algorithms that cuBLASLt's heuristics offer for a product of bf16 with f32 sums, each as a launch.

    >>> for offer in offered(c, a, b): offer.launch()                              # doctest: +SKIP

C = A B^T of row-major A (M,K), B (N,K), C (M,N), on the default stream, through ctypes: no package of the image has
these calls. The values of the enumerations are those of cublasLt.h, CUDA 11 to 13.
"""

from __future__ import annotations

import ctypes
import glob
from collections.abc import Callable
from ctypes import byref, c_float, c_int, c_int64, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any, NamedTuple

WORKSPACE_BYTES = 256 << 20
ALGORITHMS = 8
REAL_F32, REAL_BF16, COMPUTE_F32 = 0, 14, 68
TRANSPOSE_A, TRANSPOSE_B, NONE, TRANSPOSED = 3, 4, 0, 1  # attributes of a product, and their values
MOST_WORKSPACE = 1  # an attribute of a preference
WORDS = {"id": (0, 4), "tile": (1, 4), "split_k": (2, 4), "swizzle": (4, 4), "stages": (6, 4), "cluster": (8, 2)}


class Algorithm(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t."""

    _fields_ = [
        ("algorithm", c_uint64 * 8),
        ("workspace_bytes", c_size_t),
        ("status", c_int),
        ("waves", c_float),
        ("reserved", c_int * 4),
    ]


class Offer(NamedTuple):
    """A launch, and the numbers by which cuBLASLt knows the algorithm: enumerations, those of cublasLt.h."""

    launch: Callable[[], None]
    how: dict[str, int]


def library() -> Any:
    """libcublasLt of the loader's path, or of the wheels beside torch. Raises OSError where there is none."""
    import torch

    beside = Path(torch.__file__).parent.parent / "nvidia"
    named = ["libcublasLt.so.13", "libcublasLt.so.12", *sorted(glob.glob(f"{beside}/*/lib/libcublasLt.so.*"))]
    for name in named:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise OSError(f"expected libcublasLt, got none of {', '.join(named)}")


def offered(c: Any, a: Any, b: Any, most: int = ALGORITHMS) -> list[Offer]:
    """A launch for each algorithm that the heuristics offer, the first choice first, with torch's matrices.

    Raises RuntimeError with the status where cuBLASLt refuses.
    """
    import torch

    (m, k), (n, _) = a.shape, b.shape
    lt = library()
    handle, product, preference = c_void_p(), c_void_p(), c_void_p()
    _expect(lt.cublasLtCreate(byref(handle)))
    _expect(lt.cublasLtMatmulDescCreate(byref(product), COMPUTE_F32, REAL_F32))
    for attribute, value in ((TRANSPOSE_A, TRANSPOSED), (TRANSPOSE_B, NONE)):
        held = c_int(value)
        _expect(lt.cublasLtMatmulDescSetAttribute(product, attribute, byref(held), c_size_t(4)))
    # columns first: C^T (N,M) = B (N,K) A^T (K,M), where B and A lie in memory as (K,N) and (K,M)
    of_b, of_a, of_c = _layout(lt, k, n), _layout(lt, k, m), _layout(lt, n, m)
    _expect(lt.cublasLtMatmulPreferenceCreate(byref(preference)))
    room = c_uint64(WORKSPACE_BYTES)
    _expect(lt.cublasLtMatmulPreferenceSetAttribute(preference, MOST_WORKSPACE, byref(room), c_size_t(8)))
    found, count = (Algorithm * most)(), c_int()
    _expect(
        lt.cublasLtMatmulAlgoGetHeuristic(
            handle, product, of_b, of_a, of_c, of_c, preference, c_int(most), found, byref(count)
        )
    )
    workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device=a.device)
    one, zero = c_float(1.0), c_float(0.0)

    def launch_of(algorithm: Any) -> Callable[[], None]:
        given = (handle, product, byref(one), _at(b), of_b, _at(a), of_a, byref(zero), _at(c), of_c, _at(c), of_c)
        rest = (byref(algorithm), _at(workspace), c_size_t(WORKSPACE_BYTES), c_void_p(0))
        return lambda: _expect(lt.cublasLtMatmul(*given, *rest))

    return [Offer(launch_of(found[i]), _told(lt, found[i])) for i in range(count.value) if found[i].status == 0]


def _told(lt: Any, algorithm: Any) -> dict[str, int]:
    out = {}
    for word, (attribute, size) in WORDS.items():
        held, written = c_int(0), c_size_t()
        lt.cublasLtMatmulAlgoConfigGetAttribute(
            byref(algorithm), attribute, byref(held), c_size_t(size), byref(written)
        )
        out[word] = held.value
    return out


def _layout(lt: Any, rows: int, columns: int) -> c_void_p:
    made = c_void_p()
    _expect(lt.cublasLtMatrixLayoutCreate(byref(made), REAL_BF16, c_uint64(rows), c_uint64(columns), c_int64(rows)))
    return made


def _at(x: Any) -> c_void_p:
    return c_void_p(x.data_ptr())


def _expect(status: int) -> None:
    if status:
        raise RuntimeError(f"expected cuBLASLt to answer 0, got status {status}")

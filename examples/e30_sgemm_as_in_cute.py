"""CuTe's first GEMM, call by call: local tiles, local partitions, copy, gemm, axpby, for all sizes of whole tiles.

The names are those of ``examples/cute/tutorial/sgemm_1.cu``, the column-major case. The copies choose their
instruction: cp.async by single elements, since threads of a partition hold strided ones. ``gemm`` on tensors in shared
memory copies each k to registers, and multiplies by fma. ``axpby`` updates C in place, which is proved because every
load of C stands before all stores. Two slips follow: copies that nobody awaits, and a tile that is filled again while
others still read it.
"""

from checkers import HappensBefore, claims_of
from symlayout import Layout, dim, local_partition, local_tile
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.specification import applied, dot, element, scalar


def sgemm(*, awaited: bool = True, again: bool = True) -> Kernel:
    """c = alpha a b^T + beta c for column-major a (M,K), b (N,K) and c (M,N)."""
    bM, bN, bK = 128, 128, 8  # the tile of a CTA
    tA, tB, tC = Layout((32, 8)), Layout((32, 8)), Layout((16, 16))  # threads by (m,k), (n,k), (m,n)
    M, N, K = (dim(name, multiple_of=n, at_most=1 << 20) for name, n in (("M", bM), ("N", bN), ("K", bK)))
    k = Builder("sgemm", M, N, K, grid=(M // bM, N // bN), threads=int(tC.size()))
    alpha, beta = k.parameter("alpha", "f32"), k.parameter("beta", "f32")
    mA = k.tensor(k.global_tensor("a", "f32", Layout((M, K)))())  # (M,K)
    mB = k.tensor(k.global_tensor("b", "f32", Layout((N, K)))())  # (N,K)
    mC = k.tensor(k.global_tensor("c", "f32", Layout((M, N)))())  # (M,N)

    cta_tiler, cta_coord = (bM, bN, bK), (*k.block, None)
    gA = local_tile(mA, cta_tiler, cta_coord, (1, None, 1))  # (BLK_M,BLK_K,k)
    gB = local_tile(mB, cta_tiler, cta_coord, (None, 1, 1))  # (BLK_N,BLK_K,k)
    gC = local_tile(mC, cta_tiler, cta_coord, (1, 1, None))  # (BLK_M,BLK_N)
    sA = k.tensor(k.shared_tensor("a_tile", "f32", Layout((bM, bK)))())
    sB = k.tensor(k.shared_tensor("b_tile", "f32", Layout((bN, bK)))())

    tAgA, tAsA = (local_partition(x, tA, k.thread) for x in (gA, sA))  # (THR_M,THR_K,k), (THR_M,THR_K)
    tBgB, tBsB = (local_partition(x, tB, k.thread) for x in (gB, sB))
    tCsA = local_partition(sA, tC, k.thread, (1, None))  # (THR_M,BLK_K)
    tCsB = local_partition(sB, tC, k.thread, (None, 1))  # (THR_N,BLK_K)
    tCgC = local_partition(gC, tC, k.thread, (1, 1))  # (THR_M,THR_N)
    tCrC = k.tensor(k.registers("acc", "f32", int(tCgC.size()))(), Layout(tCgC.shape))

    k.clear(tCrC)
    with k.loop("k_tile", K // bK) as k_tile:
        k.copy(tAgA(None, None, k_tile), tAsA)
        copies = k.copy(tBgB(None, None, k_tile), tBsB)
        if awaited:
            k.complete(copies)
        k.gemm(tCsA, tCsB, tCrC)
        if again:
            k.sync()
    k.axpby(alpha, tCrC, beta, tCgC)

    def product(m, n):
        return dot(K, lambda i: (element("a", m, i), element("b", n, i)))

    k.result(
        "c", lambda m, n: applied("fma", scalar(alpha), product(m, n), applied("mul", scalar(beta), element("c", m, n)))
    )
    return k.kernel()


SGEMM = sgemm()
sgemm_is_right = claims_of(SGEMM)

copies_that_nobody_awaits = HappensBefore(sgemm(awaited=False), expect="refuted")
tile_filled_while_others_read = HappensBefore(sgemm(again=False), expect="refuted")

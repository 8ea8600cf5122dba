"""Whole kernels proved for all sizes: a persistent ring copy and a transpose through swizzled tiles, both by TMA.

The claims of a kernel are read from its operations. The driver accepts its tensor maps, and no copy faults or leaves
its slot. Each element of the output is stored once. Each barrier awaits the bytes that arrive, and no slot of the
ring is overwritten before it was read. Reads come after the writes that they depend on. At the end three mistakes
that tests rarely find: a slot released before the store has read it, a barrier that awaits 16 bytes less than arrive,
and a tile that threads write and the copy engine reads without a fence in between.
"""

from dataclasses import replace

from checkers import HappensBefore, RingProtocol, TransactionBytes, claims_of
from symlayout import dims
from symlayout.kernels import tma_copy, tma_transpose
from symlayout.ops import ExpectTx, Fence, WaitGroup

M, N = dims("M N")

COPY = tma_copy(M, N, dtype="f32", tile=(16, 64), slots=4, blocks=132).assuming(N.multiple_of(4))
TRANSPOSE = tma_transpose(M, N, dtype="bf16", tile=(64, 64), stages=2, blocks=132).assuming(
    M.multiple_of(8), N.multiple_of(8)
)

copy_is_right = claims_of(COPY)
transpose_is_right = claims_of(TRANSPOSE)

EARLY = COPY.edited(lambda op: () if isinstance(op, WaitGroup) and op.read else (op,))
given_back_too_early = RingProtocol(EARLY, expect="refuted")

SHORT = COPY.edited(lambda op: (replace(op, bytes=op.bytes - 16),) if isinstance(op, ExpectTx) else (op,))
sixteen_bytes_short = TransactionBytes(SHORT, "full", expect="refuted")

UNFENCED = TRANSPOSE.edited(lambda op: () if isinstance(op, Fence) else (op,))
written_without_a_fence = HappensBefore(UNFENCED, expect="refuted")

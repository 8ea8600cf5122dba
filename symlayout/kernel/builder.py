"""Functions that read like a kernel, and build it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ..algorithms.results import Issued
from ..algorithms.tma_copies import KernelTma
from ..atoms.cache import CachePolicy
from ..errors import LayoutError
from ..expr import Fact, Symbol, dim, index, integer
from ..ops import (
    Arrive,
    Barrier,
    BarrierArrive,
    ClusterArrive,
    ClusterBarrier,
    ClusterWait,
    Commit,
    Copy,
    CpAsyncArrive,
    Elect,
    ExpectTx,
    Fence,
    Fill,
    For,
    If,
    Init,
    Inval,
    Let,
    LoadIndex,
    Map,
    Matrix,
    Mma,
    Op,
    Operand,
    Param,
    PeerCopy,
    Prefetch,
    PrefetchL2,
    Reduce,
    Ref,
    Role,
    Shuffle,
    Slot,
    Wait,
    WaitGroup,
    WarpBarrier,
)
from ..tensor import Tensor
from .declarations import (
    AXES,
    BLOCKS,
    THREAD,
    KernelMap,
    KernelTensor,
    Mbarriers,
    Parameter,
    RingUse,
)
from .declaring import Declarations
from .integer_widths import widened
from .prologue import with_prologue
from .specification import Result
from .value import Kernel


class Builder(Declarations):
    """Builds a kernel in the order in which it is read.

    >>> from symlayout import bf16, dim
    >>> N = dim("N", multiple_of=1024)
    >>> k = Builder("double", N, grid=(N // 1024,), threads=128)
    >>> x = k.global_tensor("x", bf16, Layout(N))
    >>> r = k.registers("r", bf16, 8)
    >>> k.copy("ld.global.16", x(1024 * k.block[0] + 8 * k.thread), r())
    >>> k.map("add", (r(), r()), r(), 8)
    >>> k.copy("st.global.16", r(), x(1024 * k.block[0] + 8 * k.thread))
    >>> print(k.kernel())
    kernel double(N(multiple_of=1024))
      grid (N//1024,), 128 threads
      global x: bf16 N:1
      register r: bf16 8:1
      ld.global.16 x[1024*block_x + 8*thread] -> r
      add r, r -> r x8
      st.global.16 r -> x[1024*block_x + 8*thread]
    """

    def __init__(
        self,
        name: str,
        *dims: Symbol,
        grid: tuple[Any, ...],
        threads: int,
        cluster: tuple[int, ...] = (1,),
        index_bits: int | None = None,
        converged_warps: bool = False,
        ctas_per_sm: int | None = None,
    ) -> None:
        if threads % 32 or not 32 <= threads <= 1024:
            raise LayoutError(f"expected 32 to 1024 threads in whole warps, got {threads}")
        if not 1 <= len(grid) <= len(AXES):
            raise LayoutError(f"expected a grid of 1 to {len(AXES)} axes, got {len(grid)}")
        self.name, self.dims, self.threads, self.cluster = name, dims, threads, cluster
        self.index_bits, self.converged_warps, self.ctas_per_sm = index_bits, converged_warps, ctas_per_sm
        self.grid = tuple(map(integer, grid))
        self.block = tuple(map(index, BLOCKS, self.grid))
        self.thread = index(THREAD, threads)
        self.tensors: list[KernelTensor] = []
        self.maps: list[KernelMap] = []
        self.barriers: list[Mbarriers] = []
        self.rings: list[RingUse] = []
        self.results: list[Result] = []
        self.parameters: list[Parameter] = []
        self._shared = 0
        self._warps = 0
        self._role = ""
        self._names: set[str] = set()  # of values
        self._loops: set[str] = set()  # of their indices, which may be the same in several loops
        self._open: list[list[Op]] = [[]]
        self.elected = False  # whether one thread of a warp, or of the role, does what is added now

    # -- operations ---------------------------------------------------------------------------------

    def add(self, op: Op) -> None:
        """Append any operation."""
        self._open[-1].append(op)

    def copy(
        self,
        atom: Any,
        src: Any,
        dst: Any = None,
        barrier: Slot | None = None,
        multicast: Any = None,
        nbytes: Any = None,
        cache: str | CachePolicy = "",
        when: Any = (),
        tma: KernelTma | None = None,
    ) -> Issued | None:
        """A copy by an instruction; *cache* says how it uses the caches, such as ``"L2::evict_first"``.

        Of tensors it is CuTe's: ``copy(src, dst)`` and ``copy(atom, src, dst)``, with an atom, a tiled copy or one by
        TMA, and ``when=Inside(coords, shape)`` as its predicate (``kernel.tensor_calls``). It returns what has to be
        awaited. With *tma*, that copy is chosen where it does what is asked.
        """
        if isinstance(src, Tensor):
            return self.copy_tensors(atom, src, dst, when, barrier, multicast, tma)
        mask, size = (None if x is None else integer(x) for x in (multicast, nbytes))
        policy = CachePolicy.of(cache) if cache else None
        self.add(Copy(atom, src, dst, barrier, mask, size, policy, facts_of(() if when is None else when)))
        return None

    def peer_copy(self, atom: str, src: Ref, dst: Ref, peer: Any, barrier: Slot | None = None) -> None:
        """Each thread loads from, or stores to, the shared memory of a CTA of the cluster: see ``ops.PeerCopy``."""
        self.add(PeerCopy(atom, src, dst, integer(peer), barrier))

    def mma(self, atom: str, a: Ref | Matrix, b: Ref | Matrix, acc: Ref, zero: Any = 0) -> None:
        self.add(Mma(atom, a, b, acc, integer(zero)))

    def map(self, function: str, srcs: tuple[Ref | Param, ...], dst: Ref, count: int = 1) -> None:
        self.add(Map(function, srcs, dst, count))

    def shuffle(self, mode: str, src: Ref, dst: Ref, lane: Any, count: int = 1) -> None:
        self.add(Shuffle(mode, src, dst, integer(lane), count))

    def reduce(self, function: str, src: Ref, dst: Ref, count: int = 1, lanes: int = 1) -> None:
        self.add(Reduce(function, src, dst, count, lanes))

    def fill(self, dst: Any, value: float = 0, count: int = 1) -> None:
        """The same number in some registers of each thread, or in each element of a tensor (``algorithms``)."""
        if isinstance(dst, Tensor):
            self.fill_tensor(dst, value)
        else:
            self.add(Fill(dst, value, count))

    def let(self, name: str, value: Any) -> Symbol:
        """A name for an expression in the rest of the body at hand."""
        self._expect_new(name)
        self._names.add(name)
        symbol = dim(name, at_least=None, at_most=None)
        self.add(Let(symbol, integer(value)))
        return symbol

    def load_index(self, name: str, src: Ref, within: tuple[Any, Any]) -> Symbol:
        """An integer read from global memory, for the rest of the body; low <= it < high of *within* is its contract.

        What is proved holds for every value that keeps the contract; a run reads the value and checks it.
        """
        self._expect_new(name)
        self._names.add(name)
        symbol = dim(name, at_least=within[0], below=within[1])
        self.add(LoadIndex(symbol, src))
        return symbol

    def prefetch(self, *maps: str) -> None:
        """A hint that copies through tensor maps of these names will come."""
        for name in maps:
            self.add(Prefetch(name))

    def prefetch_l2(self, src: Operand, nbytes: Any = None, cache: str | CachePolicy = "") -> None:
        """A hint that a box, *nbytes* from a place on, or the place of each thread will be read: ``PrefetchL2``."""
        size, policy = None if nbytes is None else integer(nbytes), CachePolicy.of(cache) if cache else None
        self.add(PrefetchL2(src, size, policy))

    def init(self, *arrays: Callable[..., Slot]) -> None:
        """Initialise arrays of mbarriers here, by the one thread that is here, instead of at the start."""
        for array in arrays:
            self.add(Init(array().barrier))

    def inval(self, *arrays: Callable[..., Slot]) -> None:
        """Invalidate arrays of mbarriers, by the one thread that is here."""
        for array in arrays:
            self.add(Inval(array().barrier))

    def arrive(
        self, barrier: Slot, peer: Any = None, scope: str = "cta", count: int = 1, complete: bool = True
    ) -> None:
        self.add(Arrive(barrier, None if peer is None else integer(peer), scope, count, complete))

    def cp_async_arrive(self, barrier: Slot, noinc: bool = True) -> None:
        """Arrive once what each thread has copied by cp.async so far has landed, see ``ops.CpAsyncArrive``."""
        self.add(CpAsyncArrive(barrier, noinc))

    def expect_tx(self, barrier: Slot, nbytes: Any) -> None:
        self.add(ExpectTx(barrier, integer(nbytes)))

    def wait(self, barrier: Slot, parity: Any, scope: str = "cta", suspend_ns: int | None = None) -> None:
        self.add(Wait(barrier, integer(parity), scope, suspend_ns))

    def sync(self, number: int = 0, threads: int = 0) -> None:
        self.add(Barrier(number, threads))

    def sync_arrive(self, number: int, threads: int) -> None:
        """Arrive at a barrier of the CTA and go on, see ``ops.BarrierArrive``."""
        self.add(BarrierArrive(number, threads))

    def warp_sync(self) -> None:
        self.add(WarpBarrier())

    def cluster_sync(self) -> None:
        self.add(ClusterBarrier())

    def cluster_arrive(self, relaxed: bool = False) -> None:
        """Arrive at the barrier of the cluster and go on, see ``ops.ClusterArrive``."""
        self.add(ClusterArrive(relaxed))

    def cluster_wait(self) -> None:
        """Wait until all threads of the cluster have arrived at its barrier."""
        self.add(ClusterWait())

    def fence(self, about: str) -> None:
        self.add(Fence(about))

    def commit(self, group: str) -> None:
        self.add(Commit(group))

    def wait_group(self, group: str, pending: int = 0, read: bool = False) -> None:
        self.add(WaitGroup(group, pending, read))

    # -- structure ----------------------------------------------------------------------------------

    @contextmanager
    def _inside(self, close: Callable[[tuple[Op, ...]], Op]) -> Iterator[None]:
        self._open.append([])
        yield
        body = tuple(self._open.pop())
        self.add(close(body))

    @contextmanager
    def loop(self, name: str, extent: Any, unroll: int | str | None = None) -> Iterator[Symbol]:
        """``with k.loop("i", n) as i``: the operations inside for 0 <= i < n; *unroll* as ``ops.For`` says."""
        if name not in self._loops:
            self._expect_new(name)
            self._loops.add(name)
        i = index(name, extent)
        with self._inside(lambda body: For(i, body, unroll)):
            yield i

    @contextmanager
    def where(self, *facts: Fact | bool) -> Iterator[None]:
        """The operations inside where the facts hold; a comparison of numbers, so True or False, is a fact too."""
        told = facts_of(facts) or (Fact(0, ">="),)
        with self._inside(lambda body: If(told, body)):
            yield

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        """The operations inside where the fact of the condition just before does not hold.

        It is a condition of its own: an ``If`` has one branch. Raises LayoutError unless the condition before is one
        inequality, since the opposite of others is not a conjunction of facts.
        """
        last = self._open[-1][-1] if self._open[-1] else None
        if not isinstance(last, If) or len(last.condition) != 1 or last.condition[0].relation != ">=":
            raise LayoutError(f"expected a condition of one inequality just before, got {last or 'nothing'}")
        with self.where(*last.condition[0].negated()):
            yield

    @contextmanager
    def elect(self, each_warp: bool = False, by: str = "elect.sync") -> Iterator[None]:
        """The operations inside by one thread of the role, or by one of each of its warps: see ``ops.Elect``."""
        before, self.elected = self.elected, True
        with self._inside(lambda body: Elect(body, each_warp, by)):
            yield
        self.elected = before

    @contextmanager
    def role(self, name: str, warps: int, registers: int = 0) -> Iterator[None]:
        """The program of the next *warps* warps; ``thread`` counts within the role."""
        first, before = self._warps, self.thread
        self._warps += warps
        if 32 * self._warps > self.threads:
            raise LayoutError(f"expected roles of at most {self.threads // 32} warps, got {self._warps} at {name}")
        self.thread, self._role = index(THREAD, 32 * warps), name
        with self._inside(lambda body: Role(name, first, warps, body, registers)):
            yield
        self.thread, self._role = before, ""

    def kernel(self, *given: Fact, reference: Callable[..., Any] | None = None) -> Kernel:
        """The kernel that was built.

        Its mbarriers are initialised at the start (``kernel.prologue``), unless operations of its own do so.

        Without ``index_bits`` partial results have 32 bits where the ranges of sizes and indices show that these are
        enough, and 64 elsewhere; with them, all have so many.
        """
        [body] = self._open
        made = Kernel(
            self.name,
            self.dims,
            self.grid,
            self.threads,
            tuple(self.tensors),
            tuple(self.maps),
            tuple(self.barriers),
            with_prologue(tuple(body), self.barriers, self.maps, self.threads),
            given,
            self.cluster,
            tuple(self.rings),
            reference=reference,
            results=tuple(self.results),
            parameters=tuple(self.parameters),
            index_bits=32 if self.index_bits is None else self.index_bits,
            converged_warps=self.converged_warps,
            ctas_per_sm=self.ctas_per_sm,
        )
        return widened(made) if self.index_bits is None else made


def facts_of(conditions: Iterable[Fact | bool]) -> tuple[Fact, ...]:
    """Conditions as facts, without those that always hold. Raises LayoutError for what is no fact."""
    if isinstance(conditions, Fact | bool):
        conditions = (conditions,)
    if not isinstance(conditions, Iterable):
        raise LayoutError(f"expected facts such as i < N as conditions, got {conditions!r}")
    told = tuple(Fact(-1, ">=") if f is False else f for f in conditions if f is not True)
    wrong = [f for f in told if not isinstance(f, Fact)]
    if wrong:
        raise LayoutError(f"expected facts such as i < N as a condition, got {wrong[0]!r}; eq(a, b) is one, a == b not")
    return told

"""A kernel as CUDA C++: its declarations, then its operations one by one, in the order of the value.

>>> from symlayout import dim
>>> from symlayout.kernels import vector_copy
>>> source = emit(vector_copy(dim("N")))
>>> print(*source.arguments, sep="; ")
const float* __restrict__ src; float* __restrict__ dst; int32_t N
>>> print(source.text.splitlines()[-12].strip())
vector<16>(x) = vector<16>(src + 512 * block_x + 4 * thread);
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import Any, ClassVar

from symlayout.atoms.cache import IN_L2
from symlayout.errors import LayoutError
from symlayout.facts import symbols_in
from symlayout.kernel import Kernel
from symlayout.kernel.declarations import THREAD
from symlayout.kernel.integer_widths import integers_of
from symlayout.kernel.sites import Site
from symlayout.ops import (
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
    Mma,
    Op,
    PeerCopy,
    Prefetch,
    PrefetchL2,
    Reduce,
    Ref,
    Role,
    Shuffle,
    Wait,
    WaitGroup,
    WarpBarrier,
)
from symlayout.ops.op import WARP

from .. import ptx
from . import data, order, structure
from .delays import DELAYED, Delays
from .lines import broken
from .numbers import HEADERS, ctype
from .page import SHARED, WIDTH, Page
from .source import Argument, Source
from .stamps import HEADER_WORDS, Place, Stamping

SHARED_ALIGN_BYTES = 1024  # the repeat of the 128-byte swizzle, which works on addresses
MBARRIER_BYTES = 8
WORDS_PER_CTA = "WORDS_PER_CTA"  # of stamps, until all places are known


def emit(kernel: Kernel, delays: int | None = None, stamps: int | None = None) -> Source:
    """The kernel as CUDA C++, for all its sizes; with *delays*, a seed, with random waits that make races show.

    With *stamps* it takes times of itself, of so many iterations of each operation that waits, issues or releases, into
    a buffer that is its last argument (``gpu.stamped``). Without these two the text is the same, byte by byte.
    Raises LayoutError, which names it, for an operation, a function or an element type that has no code.
    """
    return Printer(kernel, None if delays is None else Delays(delays), stamps).source()


class Printer(Page):
    """Prints one kernel: a handler for each operation."""

    handlers: ClassVar[Mapping[type[Op], Callable[[Any, Site], None]]] = {
        Copy: data.copy,
        Mma: data.mma,
        Map: data.compute,
        Fill: data.fill,
        Shuffle: data.shuffle,
        Reduce: data.reduce,
        Prefetch: order.prefetch,
        PrefetchL2: data.prefetch_l2,
        PeerCopy: data.peer_copy,
        Init: order.init,
        Inval: order.inval,
        Arrive: order.arrive,
        CpAsyncArrive: order.cp_async_arrive,
        ExpectTx: order.expect_tx,
        Wait: order.wait,
        Barrier: order.barrier,
        BarrierArrive: order.barrier_arrive,
        WarpBarrier: order.warp_barrier,
        ClusterBarrier: order.cluster_barrier,
        ClusterArrive: order.cluster_arrive,
        ClusterWait: order.cluster_wait,
        Fence: order.fence,
        Commit: order.commit,
        WaitGroup: order.wait_group,
        For: structure.loop,
        If: structure.condition,
        Elect: structure.elect,
        Role: structure.role,
        Let: structure.let,
        LoadIndex: structure.load_index,
    }

    def __init__(self, kernel: Kernel, delays: Delays | None = None, stamps: int | None = None) -> None:
        super().__init__(kernel)
        self.delays, self.stamping = delays, None
        if stamps is not None:
            credited = frozenset(op.credits.barrier for op in kernel.walk() if op.credits is not None)
            self.stamping = Stamping(stamps, kernel.threads, credited)
            self.log, self.buffer, self.begin = map(self.free, ("log", "stamps", "begin"))

    def visit(self, site: Site) -> None:
        """Print an operation, behind a random wait and between stamps where the text is to have some."""
        if self.delays is not None and isinstance(site.op, DELAYED):
            waits = self.delays.before(type(site.op).__name__, (loop.index.name for loop in site.loops))
            if waits:
                self.line(waits)
        place = None if self.stamping is None else self.stamping.place(site)
        if place is None:
            super().visit(site)
        else:
            self._stamped(site, place)

    def _stamped(self, site: Site, place: Place) -> None:
        """An operation between two readings of the clock."""
        assert self.stamping is not None
        kept = self.stamping.iterations
        iteration = self.stamping.iteration(site, [self.c(loop.extent) for loop in site.loops])
        row = f"{self.log} + {place.words}"
        if place.warps > 1:
            row += f" + {kept} * ({THREAD} / {WARP})"
        with self.block("{"):
            self.line(f"const uint32_t {self.begin} = clock_now();")
            super().visit(site)
            self.line(f"stamp({row}, {iteration}, {kept}, {self.begin});")

    def unhandled(self, site: Site) -> Exception:
        return LayoutError(f"expected an operation that has code, got {type(site.op).__name__}: {site.op}")

    def source(self) -> Source:
        """The whole text, and what a launch needs to know."""
        k, arguments = self.kernel, self._arguments()
        self._shared_memory()
        self._indices()
        self._policies()
        self.registers("")
        self._log()
        for _ in self.run(k):
            pass
        if self.stamping is not None:
            self.line(f"stamp_warp({self.log} + {HEADER_WORDS} * (threadIdx.x / {WARP}) + {HEADER_WORDS // 2});")
        text = "\n".join([*self._head(), *self._includes(), *self._functions(), *self._signature(arguments), *self.out])
        plan = None if self.stamping is None else self.stamping.plan
        text = text.replace(WORDS_PER_CTA, str(plan.words_per_cta)) if plan else text
        return Source(text + "\n}\n", k.name, k.digest, arguments, k.threads, k.cluster, int(k.shared_bytes), plan)

    # -- before the function ----------------------------------------------------------------------------------

    def _head(self) -> Iterator[str]:
        """The kernel's name and digest, and the assumptions of proofs about it."""
        k = self.kernel
        said = [line for line in k.text().splitlines() if line.startswith(("kernel ", "  grid", "  given", "  result"))]
        yield from (f"// {line}" for line in said)
        yield f"// digest {k.digest}"
        yield from [f"// {self.delays}"] if self.delays else []
        yield from ["// takes times of itself: for measurements, not for use"] if self.stamping else []
        yield from (f"// assumed: {sentence}" for sentence in k.assumed)

    def _includes(self) -> Iterator[str]:
        k = self.kernel
        kinds = sorted({t.dtype.name for t in k.tensors} | {p.dtype.name for p in k.parameters})
        yield from ["#include <cuda.h>"] if k.maps else []
        yield "#include <cstdint>"
        yield from (f"#include <{header}>" for header in dict.fromkeys(HEADERS[n] for n in kinds if n in HEADERS))
        yield ""

    def _functions(self) -> Iterator[str]:
        """The device functions that are called, those that they call before them."""
        for f in ptx.called_in("\n".join(self.out)):
            yield from f.text.splitlines()
            yield ""

    def _signature(self, arguments: tuple[Argument, ...]) -> Iterator[str]:
        k = self.kernel
        shape = ", ".join(map(str, (*k.cluster, 1, 1)[:3]))
        cluster = f" __cluster_dims__({shape})" if prod(k.cluster) > 1 else ""
        at_once = "" if k.ctas_per_sm is None else f", {k.ctas_per_sm}"
        yield f'extern "C" __global__ void __launch_bounds__({k.threads}{at_once}){cluster}'
        yield from broken(f"{k.name}({', '.join(map(str, arguments))}) {{", WIDTH)

    def _arguments(self) -> tuple[Argument, ...]:
        """Tensor maps, pointers to the tensors that are accessed by address, scalars, sizes."""
        k = self.kernel
        touched = [t.operand for op in k.walk() for t in op.touches()]
        touched += [op.src for op in k.walk() if isinstance(op, PrefetchL2)]
        names = dict.fromkeys(r.tensor for r in touched if isinstance(r, Ref))
        rows = [Argument("map", m.name, "const __grid_constant__ CUtensorMap") for m in k.maps]
        for t in (self.tensors[name] for name in names if self.tensors[name].space == "global"):
            const = "" if t.name in k.written else "const "
            alone = "" if k.aliases(t.name) else " __restrict__"
            rows.append(Argument("tensor", t.name, f"{const}{ctype(t.dtype)}*{alone}"))
        rows += [Argument("scalar", p.name, ctype(p.dtype)) for p in k.parameters]
        used = {s for op in k.walk() for s in symbols_in(tuple(integers_of(op)))}
        rows += [Argument("size", s.name, f"int{64 if s in k.wide else 32}_t") for s in k.dims if s in used]
        return (*rows, *([Argument("stamps", self.buffer, "uint64_t*")] if self.stamping is not None else []))

    # -- at the beginning of the function ---------------------------------------------------------------------

    def _shared_memory(self) -> None:
        """One dynamic array; each tensor and each mbarrier array is a pointer into it."""
        k = self.kernel
        shared = [t for t in k.tensors if t.space == "shared"]
        if shared or k.barriers:
            self.line(f"extern __shared__ __align__({SHARED_ALIGN_BYTES}) uint8_t {SHARED}[];")
        at = int(k.shared_bytes) - MBARRIER_BYTES * sum(b.slots for b in k.barriers)
        rows = [(self.array(t.name), ctype(t.dtype), t.base) for t in shared]
        for b in k.barriers:
            rows.append((b.name, "uint64_t", at))
            at += MBARRIER_BYTES * b.slots
        for name, kind, base in rows:
            place = f"{SHARED} + {base}" if base else SHARED
            self.line(f"{kind}* const {name} = reinterpret_cast<{kind}*>({place});")

    def _indices(self) -> None:
        used = {s for op in self.kernel.walk() for s in symbols_in(tuple(integers_of(op)))}
        for s in self.kernel.block:
            if s in used:
                self.line(f"const int {s.name} = blockIdx.{s.name[-1]};")
        self.line(f"const int {THREAD} = threadIdx.x;")

    def _log(self) -> None:
        """The CTA's part of the stamps, and when each of its warps starts."""
        if self.stamping is not None:
            cta = "blockIdx.x + gridDim.x * (blockIdx.y + uint64_t(gridDim.y) * blockIdx.z)"
            self.line(f"uint64_t* const {self.log} = {self.buffer} + {WORDS_PER_CTA} * ({cta});")
            self.line(f"stamp_warp({self.log} + {HEADER_WORDS} * (threadIdx.x / {WARP}));")

    def _policies(self) -> None:
        """The priorities in L2 that operations give, in registers of all that copy by them."""
        copies = (op for op in self.kernel.walk() if isinstance(op, Copy | PrefetchL2) and op.cache is not None)
        hinted = (op.cache.l2 for op in copies if isinstance(op, Copy) or op.caching is IN_L2)  # type: ignore[union-attr]
        for word in dict.fromkeys(filter(None, hinted)):
            self.policies[word] = self.free(word)
            self.line(f"const uint64_t {self.policies[word]} = l2_{word}();")

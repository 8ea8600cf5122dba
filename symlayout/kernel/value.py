"""A kernel as a value: tensors, tensor maps, barriers, and a short program for each role of its warps.

From this one value the provers, the untimed run, the simulator and the code generator work. It is built by functions
that read like the kernel (``Builder``), printed for people by ``text``, and identified by its ``digest``: a hash of
every field, by which two kernels are equal or not.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from ..atoms.access import MemorySpace
from ..canonical import content, hashed
from ..dtype import DType
from ..errors import AssumptionError, LayoutError
from ..expr import Expr, Fact, Int, Symbol, dim, divides, index, integer
from ..facts import Facts
from ..int_tuple import leaves, product, text
from ..layout import Layout, is_layout
from ..ops import (
    Arrive,
    Barrier,
    Box,
    ClusterBarrier,
    Commit,
    Copy,
    Elect,
    ExpectTx,
    Fence,
    Fill,
    For,
    If,
    Let,
    LoadIndex,
    Map,
    Matrix,
    Mma,
    Op,
    Operand,
    Param,
    Reduce,
    Ref,
    Role,
    Shuffle,
    Slot,
    Touch,
    Wait,
    WaitGroup,
    WarpBarrier,
    edited,
    named,
    rewritten,
    substitution,
)
from ..tma import TensorMap
from .specification import Result, Value, elements, entries, result

SPACES = tuple(MemorySpace)
BASE_ALIGN_BYTES = 16  # of a global tensor: what the widest access and a tensor map ask (32 with interleave 32B)
AXES = "xyz"  # of a grid
CONVERGED = "converged_warps: the lanes of a warp proceed in lockstep, and what they access is in program order"


@dataclass(frozen=True)
class KernelTensor:
    """A tensor of a kernel. *layout* is in elements; shared tensors start at byte *base*, registers are per thread.

    Of a tensor in global memory three things are stated that proofs rest on and a launch checks: its base is a
    multiple of *align_bytes*, the kernel does not write it (*const*), and it shares no byte with another tensor that is
    written, those aside that *may_alias* it: they are at the same address, or apart from it.

    >>> from symlayout import bf16, dim
    >>> print(KernelTensor("x", "global", bf16, Layout(dim("N")), align_bytes=8, const=True))
    global x: bf16 N:1, aligned to 8 bytes, const

    Raises LayoutError for another space, for no layout, and for an alignment that is no power of two of whole elements.
    """

    name: str
    space: MemorySpace  # or its word
    dtype: DType
    layout: Any
    base: int = 0  # bytes into shared memory
    role: str = ""  # whose registers
    align_bytes: int = BASE_ALIGN_BYTES  # of the base pointer, in global memory
    const: bool = False  # the kernel writes no byte of it
    may_alias: tuple[str, ...] = ()  # tensors that may begin at the same byte; all others share no byte with it

    def __post_init__(self) -> None:
        if self.space not in SPACES:
            raise LayoutError(f"expected a memory space of {', '.join(SPACES)}, got {self.space!r}")
        object.__setattr__(self, "space", MemorySpace(self.space))
        if not is_layout(self.layout):
            raise LayoutError(f"expected a layout for tensor {self.name}, got {self.layout!r}")
        stated = (self.align_bytes, self.const, self.may_alias)
        if self.space is not MemorySpace.GLOBAL and stated != (BASE_ALIGN_BYTES, False, ()):
            raise LayoutError(
                f"expected align_bytes, const and may_alias of tensors in global memory only, got {self.name} in "
                f"{self.space} memory with {stated}"
            )
        n = self.align_bytes
        whole = self.dtype.bits // 8 if self.dtype.bits % 8 == 0 else 1
        if type(n) is not int or n < 1 or n & (n - 1) or n % whole:
            wanted = f"a power of two of at least {whole}, the bytes of an element,"
            raise LayoutError(f"expected {wanted} as align_bytes of {self.name}, got {n!r}")

    @property
    def bytes(self) -> Int:
        """Bytes of memory that the tensor spans, of registers for each thread."""
        return integer(self.layout.cosize() * self.dtype.bits // 8)

    def __str__(self) -> str:
        where = f" at {self.base}" if self.space is MemorySpace.SHARED else f" of {self.role}" if self.role else ""
        return f"{self.space} {self.name}{where}: {self.dtype} {self.layout}" + "".join(self._stated())

    def _stated(self) -> Iterator[str]:
        """What is stated of the base pointer, where it is not what is understood."""
        if self.align_bytes != BASE_ALIGN_BYTES:
            yield f", aligned to {self.align_bytes} bytes"
        if self.const:
            yield ", const"
        if self.may_alias:
            yield f", may alias {', '.join(self.may_alias)}"


@dataclass(frozen=True)
class Parameter:
    """A scalar parameter of a kernel, typed; it keeps *within*, both ends included, where there is one."""

    name: str
    dtype: DType
    within: tuple[float, float] | None = None

    def __str__(self) -> str:
        return f"scalar {self.name}: {self.dtype}" + (f" within {text(self.within)}" if self.within else "")


@dataclass(frozen=True)
class KernelMap:
    """A tensor map of a kernel: a launch parameter that describes a global tensor."""

    name: str
    tensor: str
    tensor_map: TensorMap

    def __str__(self) -> str:
        return f"map {self.name} of {self.tensor}: {self.tensor_map}"


@dataclass(frozen=True)
class Mbarriers:
    """An array of mbarriers; each phase awaits *arrivals* arrivals."""

    name: str
    slots: int
    arrivals: int

    def __str__(self) -> str:
        return f"mbarrier {self.name}[{self.slots}] of {self.arrivals} arrival{'s' if self.arrivals != 1 else ''}"


@dataclass(frozen=True)
class RingUse:
    """A hint for the prover: these barriers guard the slots of one ring."""

    name: str
    full: str
    empty: str
    slots: int
    bytes_per_slot: Int
    consumers: int


@dataclass(frozen=True, repr=False, eq=False)
class Kernel:
    """A kernel: see the module. Two kernels are equal where their digests are, which are of every field.

    ``given`` is among them: the same program under other assumptions is another kernel, since other things are proved
    of it. *reference* is not: it is a Python function that tests compare with, and no part of what the kernel does.
    """

    name: str
    dims: tuple[Symbol, ...]
    grid: tuple[Int, ...]
    threads: int
    tensors: tuple[KernelTensor, ...]
    maps: tuple[KernelMap, ...]
    barriers: tuple[Mbarriers, ...]
    body: tuple[Op, ...]
    given: tuple[Fact, ...] = ()
    cluster: tuple[int, ...] = (1,)
    rings: tuple[RingUse, ...] = ()
    sizes: tuple[tuple[str, int], ...] = ()  # of a bound kernel
    origin: Kernel | None = field(default=None, kw_only=True)  # what a bound kernel was bound from
    reference: Callable[..., Any] | None = field(default=None, compare=False)
    results: tuple[Result, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    index_bits: int = 32  # of partial results of integers, signed; see ``widths``
    converged_warps: bool = False  # assumed: see CONVERGED
    wide: tuple[Int, ...] = ()  # partial results, as written, of 64 bits
    unbound: tuple[Kernel, tuple[Op, ...]] | None = field(default=None, compare=False)  # with the body made from it

    def __post_init__(self) -> None:
        if self.index_bits not in (32, 64):
            raise LayoutError(f"expected indices of 32 or 64 bits, got {self.index_bits}")
        loose = [f for f in self.given if not isinstance(f, Fact)]
        if loose:
            raise LayoutError(f"expected facts such as N.multiple_of(8) as given, got {loose[0]!r} in {self.name}")
        known = {t.name for t in self.tensors if t.space is MemorySpace.GLOBAL}
        for t in self.tensors:
            wrong = [name for name in t.may_alias if name == t.name or name not in known]
            if wrong:
                others = ", ".join(sorted(known - {t.name})) or "there is none"
                raise LayoutError(
                    f"expected {t.name} to alias other tensors in global memory ({others}), got {wrong[0]!r}"
                )

    @property
    def block(self) -> tuple[Symbol, ...]:
        """The block indices, x first."""
        return tuple(index(f"block_{axis}", n) for axis, n in zip("xyz", self.grid, strict=False))

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        return self.dims

    def tensor(self, name: str) -> KernelTensor:
        """The tensor of a name. Raises LayoutError for a name that the kernel does not have."""
        return _named(self.tensors, name, "tensor")

    def map(self, name: str) -> KernelMap:
        """The tensor map of a name."""
        return _named(self.maps, name, "tensor map")

    def barrier(self, name: str) -> Mbarriers:
        """The mbarriers of a name."""
        return _named(self.barriers, name, "mbarrier")

    def touched(self, touch: Touch) -> str:
        """The tensor that an operation touches, by name, be it through a tensor map."""
        x = touch.operand
        return x.tensor if isinstance(x, Ref) else self.map(x.tensor_map).tensor

    def parameter(self, name: str) -> Parameter:
        """The scalar parameter of a name."""
        return _named(self.parameters, name, "scalar parameter")

    @property
    def opaque(self) -> tuple[Symbol, ...]:
        """The values that are read from memory: each may differ from CTA to CTA, thread to thread and turn to turn."""
        return tuple(dict.fromkeys(op.name for op in self.walk() if isinstance(op, LoadIndex)))

    @property
    def assumed(self) -> tuple[str, ...]:
        """What every proof about the kernel rests on beside ``given`` and the ranges of its sizes, a sentence each.

        No size can break these and no proof can show them: they are about what the launch hands over, and what the
        hardware does.
        """
        from .launch_checks import tensor_assumptions  # which is about kernels

        loads = dict.fromkeys(op for op in self.plain.walk() if isinstance(op, LoadIndex))
        return (
            *tensor_assumptions(self),
            *(f"{p.name} is within {text(p.within)}" for p in self.parameters if p.within),
            *(f"the data hold {str(op).removeprefix('let ')}" for op in loads),
            *((CONVERGED,) if self.converged_warps else ()),
        )

    @functools.cached_property
    def written(self) -> tuple[str, ...]:
        """The tensors in global memory that operations write or reduce into, in the order of their declaration."""
        found = {self.touched(t) for op in self.walk() for t in op.changes()}
        return tuple(t.name for t in self.tensors if t.space is MemorySpace.GLOBAL and t.name in found)

    def aliases(self, name: str) -> tuple[str, ...]:
        """The other tensors that may begin where a tensor in global memory does, whichever of the two says so."""
        own = self.tensor(name).may_alias
        return tuple(t.name for t in self.tensors if t.name in own or name in t.may_alias)

    @functools.cached_property
    def plain(self) -> Kernel:
        """The kernel with each ``Let`` replaced by what it stands for: what provers work on."""
        return replace(self, body=named(self.body)) if any(isinstance(op, Let) for op in self.walk()) else self

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory, mbarriers last."""
        data = max((t.base + int(t.bytes) for t in self.tensors if t.space is MemorySpace.SHARED), default=0)
        return -(-data // 8) * 8 + 8 * sum(b.slots for b in self.barriers)

    def walk(self) -> Iterator[Op]:
        """Every operation, in order."""
        for op in self.body:
            yield from op.walk()

    def edited(self, change: Callable[[Op], Iterable[Op]]) -> Kernel:
        """The kernel with each operation, from the inside out, replaced by those that *change* makes of it."""
        return replace(self, body=edited(self.body, change))

    def assuming(self, *facts: Fact, converged_warps: bool = False) -> Kernel:
        """The kernel under more facts about its sizes, and that the lanes of a warp proceed in lockstep if so stated.

        PTX does not promise the latter: it is an assumption, which every report prints (``docs/memory_model.md``).
        """
        given = (*self.given, *(f for f in facts if f not in self.given))
        return replace(self, given=given, converged_warps=self.converged_warps or converged_warps)

    def bind(self, **sizes: int) -> Kernel:
        """The kernel at these sizes. Raises AssumptionError where they do not meet its assumptions."""
        wanted = {s.name for s in self.dims}
        if set(sizes) != wanted:
            raise AssumptionError(f"expected sizes {', '.join(sorted(wanted))}, got {', '.join(sorted(sizes))}")
        env: dict[Any, int] = {s: sizes[s.name] for s in self.dims}
        facts = Facts.about(self.dims, given=self.given)
        if not facts.admits(env):
            broken = next((f for f in (*facts.ranges, *self.given) if not f.subs(env).value), "its assumptions")
            at = ", ".join(f"{k} = {v}" for k, v in sizes.items())
            raise AssumptionError(f"expected sizes that meet {broken}, got {at}")
        put = substitution(env)
        self._expect_elements(put, sizes)
        body = rewritten(self.body, put)
        return replace(
            self,
            dims=(),
            given=(),
            sizes=tuple(sorted(sizes.items())),
            origin=self,
            grid=tuple(put(n) for n in self.grid),
            tensors=tuple(replace(t, layout=t.layout.subs(env)) for t in self.tensors),
            maps=tuple(replace(m, tensor_map=m.tensor_map.subs(env)) for m in self.maps),
            body=body,
            results=tuple(r.rewritten(put) for r in self.results),
            unbound=(self, body),
            wide=tuple(dict.fromkeys(x for x in map(put, self.wide) if isinstance(x, Expr))),
        )

    def _expect_elements(self, put: Callable[[Any], Any], sizes: Mapping[str, int]) -> None:
        """Raise AssumptionError at sizes that leave a tensor without elements: there is no layout of them."""
        for t in self.tensors:
            empty = next((n for n in leaves(t.layout.shape) if type(v := put(n)) is int and v < 1), None)
            if empty is not None:
                at = ", ".join(f"{k} = {v}" for k, v in sizes.items())
                guard = f"launch {self.name} only where {Fact(empty - 1, '>=')}"
                raise AssumptionError(
                    f"expected {empty} >= 1, since {t.name} has no elements otherwise, got {at}; {guard}"
                )

    @functools.cached_property
    def digest(self) -> str:
        """The SHA-256 of every field in its canonical serialisation, in 64 hex digits.

        Raises SerialError where a field holds what is no frozen value of the language.
        """
        return hashed(content(self))

    def __serial__(self) -> str:
        return f"Kernel#{self.digest}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Kernel):
            return NotImplemented
        return self is other or self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def text(self) -> str:
        """The kernel as text: one line for each declaration and operation."""
        cluster = "" if product(self.cluster) == 1 else f" in clusters of {text(self.cluster)}"
        sizes = ", ".join(map(declared, self.dims)) or ", ".join(f"{k} = {v}" for k, v in self.sizes)
        wide = "" if self.index_bits == 32 else f", indices of {self.index_bits} bits"
        lines = [f"kernel {self.name}({sizes})", f"  grid {text(self.grid)}{cluster}, {self.threads} threads{wide}"]
        lines += [f"  64 bits: {x}" for x in self.wide]
        lines += [f"  given {f}" for f in self.given]
        lines += ["  given converged_warps"] if self.converged_warps else []
        lines += [f"  {x}" for x in (*self.parameters, *self.tensors, *self.maps, *self.barriers)]
        for op in self.body:
            lines += op.lines(1)
        lines += [f"  result {r}" for r in self.results]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<{self.text().partition(chr(10))[0]}, {self.digest[:16]}>"


def declared(x: Symbol) -> str:
    """A size with what it is known to keep, as claims declare it; the usual range 1 .. 2^31 - 1 is left out.

    >>> print(declared(dim("N", multiple_of=8)), declared(dim("ld", at_least=dim("N"), at_most=4096)))
    N(multiple_of=8) ld(at_least=N, at_most=4096)
    """
    usual = dim(x.name)
    limits = (("at_least", x.lower, usual.lower), ("at_most", x.upper, usual.upper), ("multiple_of", x.multiple, 1))
    told = ", ".join(f"{word}={value}" for word, value, default in limits if value != default)
    return f"{x.name}({told})" if told else x.name


def _named(rows: tuple[Any, ...], name: str, what: str) -> Any:
    for row in rows:
        if row.name == name:
            return row
    raise LayoutError(f"expected a {what} ({', '.join(r.name for r in rows) or 'there is none'}), got {name!r}")


class Builder:
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
    ) -> None:
        if threads % 32 or not 32 <= threads <= 1024:
            raise LayoutError(f"expected 32 to 1024 threads in whole warps, got {threads}")
        if not 1 <= len(grid) <= len(AXES):
            raise LayoutError(f"expected a grid of 1 to {len(AXES)} axes, got {len(grid)}")
        self.name, self.dims, self.threads, self.cluster = name, dims, threads, cluster
        self.index_bits, self.converged_warps = index_bits, converged_warps
        self.grid = tuple(map(integer, grid))
        self.block = tuple(index(f"block_{axis}", n) for axis, n in zip("xyz", self.grid, strict=False))
        self.thread = index("thread", threads)
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

    # -- declarations -------------------------------------------------------------------------------

    def global_tensor(
        self,
        name: str,
        dtype: Any,
        layout: Layout,
        *,
        align_bytes: int = BASE_ALIGN_BYTES,
        const: bool = False,
        may_alias: str | Iterable[str] = (),
    ) -> Callable[..., Ref]:
        """A tensor in global memory; call it for a place in it. What is stated of its base: see ``KernelTensor``."""
        others = (may_alias,) if isinstance(may_alias, str) else tuple(may_alias)
        kind = DType.of(dtype)
        return self._declare(
            KernelTensor(name, MemorySpace.GLOBAL, kind, layout, align_bytes=align_bytes, const=const, may_alias=others)
        )

    def shared_tensor(
        self, name: str, dtype: Any, layout: Any, align: int = 1024, over: Ref | None = None
    ) -> Callable[..., Ref]:
        """A tensor in shared memory at the next multiple of *align* bytes, or *over* a place in another tensor.

        Tensors that share bytes must not be in use at once, which is proved. Raises LayoutError for a place that is not
        in shared memory, and for one that has no byte as a number.
        """
        base = -(-self._shared // align) * align if over is None else self._byte_at(over)
        made = KernelTensor(name, MemorySpace.SHARED, DType.of(dtype), layout, base)
        self._shared = max(self._shared, base + int(made.bytes))
        return self._declare(made)

    def _byte_at(self, place: Ref) -> int:
        """The byte of shared memory at a place in a tensor."""
        tensor: KernelTensor = _named(tuple(self.tensors), place.tensor, "tensor")
        at = divides(8, place.offset * tensor.dtype.bits)
        if tensor.space is not MemorySpace.SHARED or type(at) is not int:
            raise LayoutError(f"expected a place in shared memory at a whole byte, got {place} in {tensor.space}")
        return tensor.base + at

    def registers(self, name: str, dtype: Any, count: int) -> Callable[..., Ref]:
        """*count* elements in the registers of each thread of the role at hand."""
        return self._declare(KernelTensor(name, MemorySpace.REGISTER, DType.of(dtype), Layout(count), role=self._role))

    def _declare(self, tensor: KernelTensor) -> Callable[..., Ref]:
        self.tensors.append(tensor)
        return lambda offset=0: Ref(tensor.name, integer(offset))

    def tensor_map(self, name: str, tensor: Ref, tensor_map: TensorMap) -> Callable[..., Box]:
        """A tensor map of a global tensor; call it with a coordinate, innermost first, for a box.

        Raises LayoutError for a place inside the tensor: where a map begins is its ``global_address``.
        """
        if tensor.offset != 0:
            raise LayoutError(
                f"expected a tensor map over {tensor.tensor} from its first element on, got {tensor}; "
                f"state where it begins as the map's global_address, in bytes"
            )
        self.maps.append(KernelMap(name, tensor.tensor, tensor_map))
        return lambda *coordinate: Box(name, tuple(map(integer, coordinate)))

    def mbarriers(self, name: str, slots: int, arrivals: int) -> Callable[..., Slot]:
        """An array of mbarriers; call it with a slot."""
        self.barriers.append(Mbarriers(name, slots, arrivals))
        return lambda slot=0: Slot(name, integer(slot))

    def parameter(self, name: str, dtype: Any, within: tuple[float, float] | None = None) -> Param:
        """A scalar that is given at each launch, an operand of ``map``; *within* is what it has to keep."""
        self._expect_new(name)
        self.parameters.append(Parameter(name, DType.of(dtype), within))
        return Param(name)

    def _expect_new(self, name: str) -> None:
        """Raise LayoutError for a name that something else has."""
        used = [*self.dims, *self.block, self.thread, *self._names, *self._loops, *self.parameters]
        if name in {getattr(x, "name", x) for x in used}:
            raise LayoutError(f"expected a name that nothing else has in {self.name}, got {name!r}")

    def result(self, name: str, value: Callable[..., Value]) -> None:
        """What the elements of an output hold when the kernel is over: *value* of their coordinates, see ``results``.

        Raises LayoutError for tensors that are not in global memory and coordinates of another rank.
        """
        shapes = {t.name: t.layout.shape for t in self.tensors if t.space is MemorySpace.GLOBAL}

        def modes(x: str) -> int:
            if x not in shapes:
                raise LayoutError(f"expected a tensor in global memory ({', '.join(shapes)}), got {x!r}")
            return len(shapes[x]) if isinstance(shapes[x], tuple) else 1

        modes(name)
        made = result(name, shapes[name], value)
        named: list[Any] = [*elements(made.value), *entries(made.value)]
        for x in named:
            if len(x.at) != modes(x.tensor):
                raise LayoutError(f"expected {modes(x.tensor)} coordinates of {x.tensor}, got {x}")
        self.results.append(made)

    # -- operations ---------------------------------------------------------------------------------

    def add(self, op: Op) -> None:
        """Append any operation."""
        self._open[-1].append(op)

    def copy(
        self,
        atom: str,
        src: Operand,
        dst: Operand,
        barrier: Slot | None = None,
        multicast: Any = None,
        nbytes: Any = None,
    ) -> None:
        mask, size = (None if x is None else integer(x) for x in (multicast, nbytes))
        self.add(Copy(atom, src, dst, barrier, mask, size))

    def mma(self, atom: str, a: Ref | Matrix, b: Ref | Matrix, acc: Ref, zero: Any = 0) -> None:
        self.add(Mma(atom, a, b, acc, integer(zero)))

    def map(self, function: str, srcs: tuple[Ref | Param, ...], dst: Ref, count: int = 1) -> None:
        self.add(Map(function, srcs, dst, count))

    def shuffle(self, mode: str, src: Ref, dst: Ref, lane: Any, count: int = 1) -> None:
        self.add(Shuffle(mode, src, dst, integer(lane), count))

    def reduce(self, function: str, src: Ref, dst: Ref, count: int = 1, lanes: int = 1) -> None:
        self.add(Reduce(function, src, dst, count, lanes))

    def fill(self, dst: Ref, value: float = 0, count: int = 1) -> None:
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

    def arrive(self, barrier: Slot, peer: Any = None) -> None:
        self.add(Arrive(barrier, None if peer is None else integer(peer)))

    def expect_tx(self, barrier: Slot, nbytes: Any) -> None:
        self.add(ExpectTx(barrier, integer(nbytes)))

    def wait(self, barrier: Slot, parity: Any) -> None:
        self.add(Wait(barrier, integer(parity)))

    def sync(self, number: int = 0, threads: int = 0) -> None:
        self.add(Barrier(number, threads))

    def warp_sync(self) -> None:
        self.add(WarpBarrier())

    def cluster_sync(self) -> None:
        self.add(ClusterBarrier())

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
    def loop(self, name: str, extent: Any) -> Iterator[Symbol]:
        """``with k.loop("i", n) as i``: the operations inside for 0 <= i < n."""
        if name not in self._loops:
            self._expect_new(name)
            self._loops.add(name)
        i = index(name, extent)
        with self._inside(lambda body: For(i, body)):
            yield i

    @contextmanager
    def where(self, *facts: Fact | bool) -> Iterator[None]:
        """The operations inside where the facts hold; a comparison of numbers, so True or False, is a fact too."""
        told = tuple(Fact(-1, ">=") if f is False else f for f in facts if f is not True) or (Fact(0, ">="),)
        wrong = [f for f in told if not isinstance(f, Fact)]
        if wrong:
            raise LayoutError(
                f"expected facts such as i < N as a condition, got {wrong[0]!r}; eq(a, b) is one, a == b not"
            )
        with self._inside(lambda body: If(told, body)):
            yield

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        """The operations inside where the fact of the condition just before does not hold.

        It is a condition of its own: an ``If`` has one branch. Raises LayoutError after anything but a condition of
        one inequality, since the contrary of others is no conjunction of facts.
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
        """What the next *warps* warps do; ``thread`` counts within the role."""
        first, before = self._warps, self.thread
        self._warps += warps
        if 32 * self._warps > self.threads:
            raise LayoutError(f"expected roles of at most {self.threads // 32} warps, got {self._warps} at {name}")
        self.thread, self._role = index("thread", 32 * warps), name
        with self._inside(lambda body: Role(name, first, warps, body, registers)):
            yield
        self.thread, self._role = before, ""

    def kernel(self, *given: Fact, reference: Callable[..., Any] | None = None) -> Kernel:
        """The kernel that was built.

        Without ``index_bits`` partial results have 32 bits where the ranges of sizes and indices show that these are
        enough, and 64 elsewhere; with them, all have so many.
        """
        from .integer_widths import widened  # which knows kernels

        [body] = self._open
        made = Kernel(
            self.name,
            self.dims,
            self.grid,
            self.threads,
            tuple(self.tensors),
            tuple(self.maps),
            tuple(self.barriers),
            tuple(body),
            given,
            self.cluster,
            tuple(self.rings),
            reference=reference,
            results=tuple(self.results),
            parameters=tuple(self.parameters),
            index_bits=32 if self.index_bits is None else self.index_bits,
            converged_warps=self.converged_warps,
        )
        return widened(made) if self.index_bits is None else made

"""A kernel as a value: tensors, tensor maps, barriers, and a short program for each role of its warps.

From this one value the provers, the untimed run, the simulator and the code generator work. It is built by functions
that read like the kernel (``Builder``), printed for people by ``text``, and identified by its ``digest``: a hash of
every field, by which two kernels are equal or not.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..atoms.access import MemorySpace
from ..atoms.functions import FUNCTIONS
from ..canonical import content, hashed
from ..errors import AssumptionError, LayoutError
from ..expr import Expr, Fact, Int, Symbol, index
from ..facts import Facts
from ..int_tuple import leaves, product, text
from ..ops import (
    Let,
    LoadIndex,
    Map,
    Op,
    Ref,
    Touch,
    edited,
    named,
    rewritten,
    substitution,
)
from .declarations import BLOCKS, THREAD, KernelMap, KernelTensor, Mbarriers, Parameter, RingUse, declared, lookup
from .specification import Result

CONVERGED_WARPS = "converged_warps"  # the field, as orderings and assumptions name it
CONVERGED = f"{CONVERGED_WARPS}: the lanes of a warp proceed in lockstep, and what they access is in program order"


@dataclass(frozen=True, repr=False, eq=False)
class Kernel:
    """A kernel: see the module. Two kernels are equal where their digests are, which are of every field.

    ``given`` is among them: the same program under other assumptions is another kernel, since it is proved
    separately. *reference* is not: it is a Python function that tests compare with, and not part of the program.
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
    ctas_per_sm: int | None = None  # that are to be on an SM at once: bounds registers, shared memory and threads
    unbound: tuple[Kernel, tuple[Op, ...]] | None = field(default=None, compare=False)  # with the body made from it

    def __post_init__(self) -> None:
        if self.index_bits not in (32, 64):
            raise LayoutError(f"expected indices of 32 or 64 bits, got {self.index_bits}")
        if self.ctas_per_sm is not None and (type(self.ctas_per_sm) is not int or self.ctas_per_sm < 1):
            raise LayoutError(f"expected at least 1 CTA an SM of {self.name}, or None, got {self.ctas_per_sm!r}")
        loose = [f for f in self.given if not isinstance(f, Fact)]
        if loose:
            raise LayoutError(f"expected facts such as N.multiple_of(8) as given, got {loose[0]!r} in {self.name}")
        self._expect_names()
        known = {t.name for t in self.tensors if t.space is MemorySpace.GLOBAL}
        for t in self.tensors:
            wrong = [name for name in t.may_alias if name == t.name or name not in known]
            if wrong:
                others = ", ".join(sorted(known - {t.name})) or "there is none"
                raise LayoutError(
                    f"expected {t.name} to alias other tensors in global memory ({others}), got {wrong[0]!r}"
                )

    def _expect_names(self) -> None:
        """Raise LayoutError where two things of a kind have one name, or a size has that of a block or thread."""
        declared: Mapping[str, tuple[Any, ...]] = {
            "size": tuple(dict.fromkeys(self.dims)),  # a name may have two meanings, such as a width and a pitch
            "scalar parameter": self.parameters,
            "tensor": self.tensors,
            "tensor map": self.maps,
            "array of mbarriers": self.barriers,
        }
        for what, rows in declared.items():
            names = [row.name for row in rows]
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise LayoutError(
                    f"expected one {what} of a name in {self.name}, got {names.count(twice)} of {twice!r}"
                )
        taken = next((s.name for s in self.dims if s.name in (THREAD, *BLOCKS)), None)
        if taken is not None:
            raise LayoutError(f"expected a size of a name that no index has in {self.name}, got {taken!r}")

    @property
    def block(self) -> tuple[Symbol, ...]:
        """The block indices, x first."""
        return tuple(map(index, BLOCKS, self.grid))

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        return self.dims

    def tensor(self, name: str) -> KernelTensor:
        """The tensor of a name. Raises LayoutError for a name that the kernel does not have."""
        return lookup(self.tensors, name, "tensor")

    def map(self, name: str) -> KernelMap:
        """The tensor map of a name."""
        return lookup(self.maps, name, "tensor map")

    def barrier(self, name: str) -> Mbarriers:
        """The mbarriers of a name."""
        return lookup(self.barriers, name, "mbarrier")

    def touched(self, touch: Touch) -> str:
        """The tensor that an operation touches, by name, be it through a tensor map."""
        x = touch.operand
        return x.tensor if isinstance(x, Ref) else self.map(x.tensor_map).tensor

    def parameter(self, name: str) -> Parameter:
        """The scalar parameter of a name."""
        return lookup(self.parameters, name, "scalar parameter")

    @property
    def opaque(self) -> tuple[Symbol, ...]:
        """The values that are read from memory: each may differ between CTAs, threads and iterations."""
        return tuple(dict.fromkeys(op.name for op in self.walk() if isinstance(op, LoadIndex)))

    @property
    def assumed(self) -> tuple[str, ...]:
        """The assumptions of every proof about the kernel other than ``given`` and the ranges of its sizes, a
        sentence each.

        No size can break these and no proof can show them: they are about what the launch hands over, and what the
        hardware does.
        """
        loads = dict.fromkeys(op for op in self.plain.walk() if isinstance(op, LoadIndex))
        return (
            *tensor_assumptions(self),
            *(f"{p.name} is within {text(p.within)}" for p in self.parameters if p.within),
            *(f"the data hold {op.stated}" for op in loads),
            *approximations(self),
            *((CONVERGED,) if self.converged_warps else ()),
        )

    @functools.cached_property
    def written(self) -> tuple[str, ...]:
        """The tensors in global memory that operations write or reduce into, in the order of their declaration."""
        found = {self.touched(t) for op in self.walk() for t in op.changes()}
        return tuple(t.name for t in self.tensors if t.space is MemorySpace.GLOBAL and t.name in found)

    @functools.cached_property
    def accessed(self) -> frozenset[str]:
        """The names of the tensors that operations read, write or reduce into."""
        return frozenset(self.touched(t) for op in self.walk() for t in op.touches())

    def aliases(self, name: str) -> tuple[str, ...]:
        """The other tensors that may begin where a tensor in global memory does, whichever of the two says so."""
        own = self.tensor(name).may_alias
        return tuple(t.name for t in self.tensors if t.name in own or name in t.may_alias)

    @property
    def plain(self) -> Kernel:
        """The kernel with each ``Let`` replaced by its value: the input of provers."""
        return self._without_names or self

    @functools.cached_property
    def _without_names(self) -> Kernel | None:
        """None for a kernel without names: one that held itself would wait for the collector."""
        return replace(self, body=named(self.body)) if any(isinstance(op, Let) for op in self.walk()) else None

    @functools.cached_property
    def distinct(self) -> Kernel:
        """The plain kernel with an operation of its own in each place, for those who know operations by identity."""
        every = list(self.plain.walk())
        if len({id(op) for op in every}) == len(every):
            return self.plain
        return self.plain.edited(lambda op: (replace(op),))

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
        new = tuple(f for f in facts if f not in self.given)
        converged = self.converged_warps or converged_warps
        if not new and converged == self.converged_warps:
            return self  # with its digest, if that is known
        return replace(self, given=(*self.given, *new), converged_warps=converged)

    def bind(self, **sizes: int) -> Kernel:
        """The kernel at these sizes; a bound one is itself. Raises AssumptionError where they break its assumptions."""
        wanted = {s.name for s in self.dims}
        if self.origin is not None and not sizes:
            return self
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
        """Raise AssumptionError at sizes that leave a tensor without elements: such a tensor has no layout."""
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

        Raises SerialError for a field whose value is not a frozen value of the language.
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
        at_once = "" if self.ctas_per_sm is None else f", {self.ctas_per_sm} CTA{'s'[: self.ctas_per_sm != 1]} an SM"
        launch = f"  grid {text(self.grid)}{cluster}, {self.threads} threads{at_once}{wide}"
        lines = [f"kernel {self.name}({sizes})", launch]
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


def tensor_assumptions(kernel: Kernel) -> tuple[str, ...]:
    """Assumptions about the addresses of a kernel's tensors, as sentences."""
    every = [t for t in kernel.tensors if t.space is MemorySpace.GLOBAL]
    units = sorted({t.align_bytes for t in every})
    bases = (f"the base of {_listed(t for t in every if t.align_bytes == n)} is a multiple of {n} bytes" for n in units)
    return (*bases, *_apart(kernel, every))


def _apart(kernel: Kernel, every: list[KernelTensor]) -> Iterator[str]:
    """Tensors that share no byte, one sentence for each that is written."""
    told: set[frozenset[str]] = set()
    for name in kernel.written:
        near = set(kernel.aliases(name))
        for other in every:
            if other.name in near and frozenset((name, other.name)) not in told:
                yield f"{name} and {other.name} are at one address or share no byte"
                told.add(frozenset((name, other.name)))
        far = [t for t in every if t.name not in {name, *near} and frozenset((name, t.name)) not in told]
        if far:
            told |= {frozenset((name, t.name)) for t in far}
            yield f"{name}, which the kernel writes, shares no byte with {_listed(far)}"


def approximations(kernel: Kernel) -> tuple[str, ...]:
    """What is known of the approximate functions of a kernel: how far they are from the exact value."""
    maps = ((op.function, kernel.tensor(op.dst.tensor).dtype.name) for op in kernel.walk() if isinstance(op, Map))
    told = ((word, kind, FUNCTIONS.get(word)) for word, kind in dict.fromkeys(maps))
    return tuple(
        f"{word} of {kind} differs from {row.sentence} by {row.errors[kind]} ({row.source})"
        for word, kind, row in told
        if row is not None and kind in row.errors
    )


def _listed(tensors: Any) -> str:
    return ", ".join(t.name for t in tensors)

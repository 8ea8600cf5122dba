"""The page that handlers of operations write on: lines of C++, the names of expressions so far, and places as text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from symlayout.dtype import DType
from symlayout.errors import LayoutError
from symlayout.expr import Fact, Int, Symbol, integer
from symlayout.facts import Facts, symbols_in
from symlayout.kernel import Kernel, KernelTensor
from symlayout.kernel.cursors import Cursor, cursors
from symlayout.kernel.declarations import THREAD
from symlayout.kernel.integer_widths import Ranges
from symlayout.kernel.visitor import Visitor
from symlayout.ops import For, Let, LoadIndex, Param, Ref, Slot, substitution

from .integers import ATOM, SUM, C, Integers
from .lines import broken
from .naming import Name
from .numbers import ctype

WIDTH = 118
INT32 = (-(1 << 31), (1 << 31) - 1)
SHARED = "shared"  # the array of all shared memory


class Page(Visitor[None]):
    """The text of one kernel as it grows. *values* are the values of the names of ``Let``."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.out: list[str] = []
        self.depth = 1
        self.role = ""
        self.tensors = {t.name: t for t in kernel.tensors}
        self.known: set[Symbol] = {*kernel.dims, *kernel.block}
        self.values: dict[Symbol, Int] = {}
        self.policies: dict[str, str] = {}  # names of priorities in L2
        self.cursors = cursors(kernel)
        self.counting: dict[Cursor, tuple[str, str]] = {}  # the names of their slots and phases
        self.ranges = Ranges(kernel)
        declared: tuple[Any, ...] = (*kernel.tensors, *kernel.barriers, *kernel.maps, *kernel.parameters)
        self.taken = {THREAD, *(x.name for x in (*declared, *kernel.dims, *kernel.block))}
        self.locals = self._locals()
        self.each, self.folded, self.far = map(self.free, ("e", "folded", "far"))  # of loops over registers and lanes
        self.integers = Integers(
            frozenset(kernel.wide), kernel.index_bits, self._nonnegative, known=self.is_known, short=self._short
        )

    def _locals(self) -> dict[str, str]:
        """The names of arrays in the function: their tensor's, but where a size, an argument or a barrier has that."""
        k = self.kernel
        local = [t.name for t in k.tensors if t.space != "global"]
        inside = [op.index.name for op in k.walk() if isinstance(op, For)]
        inside += [op.name.name for op in k.walk() if isinstance(op, Let | LoadIndex)]
        others: tuple[Any, ...] = (*k.dims, *k.block, *k.parameters, *k.maps, *k.barriers)
        fixed = {
            THREAD,
            SHARED,
            *inside,
            *(x.name for x in others),
            *(t.name for t in k.tensors if t.space == "global"),
        }
        self.taken |= {SHARED, *inside}
        return {name: self.free(name) if name in fixed else name for name in local}

    def array(self, tensor: str) -> str:
        """The name of a tensor in the text."""
        return self.locals.get(tensor, tensor)

    def sums(self, tensor: str) -> str:
        """An array of sums as instructions of a warpgroup take it: those of 16 bits two to a register."""
        name, held = self.array(tensor), self.kernel.tensor(tensor)
        return f"reinterpret_cast<int32_t (&)[{held.layout.cosize() // 2}]>({name})" if held.dtype.bits == 16 else name

    # -- lines ------------------------------------------------------------------------------------------

    def line(self, text: str = "") -> None:
        """One statement, in as many lines as it needs."""
        self.out += [("    " * self.depth + x).rstrip() for x in broken(text, WIDTH - 4 * self.depth)]

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Lines written inside are in braces."""
        self.line(head)
        self.depth += 1
        yield
        self.depth -= 1
        self.line("}")

    def call(self, name: str, *arguments: Any, template: str = "") -> None:
        """A line that calls a function of ``gpu.ptx``."""
        self.line(f"{name}{template}({', '.join(map(str, arguments))});")

    # -- integers and their names ---------------------------------------------------------------------------

    def c(self, x: Int) -> str:
        """An expression as C."""
        return self.integers.text(x)

    def condition(self, facts: tuple[Fact, ...]) -> str:
        """The expressions that C tests for facts."""
        return " && ".join(map(self.integers.condition, facts))

    def _nonnegative(self, x: Int) -> bool:
        return self._at_least(x, 0)

    def _at_least(self, x: Int, least: int) -> bool:
        """Whether an expression is no less than a number, by the ranges of sizes and indices or by what is given."""
        if isinstance(x, int) or self.ranges.of(x, self.values)[0] >= least:
            return not isinstance(x, int) or x >= least
        x = integer(substitution(self.values)(x)) - least
        return Facts.about(x, given=self.kernel.given).holds(Fact(x, ">=")) is True

    def _short(self, x: Int) -> bool:
        """Whether 32 bits hold an expression, by the ranges of sizes and indices or by what is given."""
        return self._at_least(x, INT32[0]) and self._at_least(-x, -INT32[1])

    def is_known(self, s: Symbol) -> bool:
        """Whether a symbol has a value here."""
        return s in self.known or s.name == THREAD

    def is_named(self, x: Int) -> bool:
        """Whether an expression was computed before, or needs no name since a cursor stands for it."""
        return x in self.integers.names or any(x in c.covered for c in self.cursors)

    def name(self, named: Name, stem: str) -> None:
        """Compute an expression here, under a name that what follows uses, in 32 bits where they hold it."""
        x, piece = named.value, self.integers.of(named.value)
        short = piece.bits == 32 or self._short(x)
        kind = "uint32_t" if named.low else "int" if short else "int64_t"
        name = self.free(stem)
        text = piece.text if piece.bits == (32 if named.low or short else 64) else f"{kind}({piece.text})"
        self.line(f"const {kind} {name} = {text};")
        made = C(name, ATOM, 64 if kind == "int64_t" else 32, 32 if named.low else piece.stated)
        self.integers = replace(self.integers, names={**self.integers.names, x: made})

    def declare(self, s: Symbol, made: C, stands: Int | None = None) -> None:
        """A constant for a symbol, by its name or, where that is taken by now, by one like it."""
        name = s.name if s not in self.known else self.free(s.name)
        self.line(f"const {'int' if made.bits == 32 else 'int64_t'} {name} = {made.text};")
        self.bind(s, replace(made, text=name, binds=ATOM), stands)

    def free(self, stem: str) -> str:
        """A name that nothing has."""
        name = next(n for i in range(1 << 20) if (n := f"{stem}{i or ''}") not in self.taken)
        self.taken.add(name)
        return name

    def bind(self, s: Symbol, made: C, stands: Int | None = None) -> None:
        """A symbol has a value from here on, under a name; a ``Let`` has its own."""
        if any(s.name == other.name for other in self.known):
            self.forget(s.name)
        self.known.add(s)
        self.taken.add(s.name)
        self.integers = replace(self.integers, names={**self.integers.names, s: made})
        if stands is not None:
            self.values[s] = stands

    def forget(self, symbol: str) -> None:
        """A symbol of this name has another value from here on: what was named by the one before is not known."""
        names = self.integers.names.items()
        kept = {x: c for x, c in names if not any(s.name == symbol for s in symbols_in((x,)))}
        self.integers = replace(self.integers, names=kept)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Names that are made inside are forgotten outside."""
        integers, known, values = self.integers, set(self.known), dict(self.values)
        yield
        self.integers, self.known, self.values = integers, known, values

    # -- places -----------------------------------------------------------------------------------------------

    def place(self, ref: Ref) -> str:
        """A pointer to a place. Raises LayoutError for registers of another role."""
        self._expect_here(ref)
        return self._moved(self.array(ref.tensor), ref.offset)

    def slot(self, slot: Slot) -> str:
        """A pointer to an mbarrier."""
        return self._moved(slot.barrier, slot.slot)

    def _moved(self, start: str, by: Int) -> str:
        return start if isinstance(by, int) and by == 0 else f"{start} + {self.integers.of(by).inside(SUM)}"

    def element(self, x: Ref | Param, i: int | str = 0) -> str:
        """The element so many past a place in registers, or a scalar parameter."""
        if isinstance(x, Param):
            return x.name
        self._expect_here(x)
        if isinstance(x.offset, int) and isinstance(i, int):
            return f"{self.array(x.tensor)}[{x.offset + i}]"
        terms = [self.c(x.offset)] if not (isinstance(x.offset, int) and x.offset == 0) else []
        terms += [str(i)] if i != 0 else []
        return f"{self.array(x.tensor)}[{' + '.join(terms)}]"

    def _expect_here(self, ref: Ref) -> None:
        owner = self.tensors[ref.tensor].role
        if owner not in ("", self.role):
            raise LayoutError(f"expected registers of {self.role or 'the whole kernel'}, got {ref} of {owner}")

    def dtype(self, x: Ref | Param) -> DType:
        """The type of an operand."""
        found = self.kernel.parameter(x.name).dtype if isinstance(x, Param) else self.tensors[x.tensor].dtype
        return DType.of(found)

    def registers(self, role: str) -> None:
        """The register tensors of a role, or those of the whole kernel: arrays that are fully unrolled."""
        for t in self.kernel.tensors:
            if t.space == "register" and t.role == role:
                self.line(f"alignas(16) {ctype(t.dtype)} {self.array(t.name)}[{elements(t)}];")


def elements(t: KernelTensor) -> int:
    """The elements that a tensor of numbers spans."""
    return int(t.layout.cosize())

"""Slips that change the values of a kernel, drawn: in its indices, operands, types and places, or in its result.

The mechanical ones of ``benchmarks.kernel_slips`` are among them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from symlayout.dtype import DTYPES
from symlayout.errors import SymlayoutError
from symlayout.expr import Expr, Quotient, Symbol, index
from symlayout.facts import opaque_atoms
from symlayout.kernel import Kernel
from symlayout.kernel.specification import Applied, Dot, Element, Result, Total
from symlayout.ops import Box, Copy, Fill, For, If, Map, Matrix, Mma, Op, Ref, Shuffle, rewritten

from .kernel_slips import mutants


def slipped(r: random.Random, kernel: Kernel) -> tuple[str, Kernel] | None:
    """A kernel with one thing in it changed, and what; None where what was drawn changes nothing."""
    more = (_inserted, _inserted, _retyped, _renamed, _moved)
    make = r.choice((_mechanical, _divisor, _divisor, _factor, *(_symbol, _operand, _result) * 2, *more))
    try:
        found = make(r, kernel)
    except (SymlayoutError, ZeroDivisionError, IndexError):  # an IndexError where there is nothing to choose from
        return None
    return None if found is None or found[1] == kernel else found


def _mechanical(r: random.Random, kernel: Kernel) -> tuple[str, Kernel] | None:
    every = list(mutants(kernel))
    return r.choice(every) if every else None


def _leaf(r: random.Random, kernel: Kernel) -> Op:
    return r.choice([op for op in kernel.walk() if isinstance(op, Copy | Map | Fill | Mma | Shuffle | If | For)])


def _edited(kernel: Kernel, op: Op, new: Op) -> Kernel:
    """The kernel with another operation for one, where it stands first."""
    done: list[Op] = []

    def change(x: Op) -> tuple[Op, ...]:
        if x == op and not done:
            done.append(x)
            return (new,)
        return (x,)

    return kernel.edited(change)


def _within(r: random.Random, kernel: Kernel, change: Callable[[Expr], Any], what: str) -> tuple[str, Kernel]:
    """One operation with each of its expressions changed; of a body, its condition or extent."""
    op = _leaf(r, kernel)
    plain = op.with_body(()) if op.body else op
    if isinstance(op, If):
        new: Op = replace(op, condition=rewritten(op.condition, change))
    elif isinstance(op, For):
        return what, kernel
    else:
        new = rewritten(plain, change)
    return f"{what}: {op} -> {new}", _edited(kernel, op, new)


def _divisor(r: random.Random, kernel: Kernel) -> tuple[str, Kernel]:
    """x // n or x % n with another n."""
    step = r.choice((-1, 1, 2, -2))

    def change(x: Any) -> Any:
        if not isinstance(x, Expr):
            return x
        atoms = [a for a in opaque_atoms(x) if isinstance(a, Quotient) and type(a.args[1]) is int]
        if not atoms:
            return x
        a = r.choice(atoms)
        n = max(1, a.args[1] + step)
        return _replaced(x, a, a.args[0] // n, a.args[1], n)

    return _within(r, kernel, change, f"a divisor {step:+}")


def _replaced(x: Expr, atom: Any, new: Any, old_n: int, n: int) -> Any:
    """The expression with another quotient, in its remainders too: x - old_n*(x//old_n) becomes x - n*(x//n)."""
    out: Any = 0
    for m, c in x.terms.items():
        term: Any = c
        for a in m:
            term = term * (new if a is atom else a)
        if m == (atom,) and c % old_n == 0:
            term = c // old_n * n * new
        out = out + term
    return out


def _factor(r: random.Random, kernel: Kernel) -> tuple[str, Kernel]:
    """A term with another factor."""
    step = r.choice((-1, 1))

    def change(x: Any) -> Any:
        if not isinstance(x, Expr):
            return x
        terms = list(x.terms.items())
        m, c = r.choice(terms)
        term: Any = step if abs(c) == 1 else r.choice((step, c))
        for a in m:
            term = term * a
        return x + term

    return _within(r, kernel, change, "a factor")


def _symbol(r: random.Random, kernel: Kernel) -> tuple[str, Kernel]:
    """One index for another."""
    known = {op.index for op in kernel.walk() if isinstance(op, For)} | {*kernel.block}
    threads = {s for op in kernel.walk() if isinstance(op, Copy) for s in _symbols(op) if s.name == "thread"}
    every = sorted(known | threads, key=str)
    a, b = r.choice(every), r.choice((*every, 0, 1))
    return _within(r, kernel, lambda x: x.subs({a: b}) if isinstance(x, Expr) else x, f"{a} -> {b}")


def _symbols(op: Op) -> set[Symbol]:
    out: set[Symbol] = set()

    def seen(x: Any) -> Any:
        out.update(getattr(x, "symbols", ()))
        return x

    rewritten(op, seen)
    return out


def _inserted(r: random.Random, kernel: Kernel) -> tuple[str, Kernel] | None:
    """A function, a shuffle or a fill of some registers, before or after an operation."""
    near = _leaf(r, kernel)
    registers = [t for t in kernel.tensors if t.space == "register"]
    a = r.choice(registers)
    like = [t for t in registers if (t.role, int(t.layout.size())) == (a.role, int(a.layout.size()))]
    b, n = r.choice(like), int(a.layout.size())
    new: Op = r.choice(
        (
            Map("convert", (Ref(a.name),), Ref(b.name), n),
            Map("neg", (Ref(a.name),), Ref(a.name), n),
            Map(r.choice(("add", "min", "max")), (Ref(a.name), Ref(b.name)), Ref(a.name), n),
            Shuffle("bfly", Ref(a.name), Ref(b.name), 1, n),
            Shuffle("idx", Ref(a.name), Ref(a.name, n - 1), index("thread", kernel.threads) % 32, 1),
            Fill(Ref(a.name), 0, n),
        )
    )
    first = r.random() < 0.5
    return f"{new} {'before' if first else 'after'} {near}", kernel.edited(
        lambda x: ((new, x) if first else (x, new)) if x == near else (x,)
    )


def _retyped(r: random.Random, kernel: Kernel) -> tuple[str, Kernel]:
    """Registers or a tile of another type of as many bits, or of another type."""
    a = r.choice([t for t in kernel.tensors if t.space != "global"])
    same = [d for d in DTYPES if d.kind in ("int", "uint", "float") and d.bits == a.dtype.bits and d.name != "tf32"]
    other = r.choice(same)
    rows = tuple(replace(t, dtype=other) if t is a else t for t in kernel.tensors)
    return f"{a} of {other}", replace(kernel, tensors=rows)


def _renamed(r: random.Random, kernel: Kernel) -> tuple[str, Kernel]:
    """A loop with the index of another, in all that is in it."""
    loops = [op for op in kernel.walk() if isinstance(op, For)]
    a, b = r.choice(loops), r.choice(loops).index
    i = index(b.name, a.extent)
    body = rewritten(a.inside, lambda x: x.subs({a.index: i}) if hasattr(x, "subs") else x)
    return f"the loop over {a.index} over {i}", _edited(kernel, a, For(i, body))


def _moved(r: random.Random, kernel: Kernel) -> tuple[str, Kernel]:
    """A tensor at the place of another in shared memory, or half a tensor further."""
    shared = [t for t in kernel.tensors if t.space == "shared"]
    a, b = r.choice(shared), r.choice(shared)
    base = b.base + r.choice((0, int(b.bytes) // 2 // 128 * 128))
    rows = tuple(replace(t, base=base) if t is a else t for t in kernel.tensors)
    return f"{a} at {base}", replace(kernel, tensors=rows)


def _operand(r: random.Random, kernel: Kernel) -> tuple[str, Kernel] | None:
    """Another tensor or map of the same type, coordinates swapped, sources swapped, another value."""
    op = _leaf(r, kernel)
    new: Any = op
    if isinstance(op, Copy | Mma | Shuffle):
        name = r.choice([n for n in ("src", "dst", "a", "b", "acc") if hasattr(op, n)])
        new = replace(op, **{name: _other(r, kernel, getattr(op, name))})
    elif isinstance(op, Map):
        srcs = tuple(_other(r, kernel, x) if r.random() < 0.5 else x for x in r.sample(op.srcs, len(op.srcs)))
        new = replace(op, srcs=srcs, dst=_other(r, kernel, op.dst) if r.random() < 0.2 else op.dst)
    elif isinstance(op, Fill):
        new = replace(op, value=op.value + 1)
    return f"{op} -> {new}", _edited(kernel, op, new)


def _other(r: random.Random, kernel: Kernel, x: Any) -> Any:
    if isinstance(x, Matrix):
        return replace(x, start=_other(r, kernel, x.start))
    if isinstance(x, Box):
        maps = [m.name for m in kernel.maps if m.tensor_map.rank == len(x.coordinate)]
        return Box(r.choice(maps), tuple(r.sample(x.coordinate, len(x.coordinate))))
    if isinstance(x, Ref):
        own = kernel.tensor(x.tensor)
        near = [t.name for t in kernel.tensors if t.space == own.space and t.dtype.bits == own.dtype.bits]
        return Ref(r.choice(near), x.offset)
    return x


def _result(r: random.Random, kernel: Kernel) -> tuple[str, Kernel]:
    """Another result: a coordinate one off, coordinates swapped, another tensor, function or type."""
    found = kernel.results[0]
    names = [t.name for t in kernel.tensors if t.space == "global" and t.name != found.tensor]

    def element(e: Element) -> Element:
        what = r.randrange(4)
        if what == 0:
            return Element(r.choice(names), e.at)
        if what == 1:
            return Element(e.tensor, tuple(r.sample(e.at, len(e.at))))
        i = r.randrange(len(e.at))
        moved = e.at[i] + r.choice((-1, 1)) if isinstance(e.at[i], int | Expr) else e.at[i]
        return Element(e.tensor, (*e.at[:i], moved, *e.at[i + 1 :]))

    def value(x: Any) -> Any:
        if isinstance(x, Element):
            return element(x)
        if isinstance(x, Dot):
            return Dot(x.index, *((element(x.a), x.b) if r.random() < 0.5 else (x.b, x.a)))
        if isinstance(x, Total):
            return Total(x.function, x.index, element(x.element))
        if isinstance(x, Applied):
            what = r.randrange(3)
            if what == 0:
                return replace(x, dtype=r.choice(("", "f32", "bf16", "f16")))
            if what == 1:
                other = {1: ("neg", "relu", "convert"), 2: ("add", "sub", "mul", "min"), 3: ("fma",)}[len(x.args)]
                return replace(x, function=r.choice(other))
            return replace(x, args=tuple(value(a) if r.random() < 0.5 else a for a in x.args[::-1]))
        return x

    new = Result(found.tensor, found.coords, value(found.value))
    return f"result {new}", replace(kernel, results=(new, *kernel.results[1:]))

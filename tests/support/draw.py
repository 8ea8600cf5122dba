"""Layouts, coordinates and sizes drawn at random, by seed: every law is tried on all of these kinds.

``Draw(seed)`` is a ``random.Random``; what it draws depends on nothing else, so a failure names its seed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from symlayout import Layout, dim, dims, evaluate, size, unflatten
from symlayout.expr import Symbol
from symlayout.int_tuple import leaves

KINDS = ("compact", "permuted", "padded", "zeros", "random")
INJECTIVE = ("compact", "permuted", "padded")


class Draw(random.Random):
    """A source of random shapes, strides, layouts, coordinates and sizes."""

    def chance(self, p: float) -> bool:
        return self.random() < p

    def nested(self, flat: list[Any], depth: int = 3) -> Any:
        """The leaves in random nested tuples; a lone one may stay a leaf."""
        if len(flat) == 1 and self.chance(0.5):
            return flat[0]
        out: list[Any] = []
        while flat:
            part = flat[: 1 if depth == 1 else self.randint(1, len(flat))]
            flat = flat[len(part) :]
            out.append(part[0] if len(part) == 1 and self.chance(0.8) else self.nested(part, depth - 1))
        return tuple(out) if depth > 0 else out[0] if len(out) == 1 else tuple(out)

    def shape(self, modes: int = 4, extent: int = 8, depth: int = 3, points: int = 2000) -> Any:
        """A nested shape of at most *points* coordinates."""
        while True:
            flat = [self.randint(1, extent) for _ in range(self.randint(1, modes))]
            if size(tuple(flat)) <= points:
                return self.nested(flat, depth)

    def strides(self, extents: list[Any], kind: str) -> list[Any]:
        """Strides of the named kind for a flat list of extents, which may be symbolic."""
        if kind == "random":
            return [self.randint(0, 40) for _ in extents]
        order = list(range(len(extents)))
        if kind != "compact":
            self.shuffle(order)
        out: list[Any] = [0] * len(extents)
        current: Any = 1
        for i in order:
            out[i] = current
            current = current * extents[i]
            if kind == "padded":
                current = self.choice([current, 2 * current, 3 * current])
        if kind == "zeros":
            out = [0 if self.chance(0.4) else d for d in out]
        return out

    def layout(self, kind: str | None = None, **limits: Any) -> Layout:
        """A static layout of one of KINDS."""
        shape = self.shape(**limits)
        flat = self.strides(leaves(shape), kind or self.choice(KINDS))
        return Layout(shape, unflatten(tuple(flat), shape))

    def coordinate(self, shape: Any) -> Any:
        """A coordinate in one of its forms: an integer, an integer for a mode, or nested like the shape."""
        if not isinstance(shape, tuple) or self.chance(0.3):
            return self.randrange(size(shape))
        return tuple(map(self.coordinate, shape))

    # -- symbols ----------------------------------------------------------------------------------------

    def symbolic(self, kind: str | None = None, modes: int = 3, name: str = "S") -> Layout:
        """A layout with some extents symbolic, and strides made of them as *kind* says."""
        extents = [
            dim(f"{name}{i}", multiple_of=self.choice([1, 1, 2, 8])) if self.chance(0.6) else self.randint(1, 6)
            for i in range(self.randint(1, modes))
        ]
        flat = self.strides(extents, kind or self.choice(KINDS))
        shape = self.nested(extents, 2)
        return Layout(shape, unflatten(tuple(flat), shape))

    def sizes(self, symbols: tuple[Symbol, ...], steps: int = 3) -> dict[Any, int]:
        """A small value for each symbol, inside its range and divisibility."""
        env: dict[Any, int] = {}
        todo = list(symbols)
        while todo:
            s = todo.pop(0)
            missing = [b for b in (*getattr(s.lower, "symbols", ()), *getattr(s.upper, "symbols", ())) if b not in env]
            if missing:
                todo += [*(b for b in missing if b not in todo), s]
                continue
            low = -8 if s.lower is None else evaluate(s.lower, env)
            high = low + 64 * s.multiple if s.upper is None else evaluate(s.upper, env)
            first = -(-low // s.multiple) * s.multiple
            last = min(high, first + steps * s.multiple)
            env[s] = self.randrange(first, last + 1, s.multiple)
        return env


def drawn(seed: int, n: int, kind: str | None = None, **limits: Any) -> Iterator[Layout]:
    """*n* static layouts of one kind, or of all kinds."""
    draw = Draw(seed)
    return (draw.layout(kind, **limits) for _ in range(n))


def read(x: Any) -> Any:
    """A layout from its text; anything but text is itself. Symbols of one letter are plain sizes."""
    return Layout.parse(x, dims("M N K")) if isinstance(x, str) else x


def same_function(a: Any, b: Any) -> bool:
    """Whether two static layouts agree in size and at every linear index."""
    return bool(a.size() == b.size() and all(a(i) == b(i) for i in range(a.size())))

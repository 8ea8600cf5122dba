"""The tile that a use of a ring's tensor finds: what the same use of it was filled with, in whichever iteration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symlayout.expr import Expr, Symbol
from symlayout.kernel import Kernel
from symlayout.ops import Op

from ..rings.recognised import RingParts, slot_elements
from .contents import Loaded, Origins, Unknown, Words, without_constant
from .state import Open, State
from .uses import Uses


@dataclass(frozen=True, eq=False)
class Image:
    """What fills bring into one use of a ring's tensor: the number of the use, the indices in it, and the tile."""

    number: Any
    loops: tuple[Symbol, ...]
    tile: Words


class RingTiles:
    """The tiles of the rings of a kernel, use by use, as one walk fills them; *entries* are what it read as indices."""

    def __init__(
        self,
        kernel: Kernel,
        rings: Iterable[RingParts],
        ring_of: Mapping[str, RingParts],
        uses: Uses,
        origins: Origins,
        entries: Mapping[Symbol, Any],
        overlapping: Mapping[str, Iterable[str]],
    ) -> None:
        self.kernel, self.rings, self.ring_of, self.uses = kernel, tuple(rings), ring_of, uses
        self.origins, self.entries, self.overlapping = origins, entries, overlapping
        self.images: dict[str, list[Image]] = {}

    def forget(self) -> None:
        """Begin again with no use filled."""
        self.images = {}

    def ring(self, op: Op, name: str) -> RingParts:
        """The ring of a tensor by which an operation fills it, or finds it filled."""
        mine = (r for r in self.rings if op.credits_to(r.full) and name in r.tensors)
        return next(mine, self.ring_of[name])

    def slot(self, state: State, op: Op, name: str, offset: Any) -> Any:
        """An offset in a ring's tensor as one in the tile of the use at hand."""
        ring = self.ring(op, name)
        size = slot_elements(self.kernel, ring, name)
        return state.here(offset) - size * (self.uses.use(state, op, ring) % ring.slots)

    def image(self, state: State, op: Op, ring: RingParts, name: str) -> Words:
        """The tile of the use at hand, to be filled."""
        number = self.uses.use(state, op, ring)
        forms = [x for s, x in state.loops if s not in self.kernel.block and type(x) is not int]
        loops = tuple(x for x in forms if isinstance(x, Symbol))
        if len(loops) < len(forms):
            raise Open(f"fills of {name} iteration by iteration")
        known = self.images.setdefault(name, [])
        found = next((x for x in known if x.loops == loops and state.normal(x.number - number) == 0), None)
        if found is None:
            found = Image(number, loops, Words.of(0, slot_elements(self.kernel, ring, name)))
            known.append(found)
        return found.tile

    def filled(self, state: State, op: Op, name: str) -> Words:
        """The tile that the use at hand of a ring finds."""
        ring = self.ring(op, name)
        if self.overlapping[name]:
            raise Open(f"a ring, {name}, has bytes of shared memory in common with others; expected places apart")
        number = self.uses.use(state, op, ring)
        known = [(image.tile, self._turns(state, image, number)) for image in self.images.get(name, [])]
        tiles = [self._renamed(tile, moved) for tile, moved in known if moved is not None]
        if not tiles:
            raise Open(f"use {number} of {name} is not seen to be filled")
        out, *others = tiles
        for tile in others:  # each of several fills brings a part
            mine = tile.ids != 0
            if out.ids[mine].any():
                raise Open(f"a place of {name} that is filled twice in one use")
            out = out.copy()
            out.put(mine, tile[mine])
        return out

    def _turns(self, state: State, image: Image, number: Any) -> dict[Symbol, Any] | None:
        """The loop indices of the iteration that fills the use of this number, if it is known."""
        now = {s.name: x for s, x in state.loops}
        moved = {s: now[s.name] for s in image.loops if s.name in now}
        if len(moved) < len(image.loops) or state.normal(_put(image.number, moved) - number) != 0:
            if len(image.loops) != 1 or image.number != image.loops[0]:
                return None
            moved = {image.loops[0]: number}
        inside = all(x is s or state.facts.le(x, _put(s.upper, moved)) is True for s, x in moved.items())
        return moved if inside else None

    def _renamed(self, words: Words, moved: dict[Symbol, Any]) -> Words:
        """A tile in other iterations of the loops."""
        if all(s is x for s, x in moved.items()):
            return words
        ids, deltas = words.ids.copy(), words.deltas.copy()
        for number in words.kinds:
            origin = self.origins[number]
            if isinstance(origin, Unknown):
                continue
            if not isinstance(origin, Loaded) or any(x in self.entries for x in origin.at):
                raise Open("a tile that is filled under conditions or by indices, in other iterations than it is read")
            parts = [without_constant(_put(x, moved)) for x in origin.at]
            mine = words.ids == number
            ids[mine] = self.origins.number(replace(origin, at=tuple(x for x, _ in parts)))
            deltas[mine, : len(parts)] += np.array([c for _, c in parts])
        return Words(ids, deltas)


def _put(x: Any, moved: dict[Symbol, Any]) -> Any:
    known = {s: moved[s] for s in x.symbols if s in moved} if isinstance(x, Expr) else {}
    return x.subs(known) if known else x

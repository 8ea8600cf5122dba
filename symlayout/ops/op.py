"""The base of all operations: its text, what stands inside it, and what it says of itself.

>>> from symlayout.ops import Arrive, Barrier, Copy, Map, Ref, Slot
>>> [str(t.operand) for t in Map("add", (Ref("x"), Ref("y")), Ref("z"), 4).reads()]
['x', 'y']
>>> print(Arrive(Slot("empty", 1)).arrives, Copy("ldmatrix.x4", Ref("tile"), Ref("r")).issuer)
empty[1] Issuer.WARP
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar

from ..atoms.access import Completion, Issuer, Reduction
from ..atoms.atom import ATOMS, Atom
from ..errors import LayoutError
from .fields import Checked
from .operands import Box, Ref, Slot
from .touch import Touch

WARP = 32  # lanes


@dataclass(frozen=True)
class Op(Checked):
    """The base of all operations. ``str`` is the line of the operation, ``body`` what stands inside it.

    What it does to memory and to mbarriers, and who issues it, it says itself: the defaults here are those of an
    operation that does nothing.
    """

    word: ClassVar[str] = ""

    # -- structure ------------------------------------------------------------------------------------

    @property
    def body(self) -> tuple[Op, ...]:
        return ()

    def with_body(self, body: tuple[Op, ...]) -> Op:
        """The operation around another body."""
        return replace(self, inside=body) if self.body else self  # type: ignore[call-arg]

    def nested(self, depth: int = 0) -> Iterator[tuple[int, Op]]:
        """The operation and all inside it, in order, each with how deep it stands."""
        yield depth, self
        for op in self.body:
            yield from op.nested(depth + 1)

    def walk(self) -> Iterator[Op]:
        """The operation and all inside it, in order."""
        return (op for _, op in self.nested())

    def lines(self, depth: int = 0) -> Iterator[str]:
        """The text of the operation, two spaces a level."""
        return (f"{'  ' * at}{op}" for at, op in self.nested(depth))

    def operands(self) -> Iterator[tuple[str, Any]]:
        """Its fields by name, in order."""
        for f in fields(self):
            yield f.name, getattr(self, f.name)

    # -- memory ---------------------------------------------------------------------------------------

    def _touched(self) -> Iterator[Touch]:
        """Its effects on its places, reads first."""
        yield from ()

    @cached_property
    def _touches(self) -> tuple[Touch, ...]:
        return tuple(t for t in self._touched() if isinstance(t.operand, Ref | Box))

    def touches(self) -> tuple[Touch, ...]:
        """Its effects on its places in memory and registers, reads first.

        An operand of a kind that the operation does not take, which ``WellFormed`` reports, is not a place.
        """
        return self._touches

    def reads(self) -> tuple[Touch, ...]:
        """The places that it reads."""
        return tuple(t for t in self._touches if not t.changes)

    def changes(self) -> tuple[Touch, ...]:
        """The places that it writes, or combines values with."""
        return tuple(t for t in self._touches if t.changes)

    @cached_property
    def sources(self) -> tuple[Ref, ...]:
        """The places in tensors that it reads, those that it reaches through a tensor map aside."""
        return tuple(t.operand for t in self.reads() if isinstance(t.operand, Ref))

    @cached_property
    def targets(self) -> tuple[Ref, ...]:
        """The places in tensors that it changes, those that it reaches through a tensor map aside."""
        return tuple(t.operand for t in self.changes() if isinstance(t.operand, Ref))

    @property
    def row(self) -> Atom | None:
        """The row of the instruction that it names; None of an operation without one, and of an unknown word."""
        return None

    @property
    def completion(self) -> Completion:
        """Its completion mechanism."""
        row = self.row
        return Completion.AT_ONCE if row is None else row.completion

    @property
    def member_of(self) -> Completion:
        """The group with which it is over; at once where it is of none, as a load that an mbarrier tells of."""
        return self.completion if self.completion.is_group else Completion.AT_ONCE

    @property
    def reduction(self) -> Reduction | None:
        """The function by which it combines values with those in memory, if it is a reduction."""
        row = self.row
        return None if row is None else row.reduction

    @property
    def issuer(self) -> Issuer:
        """Who issues it together."""
        row = self.row
        return Issuer.THREAD if row is None else row.issuer

    # -- mbarriers ------------------------------------------------------------------------------------

    @property
    def arrives(self) -> Slot | None:
        """The mbarrier at which it arrives."""
        return None

    @property
    def expects(self) -> Slot | None:
        """The mbarrier whose phase it lets await more bytes."""
        return None

    @property
    def waits(self) -> Slot | None:
        """The mbarrier whose phase it awaits."""
        return None

    @property
    def credits(self) -> Slot | None:
        """The mbarrier that is credited with the bytes which it moves."""
        return None

    def arrives_at(self, barrier: str) -> bool:
        """Whether it arrives at one of these mbarriers."""
        return self.arrives is not None and self.arrives.barrier == barrier

    def expects_on(self, barrier: str) -> bool:
        """Whether it lets a phase of one of these mbarriers await more bytes."""
        return self.expects is not None and self.expects.barrier == barrier

    def waits_for(self, barrier: str) -> bool:
        """Whether it waits for a phase of one of these mbarriers."""
        return self.waits is not None and self.waits.barrier == barrier

    def credits_to(self, barrier: str) -> bool:
        """Whether the bytes that it moves are credited to one of these mbarriers."""
        return self.credits is not None and self.credits.barrier == barrier


@dataclass(frozen=True)
class ByAtom(Op):
    """The base of operations by an instruction that has a row in the table of atoms."""

    atom: str

    @property
    def barrier(self) -> Slot | None:
        """The mbarrier that its completion is told to; a field where the instruction takes one."""
        return None

    @property
    def row(self) -> Atom | None:
        return ATOMS.get(self.atom)

    @property
    def credits(self) -> Slot | None:
        return self.barrier


def expect_word(x: str, known: tuple[str, ...], what: str) -> None:
    """Raise LayoutError for a word that is none of those known."""
    if x not in known:
        raise LayoutError(f"expected {what} of {', '.join(known)}, got {x!r}")

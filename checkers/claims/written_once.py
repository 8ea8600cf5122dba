"""Every element of an output is written exactly once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from symlayout.answers.report import Witness
from symlayout.errors import ClaimError
from symlayout.expr import Fact
from symlayout.facts import Facts, symbols_in
from symlayout.ops import Box, For, If

from ..algebra.subject_form import numbers_in
from ..aliases import changed_by
from ..claim import Proof, TooLarge
from ..coverage.store_sites import Open, boxes, outputs, reduced, writers
from ..coverage.writes import Writes
from .of_kernel import AtAllSizes


@dataclass(frozen=True)
class WrittenOnce(AtAllSizes):
    """Each element of *tensor* is stored once: by one operation, CTA, thread and iteration. None is stored twice, and
    none is left out.

    What a box has outside the tensor is not stored. Nothing is said about which value is stored.

    >>> from symlayout import dim
    >>> from symlayout.kernels import vector_copy
    >>> print(WrittenOnce(vector_copy(dim("N")), "dst"))
    written once: each element of dst of vector_copy

    Raises ClaimError for a value that is not a kernel, a tensor that it does not write in global memory, and a tensor
    that a reduction updates, since several reductions may update an element.
    """

    tensor: str

    kind: ClassVar[str] = "written once"

    def __post_init__(self) -> None:
        super().__post_init__()
        known = outputs(self.kernel)
        if self.tensor not in known:
            raise ClaimError(f"expected an output ({', '.join(known) or 'there is none'}), got {self.tensor!r}")
        if self.tensor in reduced(self.kernel):
            raise ClaimError(f"expected an output that is stored, got {self.tensor!r}, which a reduction updates")
        plain = self.kernel.plain
        object.__setattr__(self, "kernel", replace(plain, given=()) if plain.given else plain)

    def points(self) -> int:
        """Elements, as far as time goes: a box is one write."""
        size, largest = self.kernel.tensor(self.tensor).layout.size(), 1
        for s in writers(self.kernel, self.tensor):
            try:
                largest = max(largest, *boxes(self.kernel, s.op)[1])
            except Open:
                continue
        return int(size) // largest + 100

    def __str__(self) -> str:
        return f"{self.kind}: each element of {self.tensor} of {self.kernel.name}"

    def hints(self) -> tuple[int, ...]:
        """Sizes of boxes and chunks: what is left out or met twice shows beyond one."""
        every = writers(self.kernel, self.tensor)
        starts = []
        for s in every:
            try:
                starts += [*boxes(self.kernel, s.op)[0]]
            except Open:
                continue
        around = [a for s in every for a in s.around]
        facts: list[Fact] = [f for a in around if isinstance(a, If) for f in a.condition]
        return numbers_in((tuple(starts), tuple(facts), tuple(a.extent for a in around if isinstance(a, For))))

    def concerns(self) -> tuple[Any, ...]:
        """The sizes of the output, of the grid, and those in the stores and in what stands around them."""
        sizes: list[Any] = [self.kernel.tensor(self.tensor).layout, *self.kernel.grid]
        for s in writers(self.kernel, self.tensor):
            places = (t.operand for t in s.op.touches() if t.kind.changes)
            sizes += [x.coordinate if isinstance(x, Box) else x.offset for x in places]
            sizes += [f for a in s.around if isinstance(a, If) for f in a.condition]
            sizes += [a.extent for a in s.around if isinstance(a, For)]
        return tuple(s for s in self.kernel.dims if s in symbols_in(tuple(sizes)))

    def certify(self, facts: Facts) -> Proof | None:
        try:
            return self._argued(facts)
        except Open:
            return None

    def _argued(self, facts: Facts) -> Proof:
        """The proof. Raises Open with the missing part."""
        from ..coverage.once import argued  # which makes use of other claims

        others = [x for x in changed_by(self.kernel, self.tensor) if x != self.tensor]
        if others:
            raise Open(
                f"that {self.tensor} is elsewhere than {others[0]}, which the kernel writes and which may alias it"
            )
        return argued(self.kernel, self.tensor, facts)

    def counterexample(self) -> Witness | None:
        writes = Writes(self.kernel, self.tensor)
        found = writes.wrong()
        if not found and writes.doubts:  # one run is right, and there are others
            raise TooLarge(writes.doubts[0])
        return Witness({}, (), found) if found else None

    def lemma(self, facts: Facts) -> str:
        try:
            self._argued(facts)
        except Open as e:
            return str(e)
        return ""

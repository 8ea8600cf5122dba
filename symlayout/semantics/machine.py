"""The memories of a running kernel: bytes, and for each byte why it is poison.

A code of 0 is a byte with a value; any other is a number of ``Machine.reasons``, which travels with the byte through
registers until somebody writes it to global memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..atoms import MemorySpace
from ..errors import DisorderError, LayoutError
from ..int_tuple import leaves, unflatten
from ..kernel import Kernel, KernelTensor
from ..ops import Op, PeerCopy
from .fences import fenced
from .matrix_sums import Sums, accumulated
from .mbarrier import Mbarrier
from .order import ASYNC, GENERIC, STRANDS, Bytes, Entries, Knowledge, Where
from .overflow import doubts

Array = np.ndarray[Any, Any]

UNWRITTEN = 0xFF  # what unwritten bytes hold: NaN in every float type
UNIT_BYTES = 16
MANY = 255  # codes are bytes


class GlobalTensor:
    """A tensor in global memory, from address 0 on; whole units of 16 bytes are allocated."""

    def __init__(self, tensor: KernelTensor, ops: list[Op | None], never: int) -> None:
        self.tensor, self.size, self.ops = tensor, int(tensor.bytes), ops
        room = -(-self.size // UNIT_BYTES) * UNIT_BYTES
        self.bytes = np.full(room, UNWRITTEN, dtype=np.uint8)
        self.codes = np.full(room, never, dtype=np.uint8)
        self.op = np.zeros(room, dtype=np.uint16)  # that wrote last
        self._written = False

    def wrote(self, at: Array, op: int) -> None:
        """An operation put values there. Raises LayoutError where the tensor is const."""
        if self.tensor.const:
            raise LayoutError(f"expected {self.tensor.name} to stay as it is, since it is const, got a write")
        self.codes[at], self.op[at] = 0, op

    def lie_on(self, other: GlobalTensor) -> None:
        """Share the bytes of a tensor at the same address that is at least as large."""
        room = len(self.bytes)
        self.bytes, self.codes, self.op = other.bytes[:room], other.codes[:room], other.op[:room]

    @property
    def written(self) -> bool:
        """Whether every byte has a value; once it has, it keeps one."""
        self._written = self._written or not self.codes[: self.size].any()
        return self._written

    def written_by(self, at: tuple[int, ...]) -> str:
        """The last writer of an element."""
        offset = self.tensor.layout(unflatten(at, self.tensor.layout.shape))
        op = self.ops[int(self.op[offset * self.tensor.dtype.bytes])]
        return f"written by {op}" if op else "which nobody wrote"

    @property
    def _elements(self) -> Array:
        self.tensor.dtype.bytes  # noqa: B018  # an error for elements of less than a byte
        return self.bytes[: self.size].view(self.tensor.dtype.numpy())

    def put(self, x: Any) -> None:
        """Take an array with an entry for each coordinate. Raises LayoutError for another shape or type."""
        shape, kind, x = self._shape(), self.tensor.dtype.numpy(), np.asarray(x)
        if x.shape != shape or x.dtype != kind:
            wanted = f"an array of shape {shape} and type {kind} for {self.tensor.name}"
            raise LayoutError(f"expected {wanted}, got {x.shape} and {x.dtype}")
        offsets = self.tensor.layout.offsets()
        self._elements[offsets] = x.reshape(-1, order="F")
        self.codes[: self.size].reshape(-1, kind.itemsize)[offsets] = 0

    def get(self) -> Array:
        """The array with an entry for each coordinate."""
        found = self._elements[self.tensor.layout.offsets()].reshape(self._shape(), order="F")
        return np.ascontiguousarray(found)

    def _shape(self) -> tuple[int, ...]:
        return tuple(leaves(self.tensor.layout.shape))


@dataclass(eq=False)
class Machine:
    """State that all CTAs of a run share: the kernel, global memory, the order of execution, words for poison."""

    kernel: Kernel
    ordered: bool  # whether knowledge of others' accesses is tracked
    late: Callable[[], bool]  # whether an asynchronous effect waits until it must happen
    sums: Sums = accumulated  # what products of matrices leave
    tensors: dict[str, KernelTensor] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)  # of the tensors, in bytes
    memory: dict[str, GlobalTensor] = field(default_factory=dict)
    scalars: dict[str, Array] = field(default_factory=dict)  # the parameters of this launch, one element each
    reasons: list[str] = field(default_factory=lambda: [""])
    ops: list[Op | None] = field(default_factory=lambda: [None])
    numbers: dict[int, int] = field(default_factory=dict)  # of operations, by identity
    flying: list[Any] = field(default_factory=list)  # copies that wait for a mbarrier's completion, in order of issue
    disorders: set[int] = field(default_factory=set)  # codes of poison that an order would have prevented
    strands: int = STRANDS  # of a warp, unless it stays converged
    log: Any = None  # where what agents do is noted, if anywhere

    def __post_init__(self) -> None:
        self.fenced, self.peers = fenced(self.kernel), any(isinstance(op, PeerCopy) for op in self.kernel.walk())
        self.doubts = doubts(self.kernel)
        self.tensors = {t.name: t for t in self.kernel.tensors}
        self.sizes = {t.name: int(t.bytes) for t in self.kernel.tensors}
        self.memory = {
            t.name: GlobalTensor(t, self.ops, self.code(f"{t.name} was never written there"))
            for t in self.kernel.tensors
            if t.space is MemorySpace.GLOBAL
        }

    def scalar(self, name: str) -> Array:
        """The value of a scalar parameter. Raises LayoutError for one that this launch does not give."""
        if name not in self.scalars:
            raise LayoutError(f"expected a value for the scalar parameter {name} among the inputs, got none")
        return self.scalars[name]

    def code(self, reason: str) -> int:
        """The code of poison for this reason."""
        if reason not in self.reasons:
            if len(self.reasons) == MANY:
                self.reasons.append("one of many reasons")
            if len(self.reasons) > MANY:
                return MANY
            self.reasons.append(reason)
        return self.reasons.index(reason)

    def disorder(self, reason: str) -> int:
        """The code of poison that is there since nothing orders a read after a write."""
        found = self.code(reason)
        self.disorders.add(found)
        return found

    def poisoned(self, what: str, code: int, *subject: str) -> LayoutError:
        """The mistake of using poison of a code."""
        said = f"{what}: {self.reasons[code]}"
        return DisorderError(said, "order", *subject) if code in self.disorders else LayoutError(said)

    def number(self, op: Op | None) -> int:
        """The number of an operation."""
        if id(op) not in self.numbers:
            self.numbers[id(op)] = len(self.ops)
            self.ops.append(op)
        return self.numbers[id(op)]


class SharedMemory:
    """The shared memory of a CTA."""

    def __init__(self, machine: Machine, entries: Entries, cta: int, nbytes: int) -> None:
        self.machine = machine
        self.bytes = np.full(nbytes, UNWRITTEN, dtype=np.uint8)
        self.codes = np.full(nbytes, machine.code("shared memory was never written there"), dtype=np.uint8)
        self.order = Bytes(entries, cta, nbytes, machine.peers) if machine.ordered else None

    def place(self, address: int) -> str:
        """``byte 8 of ring``."""
        for t in self.machine.kernel.tensors:
            if t.space is MemorySpace.SHARED and t.base <= address < t.base + int(t.bytes):
                return f"byte {address - t.base} of {t.name}"
        return f"byte {address} of shared memory"

    def seen(self, at: Where, k: Knowledge, row: Any, proxy: str = GENERIC) -> Array:
        """The codes of bytes for a reader: poison where it does not know of the last write."""
        codes = self.codes[at]
        if self.order is None:
            return codes
        hidden = self.order.hidden(at, k, row, proxy) & (codes == 0)
        if hidden.any():
            first = np.flatnonzero(hidden)[0]
            op = self.machine.ops[int(self.order.op[at].reshape(-1)[first])]
            writer = int(self.order.writer[at].reshape(-1)[first])
            reason = f"no wait for {op}"
            fence = proxy == ASYNC and not self.order.hidden(at, k, row).reshape(-1)[first]
            if fence and writer >= self.order.threads:
                reason = f"no fence async after {op} has landed"
            elif writer < self.order.threads:
                what = "fence async, or no barrier after it," if fence else "barrier"
                reason = f"no {what} after {op} by thread {writer} of the CTA"
            codes = np.where(hidden, np.uint8(self.machine.disorder(reason)), codes)
        return codes

    def expect_free(self, at: Where, k: Knowledge, row: Any) -> None:
        """Raise LayoutError for bytes that somebody reads or writes without the writer's knowledge."""
        if self.order is None:
            return
        writing = self.order.hidden(at, k, row)
        if writing.any():
            address, first = self._first(at, writing)
            op = self.machine.ops[int(self.order.op[at].reshape(-1)[first])]
            said = f"overwrites {self.place(address)}, without order after the write there ({op})"
            raise DisorderError(said, "order", self.place(address).rpartition(" ")[2])
        reading = self.order.read_by(at, k, row)
        if reading.any():
            strand = int(np.flatnonzero(reading.any(axis=tuple(range(1, reading.ndim))))[0])
            address, _ = self._first(at, reading[strand])
            said = f"overwrites {self.place(address)}, which {self.order.entries.may_read(strand)}"
            raise DisorderError(said, "order", self.place(address).rpartition(" ")[2])

    def _first(self, at: Where, found: Array) -> tuple[int, int]:
        first = int(np.flatnonzero(found)[0])
        return (at.start + first if isinstance(at, slice) else int(at.reshape(-1)[first])), first


class Meeting:
    """A barrier of threads: bar.sync of a CTA, or that of a cluster."""

    def __init__(self, name: str, clock: Array) -> None:
        self.name, self.told, self.known = name, clock, clock.copy()
        self.here, self.count, self.generation = 0, 0, 0

    def arrive(self, threads: int, count: int) -> None:
        """Threads arrive at a barrier of *count*. Raises LayoutError where the counts do not fit."""
        if self.here and count != self.count:
            raise DisorderError(f"expected {self.name} of {self.count} threads, as by the others, got {count}", "phase")
        if self.here + threads > count:
            said = f"expected at most {count} threads at {self.name}, got {self.here + threads}"
            raise DisorderError(said, "phase")
        self.here, self.count = self.here + threads, count
        if self.here == count:
            self.here, self.generation = 0, self.generation + 1
            np.maximum(self.known, self.told, out=self.known)

    def __str__(self) -> str:
        return f"{self.name} has {self.here} of {self.count} threads"


@dataclass(frozen=True)
class Reach:
    """An operation of a peer on the mbarriers or the memory of a CTA, *told*, of strands at these entries of clocks."""

    entries: Array
    epochs: Array
    told: str
    subject: str


class Cta:
    """A CTA: shared memory, mbarriers, barriers, and how many of its agents still run."""

    def __init__(self, cluster: Cluster, rank: int, block: tuple[int, ...]) -> None:
        self.cluster, self.rank, self.block = cluster, rank, block
        kernel, entries = cluster.machine.kernel, cluster.entries
        self.shared = SharedMemory(cluster.machine, entries, rank, max(kernel.shared_bytes, 1))
        self.slots = {
            (b.name, i): Mbarrier(f"{b.name}[{i}]", b.arrivals, entries.new(), entries.slot(rank, first + i))
            for b, first in zip(kernel.barriers, cluster.first_slots, strict=True)
            for i in range(b.slots)
        }
        self.meetings: dict[int, Meeting] = {}
        self.agents: list[Any] = []
        self.reached: list[Reach] = []  # by peers, in runs that track knowledge
        self.over = False

    def meeting(self, number: int) -> Meeting:
        """bar.sync *number*."""
        if number not in self.meetings:
            self.meetings[number] = Meeting(f"barrier {number}", self.cluster.entries.new())
        return self.meetings[number]

    def mbarrier(self, name: str, slot: int) -> Mbarrier:
        """An mbarrier. Raises LayoutError for a slot that the array does not have."""
        if (name, slot) not in self.slots:
            raise LayoutError(
                f"expected a slot of 0 .. {self.cluster.machine.kernel.barrier(name).slots - 1} of {name}, got {slot}"
            )
        found = self.slots[name, slot]
        if not found.initialised:
            raise DisorderError(f"expected {self}'s {found.name} to be initialised before it is used", "phase", name)
        return found

    def expect_known(self) -> None:
        """Raise DisorderError as the CTA exits for what peers do to it unless some of its threads know that it is over.

        A peer that came a little later would have reached a CTA that has exited.
        """
        if not self.reached:
            return
        known = np.max([a.knows.rows.max(axis=0) for a in self.agents], axis=0)
        late = next((x for x in self.reached if (known[x.entries] < x.epochs).any()), None)
        if late is not None:
            said = (
                f"{self} may exit before {late.told} is done; expected a cluster barrier at the end, or a wait for it"
            )
            raise DisorderError(said, "order", late.subject)

    def inval(self, name: str) -> None:
        """Invalidate the mbarriers of an array. Raises LayoutError where they are not initialised."""
        for (array, _), found in self.slots.items():
            if array == name:
                found.inval()

    def init(self, name: str) -> None:
        """Initialise the mbarriers of an array. Raises LayoutError where they were before."""
        for (array, _), found in self.slots.items():
            if array == name:
                found.init()

    def __str__(self) -> str:
        return f"CTA {self.block[0] if len(self.block) == 1 else self.block}"


class Cluster:
    """CTAs that run together."""

    def __init__(self, machine: Machine, blocks: list[tuple[int, ...]]) -> None:
        kernel, self.machine = machine.kernel, machine
        slots = [b.slots for b in kernel.barriers]
        self.first_slots = [sum(slots[:i]) for i in range(len(slots))]
        strands = 1 if kernel.converged_warps else machine.strands
        self.entries = Entries(len(blocks), kernel.threads // 32, sum(slots), strands)
        self.meeting = Meeting("the cluster barrier", self.entries.new())
        self.ctas = [Cta(self, rank, block) for rank, block in enumerate(blocks)]

    def dissolve(self) -> None:
        """Let the CTAs go, and their agents, which know them: nothing of a cluster waits for the collector."""
        for cta in self.ctas:
            cta.agents.clear()
        self.ctas.clear()

    def cta(self, rank: int) -> Cta:
        """The CTA of a rank. Raises LayoutError for one that the cluster does not have, or that is over."""
        if not 0 <= rank < len(self.ctas):
            raise LayoutError(f"expected a CTA of 0 .. {len(self.ctas) - 1} of the cluster, got {rank}")
        if self.ctas[rank].over:
            raise DisorderError(f"expected {self.ctas[rank]} to be running, but it has exited", "order")
        return self.ctas[rank]

"""Operations that order others: mbarriers, barriers of a CTA, a warp and a cluster, fences, groups."""

from __future__ import annotations

from dataclasses import dataclass

from ..atoms.access import Completion, Issuer, Proxy
from ..errors import LayoutError
from ..expr import Int
from .op import Op, expect_word
from .operands import Slot

MOST_NS = 2**32 - 1  # that a try to wait may be told to take, in 32 bits (PTX ISA, mbarrier.try_wait)
MOST_ARRIVALS = 2**20 - 1  # at once (PTX ISA, 9.7.13.15.2, contents of the mbarrier object)

PROXIES = (Proxy.ASYNC, "mbarrier_init", Completion.WGMMA)  # what a fence is about
SCOPES = ("cta", "cluster")  # whose threads a release or an acquire is about (PTX ISA, Scope)
GROUPS = (Completion.CP_ASYNC, Completion.BULK, Completion.WGMMA)  # what can be committed and waited for


@dataclass(frozen=True)
class Init(Op):
    """mbarrier.init of each mbarrier of an *array*, by one thread, once: its phases await arrivals from then on."""

    array: str

    def __str__(self) -> str:
        return f"init {self.array}"


@dataclass(frozen=True)
class Inval(Op):
    """mbarrier.inval of each mbarrier of an *array*, by one thread, behind all of its uses: its bytes are free then.

    >>> print(Inval("full"))
    inval full
    """

    array: str

    def __str__(self) -> str:
        return f"inval {self.array}"


@dataclass(frozen=True)
class Arrive(Op):
    """mbarrier.arrive by each thread that is here, at this CTA's barrier or that of a *peer* in the cluster.

    It is a release at *scope*: what the thread did before is known to those of the CTA, or of the cluster, that wait at
    the same scope. Without a scope in its text PTX takes that of the CTA. A peer needs to know what lanes have read of
    a slot that it fills, so that takes the cluster's; what wgmma has read is over with wait_group.

    With a *count* each thread makes so many arrivals at once, all in one phase: 1 .. 2^20 - 1, no more than the phase
    still awaits (PTX ISA, mbarrier.arrive). One that does not *complete* is never the last of its phase, and is for
    this CTA only (PTX ISA, mbarrier.arrive.noComplete).

    >>> print(Arrive(Slot("empty", 1)), Arrive(Slot("empty"), 0, "cluster"), sep="; ")
    arrive empty[1]; arrive empty[0] of CTA 0 at cluster scope
    >>> print(Arrive(Slot("full"), count=32), Arrive(Slot("full"), complete=False), sep="; ")
    arrive full[0] 32 times; arrive.noComplete full[0]

    Raises LayoutError for another scope, a count out of range, and one that does not complete but is for a cluster.
    """

    barrier: Slot
    peer: Int | None = None
    scope: str = SCOPES[0]
    count: int = 1
    complete: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_word(self.scope, SCOPES, "a scope")
        if not self.complete and (self.peer is not None or self.scope != SCOPES[0]):
            raise LayoutError(f"expected an arrival that does not complete at {self.barrier} to be for its own CTA")
        if type(self.count) is not int or not 1 <= self.count <= MOST_ARRIVALS:
            raise LayoutError(f"expected 1 to {MOST_ARRIVALS} arrivals at once at {self.barrier}, got {self.count!r}")

    @property
    def arrives(self) -> Slot | None:
        return self.barrier

    def __str__(self) -> str:
        where = "" if self.peer is None else f" of CTA {self.peer}"
        word = "arrive" if self.complete else "arrive.noComplete"
        return f"{word} {self.barrier}{where}{_at(self.scope)}" + ("" if self.count == 1 else f" {self.count} times")


@dataclass(frozen=True)
class CpAsyncArrive(Op):
    """cp.async.mbarrier.arrive: each thread's arrival comes once all that it has copied by cp.async so far has landed.

    The thread goes on at once. A wait for the phase tells of what those copies wrote, and of nothing else that the
    thread did. With *noinc* the arrival is one of those that the phase awaits. Without, the phase awaits one more from
    then on, so another arrival has to be pending meanwhile (PTX ISA, cp.async.mbarrier.arrive).

    >>> print(CpAsyncArrive(Slot("full")), CpAsyncArrive(Slot("full"), noinc=False), sep="; ")
    cp.async arrive full[0] noinc; cp.async arrive full[0]
    """

    barrier: Slot
    noinc: bool = True

    @property
    def arrives(self) -> Slot | None:
        return self.barrier

    def __str__(self) -> str:
        return f"cp.async arrive {self.barrier}" + (" noinc" if self.noinc else "")


@dataclass(frozen=True)
class ExpectTx(Op):
    """mbarrier.arrive.expect_tx: arrive, and let the phase await this many bytes."""

    barrier: Slot
    bytes: Int

    @property
    def arrives(self) -> Slot | None:
        return self.barrier

    @property
    def expects(self) -> Slot | None:
        return self.barrier

    def __str__(self) -> str:
        return f"expect_tx {self.barrier} {self.bytes} B"


@dataclass(frozen=True)
class Wait(Op):
    """mbarrier.try_wait.parity until the phase of this parity is over: an acquire at *scope*, see ``Arrive``.

    Each try may suspend the thread for as long as the system chooses, or for at most *suspend_ns* nanoseconds, and is
    repeated (PTX ISA, mbarrier.try_wait: suspendTimeHint): 1 .. 2^32 - 1.

    >>> print(Wait(Slot("full"), 1, suspend_ns=500))
    wait full[0] parity 1 by tries of 500 ns

    Raises LayoutError for another scope, or a time out of range.
    """

    barrier: Slot
    parity: Int
    scope: str = SCOPES[0]
    suspend_ns: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_word(self.scope, SCOPES, "a scope")
        if self.suspend_ns is not None and not 1 <= self.suspend_ns <= MOST_NS:
            raise LayoutError(f"expected 1 to {MOST_NS} ns for each try at {self.barrier}, got {self.suspend_ns!r}")

    @property
    def waits(self) -> Slot | None:
        return self.barrier

    def __str__(self) -> str:
        tries = "" if self.suspend_ns is None else f" by tries of {self.suspend_ns} ns"
        return f"wait {self.barrier} parity {self.parity}{_at(self.scope)}{tries}"


@dataclass(frozen=True)
class Barrier(Op):
    """bar.sync *number*: the *threads* of the CTA that use it meet."""

    number: int = 0
    threads: int = 0  # 0 for all of the CTA

    @property
    def issuer(self) -> Issuer:
        return Issuer.WARP

    def __str__(self) -> str:
        return f"barrier {self.number}" + (f" of {self.threads} threads" if self.threads else "")


@dataclass(frozen=True)
class BarrierArrive(Op):
    """bar.arrive *number*: the threads arrive at a barrier of so many *threads* and go on (PTX ISA, bar.arrive).

    What they did before is known to those that meet there in that phase.

    >>> print(BarrierArrive(1, 256))
    arrive barrier 1 of 256 threads
    """

    number: int
    threads: int

    @property
    def issuer(self) -> Issuer:
        return Issuer.WARP

    def __str__(self) -> str:
        return f"arrive barrier {self.number} of {self.threads} threads"


@dataclass(frozen=True)
class WarpBarrier(Op):
    """bar.warp.sync of the full mask: all lanes of each warp that is here meet, and know what each of them did."""

    @property
    def issuer(self) -> Issuer:
        return Issuer.WARP

    def __str__(self) -> str:
        return "warp barrier"


@dataclass(frozen=True)
class ClusterBarrier(Op):
    """barrier.cluster.arrive and wait: all threads of the cluster meet."""

    @property
    def issuer(self) -> Issuer:
        return Issuer.WARP

    def __str__(self) -> str:
        return "cluster barrier"


@dataclass(frozen=True)
class ClusterArrive(Op):
    """barrier.cluster.arrive: the threads arrive at the barrier of the cluster and go on, to a ``ClusterWait``.

    A *relaxed* arrival orders nothing that the thread did before: only that it has come (PTX ISA, barrier.cluster).

    >>> print(ClusterArrive(), ClusterArrive(relaxed=True), ClusterWait(), sep="; ")
    cluster arrive; cluster arrive relaxed; cluster wait
    """

    relaxed: bool = False

    @property
    def issuer(self) -> Issuer:
        return Issuer.WARP

    def __str__(self) -> str:
        return "cluster arrive relaxed" if self.relaxed else "cluster arrive"


@dataclass(frozen=True)
class ClusterWait(Op):
    """barrier.cluster.wait: until all threads of the cluster have arrived, each once since its last wait."""

    @property
    def issuer(self) -> Issuer:
        return Issuer.WARP

    def __str__(self) -> str:
        return "cluster wait"


@dataclass(frozen=True)
class Fence(Op):
    """A fence of one of PROXIES."""

    about: str

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_word(self.about, PROXIES, "a fence")

    @property
    def issuer(self) -> Issuer:
        return _issuer(self.about)

    def __str__(self) -> str:
        return f"fence {self.about}"


@dataclass(frozen=True)
class Commit(Op):
    """The operations issued since the last commit become a group."""

    group: str

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_word(self.group, GROUPS, "a group")

    @property
    def issuer(self) -> Issuer:
        return _issuer(self.group)

    def __str__(self) -> str:
        return f"commit {self.group}"


@dataclass(frozen=True)
class WaitGroup(Op):
    """Wait until at most *pending* groups are under way; with *read* only until their sources have been read.

    Raises LayoutError for *read* of other than bulk groups, for which PTX has no such wait.
    """

    group: str
    pending: int = 0
    read: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_word(self.group, GROUPS, "a group")
        if self.read and self.group != "bulk":
            raise LayoutError(f"expected a wait for reads of bulk groups, got one of {self.group} groups")

    @property
    def issuer(self) -> Issuer:
        return _issuer(self.group)

    def __str__(self) -> str:
        return f"wait_group{'.read' if self.read else ''} {self.group} {self.pending}"


def _at(scope: str) -> str:
    return "" if scope == SCOPES[0] else f" at {scope} scope"


def _issuer(about: str) -> Issuer:
    """Fences, commits and waits of wgmma are of a warpgroup, as it is (PTX ISA, wgmma.fence: ``.aligned``)."""
    return Issuer.WARPGROUP if about == Completion.WGMMA else Issuer.THREAD

"""The protocol of all barriers of a kernel, for all sizes: phases come in order, nobody waits for ever.

Every obligation is about one execution of an operation, and assumes that all before it in time went as they should. So
all of them together hold by induction: see ``chains``. What is open raises ``Open`` with the obligation in words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from symlayout.atoms import MemorySpace
from symlayout.expr import Fact
from symlayout.kernel import Kernel
from symlayout.kernel.joined import Joined, joined
from symlayout.kernel.sites import Site, sites
from symlayout.ops import Arrive, Copy, CpAsyncArrive, Op, Ref

from ..rings.ring_lemmas import TX_LIMIT
from ..rings.shown import Open
from .chains import Chains, Point, after, start
from .events import Env, Who, event, fresh, gap
from .linear import Certificate
from .phases import Case, Present, cases
from .progress import expect_no_circle
from .under import Shelf, Under
from .uses import Phased, Use, barriers


@dataclass(eq=False)
class Protocol:
    """The obligations of a kernel's barriers; ``check`` raises Open for the first that is not shown.

    >>> from symlayout import dims
    >>> from symlayout.kernels import tma_copy
    >>> protocol = Protocol(tma_copy(*dims("M N"), tile=(16, 64), slots=4, blocks=132))
    >>> protocol.check()
    >>> print(protocol.shown[1])
    full of 4 slots: each phase gets its 1 arrivals after the one before is over
    """

    kernel: Kernel
    given: tuple[Fact, ...] = ()
    shelf: Shelf = field(default_factory=Shelf)
    shown: list[str] = field(default_factory=list)

    @cached_property
    def whole(self) -> Joined:
        """All CTAs of a cluster: the obligations are about these together."""
        return joined(self.kernel)

    @cached_property
    def barriers(self) -> list[Phased]:
        return barriers(self.kernel)

    @cached_property
    def chains(self) -> Chains:
        return Chains(self.whole, self.barriers)

    @property
    def certificates(self) -> list[Certificate]:
        return self.shelf.certificates

    @cached_property
    def begin(self) -> Under:
        return Under((*self.kernel.given, *(f for f in self.given if f not in self.kernel.given)), self.shelf)

    def check(self) -> None:
        """Show all obligations, of each barrier and of all together. Raises Open."""
        self.shown.clear()
        for b in self.barriers:
            self.sums(b)
        for b in self.barriers:
            for u in b.arrivals:
                self._arrives_in_time(b, u)
                if not _completes(u.event.op):
                    self._followed(b, u)
            for w in (w for w in b.waits if w not in b.arrivals):
                self._waits_in_time(b, w)
                if b.named:
                    self._arrived(b, w)
            self._landings_awaited(b)
            told = f"{b} of {b.slots} slots" if b.slots > 1 else str(b)
            self.shown.append(f"{told}: each phase gets its {b.awaits} arrivals after the one before is over")
        expect_no_circle(self.whole.kernel, self.barriers, self.begin)
        self.shown.append("every wait is for what comes earlier in one order of all waits")
        if self.whole.ctas > 1:
            self._stays()
            self.shown.append("no CTA exits before its peers are done with it")

    # -- sums ---------------------------------------------------------------------------------------

    def sums(self, b: Phased) -> None:
        """What contributes to a phase is what the phase awaits: seen from each wait, and from each contribution."""
        for w in b.waits:
            env, under = fresh(w.event, self.begin)
            v = w.at(env)
            if not under.at_least_0(v + b.slots):  # a wait for phase -1 returns at once, one for -2 may not
                raise Open(f"that {w} is for a phase that there is")
            if type(v) is int and v < 0:
                continue
            for case in cases(b, v, under.also(Fact(v, ">="))):
                if not case.completes(b) or not self._balanced(case):
                    raise Open(f"that the phase which {w} awaits gets {self._lacking(b, case)}{_where(case)}")
        for u in b.arrivals:
            env, under = fresh(u.event, self.begin)
            if not under.at_least_0(u.at(env)):
                raise Open(f"that {u} is for a phase after the start")
            for case in cases(b, u.at(env), under):
                if case.arrivals > b.awaits:
                    raise Open(f"that a phase of {b} gets {b.awaits} arrivals and not {case.arrivals}{_where(case)}")
                if case.completes(b) and not self._balanced(case):
                    raise Open(f"that the bytes which a phase of {b} awaits are those of its copies{_where(case)}")
                if not case.under.at_least_0(TX_LIMIT - case.expected):
                    raise Open(f"that a phase of {b} awaits at most {TX_LIMIT} bytes{_where(case)}")

    def _balanced(self, case: Case) -> bool:
        return case.under.shows(Fact(case.missing, "=="))

    def _lacking(self, b: Phased, case: Case) -> str:
        if case.arrivals != b.awaits:
            return f"{b.awaits} arrivals, got {case.arrivals}"
        return f"the bytes of its copies, with {case.missing} more awaited"

    # -- phases in order ----------------------------------------------------------------------------

    def _arrives_in_time(self, b: Phased, u: Use) -> None:
        """The phase before is over when an operation arrives, or when a copy is issued."""
        env, under = fresh(u.event, self.begin)
        if not self.chains.over(b, u.at(env) - b.slots, start(u.event, env), under):
            raise Open(f"that {u} comes after the phase of {b} before it is over")

    def _followed(self, b: Phased, u: Use) -> None:
        """What does not complete a phase, or lets it await one arrival more, comes before an arrival in that phase."""
        env, under = fresh(u.event, self.begin)
        for case in cases(b, u.at(env), under):
            if not any(self._comes_before(u, env, p, case.under) for p in case.present if p.use.arrivals):
                raise Open(f"that {u} is followed by an arrival in the same phase{_where(case)}")

    def _comes_before(self, u: Use, env: Env, p: Present, under: Under) -> bool:
        """Whether one contribution is known to come before another: its threads make both, or one knows of all."""
        if p.use.event.team.includes(u.event.team) and under.at_least_0(gap(u.event, env, p.use.event, p.env)):
            return True
        return self.chains.known(u.event, env, start(p.use.event, p.env), under, memory=False)

    def _waits_in_time(self, b: Phased, w: Use) -> None:
        """The phase before is over when a wait starts, and the phase behind cannot end before it has returned."""
        env, under = fresh(w.event, self.begin)
        if not self.chains.over(b, w.at(env) - b.slots, start(w.event, env), under):
            raise Open(f"that {w} starts after the phase of {b} before it is over")
        for case in cases(b, w.at(env) + b.slots, under.also(Fact(w.at(env) + b.slots, ">="))):
            if case.completes(b) and not self._known_there(w, env, case):
                raise Open(f"that {w} has returned before the next phase of that mbarrier is over")

    def _known_there(self, w: Use, env: Env, case: Case) -> bool:
        return any(self.chains.known(w.event, env, after(p), case.under, memory=False) for p in case.present)

    def _arrived(self, b: Phased, w: Use) -> None:
        """The threads of a wait at the barrier of a cluster have arrived before, for the phase that they await."""
        env, under = fresh(w.event, self.begin)
        for case in cases(b, w.at(env), under):
            mine = (p for p in case.present if p.use.event.team.includes(w.event.team))
            if not any(case.under.at_least_0(gap(p.use.event, p.env, w.event, env)) for p in mine):
                raise Open(f"that the threads of {w} have arrived before{_where(case)}")

    def _stays(self) -> None:
        """What peers do to the mbarriers and tensors of a CTA is known to some of its threads at its end.

        So is what lands in it: see ``_landings_awaited``.
        """
        reached = ((b, u) for b in self.barriers if not b.named for u in b.arrivals)
        for b, u in reached:
            if isinstance(u.event.op, Copy):
                continue
            rank = self.whole.rank_of(b.name)
            if self.whole.rank(u.event.team) != rank:
                env, under = fresh(u.event, self.begin)
                end = self.end(rank)
                done = self.chains.known(u.event, env, end, under)
                if not done and not self.chains.over(b, u.at(env), end, under, memory=True):
                    raise Open(f"that CTA {rank} of the cluster stays until {u} is done")

        for s in sites(self.whole.kernel):
            for rank in {self.whole.rank_of(name) for name in self._reached(s)}:
                there = event(s)
                env, under = fresh(there, self.begin)
                if not self.chains.known(there, env, self.end(rank), under):
                    raise Open(f"that CTA {rank} of the cluster stays until {there} is done")

    def _reached(self, s: Site) -> Iterator[str]:
        """The tensors of peers that an operation reads or writes at once."""
        for t in s.op.touches():
            if not isinstance(t.operand, Ref) or t.completion:
                continue
            if self.whole.kernel.tensor(t.operand.tensor).space is not MemorySpace.SHARED:
                continue
            if s.team is not None and self.whole.rank_of(t.operand.tensor) != self.whole.rank(s.team):
                yield t.operand.tensor

    def end(self, rank: int) -> Point:
        """All threads of a CTA as they exit."""
        last = event(self.whole.last(rank))
        return Point(last, {}, Who(last.team))

    def _landings_awaited(self, b: Phased) -> None:
        """Some thread waits for each phase in which a copy lands, so the CTA does not end before."""
        for u in b.arrivals:
            if u.tells:
                continue
            env, under = fresh(u.event, self.begin)
            for case in cases(b.of_waits, u.at(env), under):
                if not case.present:
                    raise Open(f"that somebody waits for each {u}{_where(case)}")


def _completes(op: Op) -> bool:
    """Whether an arrival may be the last of its phase."""
    return op.complete if isinstance(op, Arrive) else op.noinc if isinstance(op, CpAsyncArrive) else True


def _where(case: Case) -> str:
    """The facts of a case that are not the kernel's, in short."""
    told = [str(f) for f in case.under.given[-3:]]
    return f", where {' and '.join(told)}" if told else ""

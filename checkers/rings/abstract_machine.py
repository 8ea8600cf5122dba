"""The mbarriers of a cluster's CTAs as an abstract machine of atomic steps, and a search for what it must not reach.

Each warp is an agent with a program: waits, arrivals, copies that land later, reads that last until their group is
waited for. A barrier is (parity of its phases, arrivals pending, bytes pending); a slot of memory is empty, being
filled, or filled, with the agents that have given it back since. A multicast lands in each CTA at a moment of its own.
A CTA has surely begun once one of its warps has done a step, and may be over once all of them are: nothing of another
CTA may reach it before or after. Memory order and proxies are outside of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from symlayout.errors import InternalError
from symlayout.meter import step

from .steps import Agent, Fault, Memory, Step, place

STATES = 5_000  # explored before a search gives up
MANY = 10  # agents: so many interleave in too many ways to be searched far
DEADLOCK = "deadlock"
LONG = 250  # moves of a story that is not shortened

# State: places of the agents, barriers, memory, copies under way, warps at named barriers.
State: TypeAlias = "tuple[tuple[int, ...], tuple[Any, ...], tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]"


@dataclass(frozen=True)
class Machine:
    """The agents of the CTAs of a cluster, and their barriers."""

    agents: tuple[Agent, ...]
    barriers: tuple[tuple[tuple[str, int], int], ...]  # (name, slot), arrivals of a phase
    ctas: int = 1

    @cached_property
    def _number(self) -> dict[Any, int]:
        return {b: i for i, (b, _) in enumerate(self.barriers)}

    @cached_property
    def _memory(self) -> dict[Memory, int]:
        every = (m for a in self.agents for s in a.program if s.kind != "arrive" for m in s.memory)
        return {m: i for i, m in enumerate(dict.fromkeys(every))}

    @cached_property
    def _agents_of(self) -> tuple[tuple[int, ...], ...]:
        """The agents of each CTA."""
        return tuple(tuple(i for i, a in enumerate(self.agents) if a.cta == cta) for cta in range(self.ctas))

    @cached_property
    def _readers(self) -> tuple[int, ...]:
        """For each piece of memory the agents that read it, or give it back and read nothing, as a mask."""
        back = [frozenset(m for s in a.program if s.kind == "arrive" for m in s.memory) for a in self.agents]
        return tuple(sum(1 << i for i, a in enumerate(self.agents) if m in (a.reads or back[i])) for m in self._memory)

    def begin(self) -> State:
        bars = tuple((0, n, 0) for _, n in self.barriers)
        return (0,) * len(self.agents), bars, ((0, 0),) * len(self._memory), (), ()

    # -- steps --------------------------------------------------------------------------------------

    def moves(self, state: State) -> Iterator[tuple[int, int]]:
        """(agent, 0) for each agent that can go on, (-1, k) for each copy under way that may land."""
        at, bars, _, flights, met = state
        for k in range(len(flights)):
            if k == 0 or flights[k] != flights[k - 1]:
                yield -1, k
        for i, stops in enumerate(self._stops):
            stop = stops[at[i]]
            if stop is None or (stop and self._goes_on(stop, i, bars, met)):
                yield i, 0

    def _may(self, state: State, move: tuple[int, int]) -> bool:
        """Whether a move is one of ``moves``."""
        i, k = move
        at, bars, _, flights, met = state
        if i < 0:
            return k < len(flights) and (k == 0 or flights[k] != flights[k - 1])
        stop = self._stops[i][at[i]]
        return stop is None or (stop != () and self._goes_on(stop, i, bars, met))

    @cached_property
    def _stops(self) -> tuple[tuple[tuple[int, ...] | None, ...], ...]:
        """What may hold an agent at each place: None, nothing; (), the end; (barrier, parity); (-1,), other warps."""
        held: dict[str, Callable[[Step], tuple[int, ...]]] = {
            "wait": lambda s: (self._number[s.barrier], s.parity),
            "sync": lambda s: (-1,),
        }
        return tuple((*(held[s.kind](s) if s.kind in held else None for s in a.program), ()) for a in self.agents)

    @staticmethod
    def _goes_on(stop: tuple[int, ...], i: int, bars: tuple[Any, ...], met: tuple[Any, ...]) -> bool:
        if stop[0] >= 0:
            return bool(bars[stop[0]][0] != stop[1])
        return not any(i in who for _, who in met)

    def after(self, state: State, move: tuple[int, int]) -> tuple[State, Any, str]:
        """(state, what was done, what is wrong with it) after a move."""
        i, k = move
        at, bars, memory, flights, met = state
        if i < 0:
            _, b, nbytes, mem = flights[k]
            filled = _put(memory, {m: (2, memory[m][1]) for m in mem})
            rest = (*flights[:k], *flights[k + 1 :])
            name, slot = self.barriers[b][0]
            text = f"{nbytes} bytes land and are credited to {name}[{slot}]"
            return (at, self._credited(bars, b, 0, nbytes), filled, rest, met), text, ""
        a = self.agents[i]
        s = a.program[at[i]]
        moved = _put(at, {i: at[i] + 1})
        if s.kind == "arrive":
            b = self._number[s.barrier]
            given = {
                j: (memory[j][0], memory[j][1] | 1 << i)
                for m in s.memory
                if (j := self._memory.get(m)) is not None and memory[j][0] == 2
            }
            wrong = self._absent(at, a.cta, s.cta, s.barrier)
            if bars[b][1] < s.arrivals:
                wrong = wrong or f"{s} is an arrival more than its phase awaits"
            return (moved, self._credited(bars, b, s.arrivals, -s.nbytes), _put(memory, given), flights, met), s, wrong
        if s.kind == "copy":
            wrong = next((w for m in s.memory if (w := self._refilled(state, i, m))), "")
            wrong = wrong or next((w for c, b, _ in s.lands if (w := self._absent(at, a.cta, c, b))), "")
            places = tuple(self._memory[m] for m in s.memory)
            new = ((c, self._number[b], s.nbytes, tuple(self._memory[m] for m in to)) for c, b, to in s.lands)
            flights = tuple(sorted((*flights, *new)))
            return (moved, bars, _put(memory, dict.fromkeys(places, (1, 0))), flights, met), s, wrong
        if s.kind == "write":
            wrong = next((w for m in s.memory if (w := self._refilled(state, i, m))), "")
            places = tuple(self._memory[m] for m in s.memory)
            return (moved, bars, _put(memory, dict.fromkeys(places, (2, 0))), flights, met), s, wrong
        if s.kind == "read":
            wrong = next((w for m in s.memory if (w := self._read_early(state, i, m))), "")
            return (moved, bars, memory, flights, met), s, wrong
        if s.kind == "sync":
            return self._met(state, i, s), s, ""
        return (moved, bars, memory, flights, met), s, ""

    def _credited(self, bars: tuple[Any, ...], b: int, arrivals: int, nbytes: int) -> tuple[Any, ...]:
        """The barriers after arrivals and landed bytes (or expected ones, as negative) at one of them."""
        parity, pending, left = bars[b]
        pending, left = pending - arrivals, left - nbytes
        row = (1 - parity, self.barriers[b][1], 0) if pending == 0 and left == 0 else (parity, pending, left)
        return _put(bars, {b: row})

    def _met(self, state: State, i: int, s: Step) -> State:
        at, bars, memory, flights, met = state
        here = dict(met)
        who = (*here.get(s.barrier, ()), i)
        if 32 * len(who) < s.arrivals:
            here[s.barrier] = who
        else:
            here.pop(s.barrier, None)
            at = _put(at, {j: at[j] + 1 for j in who})
        return at, bars, memory, flights, tuple(sorted(here.items()))

    # -- what must not happen -----------------------------------------------------------------------

    def _over(self, at: tuple[int, ...], cta: int) -> bool:
        """Whether all warps of a CTA are done."""
        return all(self.agents[i].whole and at[i] == len(self.agents[i].program) for i in self._agents_of[cta])

    def _absent(self, at: tuple[int, ...], of: int, cta: int, barrier: tuple[str, int]) -> str:
        """The defect of one CTA's access to a barrier of another in this state."""
        if cta == of:
            return ""
        name, slot = barrier
        if self._over(at, cta):
            return f"CTA {of} reaches {name}[{slot}], but CTA {cta} may have exited"
        if not any(at[i] for i in self._agents_of[cta]):
            return f"CTA {of} reaches {name}[{slot}], which CTA {cta} need not have initialised yet"
        return ""

    def _refilled(self, state: State, i: int, m: Memory) -> str:
        at, _, memory, _, _ = state
        status, back = memory[self._memory[m]]
        where = place(m)
        for j, a in enumerate(self.agents):
            if m in a.open[at[j]]:
                return f"{self.agents[i].name} overwrites {where} while {a.name} reads it"
        if status == 1:
            return f"{self.agents[i].name} fills {where} while a fill of it is under way"
        kept = self._readers[self._memory[m]] & ~back
        if status == 2 and kept:
            who = self.agents[(kept & -kept).bit_length() - 1].name
            return f"{self.agents[i].name} overwrites {where}, which {who} has not given back"
        return ""

    def _read_early(self, state: State, i: int, m: Memory) -> str:
        status, back = state[2][self._memory[m]]
        who, where = self.agents[i].name, place(m)
        if status < 2:
            return f"{who} reads {where} before its bytes have arrived"
        return f"{who} reads {where} after it gave it back" if back >> i & 1 else ""

    def stuck(self, state: State) -> str:
        """The defect of a state that has no moves."""
        at = state[0]
        left = [(a, a.program[p]) for a, p in zip(self.agents, at, strict=True) if p < len(a.program)]
        if not left:
            return ""
        if any(not a.whole and p == len(a.program) for a, p in zip(self.agents, at, strict=True)):
            return ""
        return f"{DEADLOCK}: " + ", ".join(f"{a.name} stays at {s}" for a, s in left)

    def ended(self, state: State) -> str:
        """The defect of a state in which every agent of some CTA is done."""
        at, _, _, flights, _ = state
        for cta in dict.fromkeys(f[0] for f in flights):
            if self._over(at, cta):
                which = f"CTA {cta}" if self.ctas > 1 else "the CTA"
                return f"{which} ends while a copy into its shared memory is under way"
        return ""

    # -- search -------------------------------------------------------------------------------------

    def search(self, about: frozenset[str] = frozenset(), states: int = 0) -> Fault | None:
        """The fault with the fewest steps, of those *about* some barriers and tensors; replayed.

        Raises Exhausted where so many states (by default STATES, fewer of many agents) show none and there are more.
        """
        states = states or (STATES if len(self.agents) <= MANY else STATES // 10)
        first = self.begin()
        parents: dict[State, tuple[State, tuple[int, int]] | None] = {first: None}
        level = [first]
        while level:
            following: list[State] = []
            for state in level:
                moves = list(self.moves(state))
                wrong = self.ended(state) or ("" if moves else self.stuck(state))
                if wrong and self._concerns(wrong, about):
                    return self._fault(wrong, _path(parents, state), about)
                for move in moves:
                    new, _, wrong = self.after(state, move)
                    if wrong and self._concerns(wrong, about):
                        return self._fault(wrong, [*_path(parents, state), move], about)
                    if new not in parents:
                        parents[new] = state, move
                        following.append(new)
                if len(parents) > states:
                    raise Exhausted(len(parents))
            level = following
        return None

    def replayed(self, about: frozenset[str] = frozenset(), tries: int = 0) -> Fault | None:
        """The first fault that some interleavings meet, so many or all that ``run`` knows."""
        found = (self.run(n, about) for n in range(min(tries or self.tries, self.tries)))
        return next((f for f in found if f is not None), None)

    @property
    def tries(self) -> int:
        """The number of interleavings that ``run`` knows."""
        return len(self._tries)

    @cached_property
    def _tries(self) -> list[tuple[tuple[int, ...], int]]:
        """The CTAs in which copies land as late as possible, and the shift of the agents' schedule."""
        every, none = tuple(range(self.ctas)), ()
        some = [(late, n) for n in range(len(self.agents)) for late in (every, none)]
        ends = [len(self.agents) - 1 - of[-1] for of in self._agents_of if of]  # a CTA's last agent goes last
        return some + [((cta,), n) for cta in every[1:] + every[:1] for n in ends if self.ctas > 1]

    def run(self, prefer: int, about: frozenset[str] = frozenset()) -> Fault | None:
        """One of the interleavings in which some agent goes last, some copies land late, and a fault that it meets."""
        late, shift = self._tries[prefer]
        state, taken, last = self.begin(), [], len(self.agents) + 1

        def rank(m: tuple[int, int]) -> int:
            i, k = m
            if i >= 0:
                return 1 + (i + shift) % len(self.agents)
            return last if state[3][k][0] in late else 0

        for _ in range(100_000):
            step()
            moves = list(self.moves(state))
            if not moves:
                break
            move = min(moves, key=rank)
            new, _, wrong = self.after(state, move)
            taken.append(move)
            wrong = wrong or self.ended(new)
            if wrong and self._concerns(wrong, about):
                return self._fault(wrong, self._shortened(wrong, taken), about)
            state = new
        wrong = self.stuck(state)
        return self._fault(wrong, taken, about) if wrong and self._concerns(wrong, about) else None

    def _shortened(self, what: str, moves: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """The moves without those that the fault does not need: each is left out once, the last ones first."""
        if len(moves) <= LONG:
            before = self._before(moves)  # these stay as they are while later moves are left out
            for i in reversed(range(len(before))):
                fewer = moves[i + 1 :]
                if self._leads(before[i], fewer) == what:
                    moves = [*moves[:i], *fewer]
        return moves

    def _before(self, moves: list[tuple[int, int]]) -> list[State]:
        """The state before each move but the last, up to the first at which something else is wrong."""
        states = [self.begin()]
        for move in moves[:-2]:
            new, _, wrong = self.after(states[-1], move)
            if wrong or self.ended(new):
                break
            states.append(new)
        return states[: len(moves) - 1]

    def _leads(self, state: State, moves: list[tuple[int, int]]) -> str:
        """The fault at the end of some moves from a state; "" where there is none or they cannot be taken."""
        wrong = ""
        for move in moves:
            if wrong or not self._may(state, move):
                return ""
            state, _, wrong = self.after(state, move)
            wrong = wrong or self.ended(state)
        return wrong

    def _concerns(self, wrong: str, about: frozenset[str]) -> bool:
        """Whether a fault is about some barriers and tensors; a deadlock at no mbarrier is about all of them."""
        return (
            not about
            or any(f"{name}[" in wrong or f"{name} slot" in wrong for name in about)
            or " ends while a copy " in wrong
            or (wrong.startswith(DEADLOCK) and not any(f"{name}[" in wrong for (name, _), _ in self.barriers))
        )

    def _fault(self, what: str, moves: list[tuple[int, int]], about: frozenset[str]) -> Fault:
        """The story of some moves, taken again from the start."""
        state, steps, wrong = self.begin(), [], ""
        for move in moves:
            if not self._may(state, move):
                raise InternalError(f"the interleaving to {what} does not replay")
            state, text, wrong = self.after(state, move)
            steps.append((self.agents[move[0]].name if move[0] >= 0 else "copy engine", str(text)))
        if what not in (wrong, self.ended(state), "" if list(self.moves(state)) else self.stuck(state)):
            raise InternalError(f"the interleaving to {what} does not replay")
        return Fault(what, tuple(steps), about)


class Exhausted(Exception):
    """A search that has seen as many states as it may."""


def _path(parents: Mapping[State, Any], state: State) -> list[tuple[int, int]]:
    out = []
    while (before := parents[state]) is not None:
        state, move = before
        out.append(move)
    return out[::-1]


def _put(row: tuple[Any, ...], new: Mapping[int, Any]) -> tuple[Any, ...]:
    if not new:
        return row
    out = list(row)
    for i, x in new.items():
        out[i] = x
    return tuple(out)

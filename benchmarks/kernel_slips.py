"""One slip in a kernel: an operation dropped, doubled or swapped with the next, a field with another value.

    >>> from symlayout import dims
    >>> from symlayout.kernels import vector_copy
    >>> print(next(iter(mutants(vector_copy(*dims("N")))))[0])
    0 if N >= 512*block_x + 4*thread + 4:: dropped

``kernel_mutation`` judges them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from symlayout.atoms import ATOMS, CachePolicy, Extent
from symlayout.atoms.peers import WORDS
from symlayout.errors import SymlayoutError
from symlayout.expr import Fact, eq, index
from symlayout.kernel import Kernel
from symlayout.ops import (
    ELECTIONS,
    FOLDS,
    GROUPS,
    PROXIES,
    SCOPES,
    SHUFFLES,
    UNROLLED,
    WARP,
    Arrive,
    Barrier,
    BarrierArrive,
    Box,
    ClusterArrive,
    Commit,
    Copy,
    CpAsyncArrive,
    Elect,
    ExpectTx,
    Fence,
    Fill,
    For,
    If,
    Init,
    Inval,
    Let,
    LoadIndex,
    Map,
    Matrix,
    Mma,
    Op,
    PeerCopy,
    PrefetchL2,
    Reduce,
    Ref,
    Role,
    Shuffle,
    Slot,
    Wait,
    WaitGroup,
    rewritten,
    substitution,
)

PIECE_BYTES = 16  # the least that a bulk copy moves (PTX ISA, cp.async.bulk)

Change = tuple[str, Any]  # what was done, and what came of it
Where = tuple[int, ...]
Slip = Callable[[Any, Kernel], Iterator[Change]]


def mutants(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """Each kernel that is one slip away, by name: where, then what.

    >>> name, _ = next(mutants(vector_copy(64)))
    >>> name
    '0 if 60 >= 512*block_x + 4*thread:: dropped'
    """
    for path, op, following, elected in places(kernel.body):
        where = f"{'.'.join(map(str, path))} {op}"
        yield f"{where}: dropped", put_at(kernel, path, ())
        yield f"{where}: doubled", put_at(kernel, path, (op, op))
        if following is not None and following != op:
            yield f"{where}: after the next", put_at(kernel, path, (following, op), 2)
        if isinstance(op, If | Elect):
            yield f"{where}: for all", put_at(kernel, path, op.body)
        if isinstance(op, Elect):
            yield f"{where}: by thread 1", put_at(kernel, path, (If((_second(kernel),), op.body),))
        if not op.body and not elected:
            yield f"{where}: by one", put_at(kernel, path, (Elect((op,)),))
        for what, new in changes(op, kernel):
            yield f"{where}: {what}", put_at(kernel, path, (new,))
    yield from _at_once(kernel)
    if kernel.threads > WARP:
        yield f"{kernel.name}: a warp fewer", replace(kernel, threads=kernel.threads - WARP)
    for b in kernel.barriers:
        for step in (1, -1):
            if b.arrivals + step > 0:
                rows = tuple(replace(x, arrivals=x.arrivals + step) if x is b else x for x in kernel.barriers)
                yield f"{b}: arrivals {step:+}", replace(kernel, barriers=rows)


def places(
    body: tuple[Op, ...], path: Where = (), elected: bool = False
) -> Iterator[tuple[Where, Op, Op | None, bool]]:
    """Each operation: its path from the root, the one that follows it in its body, whether an election is around it."""
    for i, op in enumerate(body):
        yield (*path, i), op, body[i + 1] if i + 1 < len(body) else None, elected
        yield from places(op.body, (*path, i), elected or isinstance(op, Elect))


def _second(kernel: Kernel) -> Fact:
    """That the thread is number 1, whom elect.sync need not choose."""
    return eq(index("thread", kernel.threads), 1)


def put_at(kernel: Kernel, path: Where, new: tuple[Op, ...], taken: int = 1) -> Kernel:
    """The kernel with other operations for the *taken* ones from a path on."""
    return replace(kernel, body=_put_in(kernel.body, path, new, taken))


def _put_in(body: tuple[Op, ...], path: Where, new: tuple[Op, ...], taken: int) -> tuple[Op, ...]:
    i = path[0]
    if len(path) == 1:
        return (*body[:i], *new, *body[i + taken :])
    around: Any = body[i]  # an operation with a body: the path goes on inside of it
    return (*body[:i], replace(around, inside=_put_in(around.body, path[1:], new, taken)), *body[i + 1 :])


def changes(op: Op, kernel: Kernel) -> Iterator[Change]:
    """An operation with one thing in it changed; what no operation can be is left out."""
    for name, makers in _SLIPS.get(type(op), {}).items():
        for make in makers:
            for what, new in make(getattr(op, name), kernel):
                try:
                    yield f"{name} {what}", replace(op, **{name: new})
                except SymlayoutError:
                    continue
    if isinstance(op, For):
        yield from _trips(op)


def _trips(op: For) -> Iterator[Change]:
    for step in (1, -1):
        try:
            i = index(op.index.name, op.extent + step)
        except SymlayoutError:
            continue
        body = rewritten(op.inside, substitution({op.index: i}))
        yield f"trips {step:+}", replace(op, index=i, inside=body)
        if body != op.inside:
            yield f"trips {step:+}, inside as before", replace(op, index=i)


def _one_off(x: Any, _: Kernel) -> Iterator[Change]:
    yield from (("+1", x + 1), ("-1", x - 1))


def _natural(x: Any, kernel: Kernel) -> Iterator[Change]:
    yield from ((what, n) for what, n in _one_off(x, kernel) if n >= 0)


def _times(x: Any, kernel: Kernel) -> Iterator[Change]:
    yield from ((what, n) for what, n in _one_off(x, kernel) if n >= 1)


def _flipped(x: Any, _: Kernel) -> Iterator[Change]:
    yield "flipped", (not x) if isinstance(x, bool) else 1 - x


def _piece_off(x: Any, _: Kernel) -> Iterator[Change]:
    yield from ((f"{n:+}", x + n) for n in (PIECE_BYTES, -PIECE_BYTES))


def _if_any(make: Slip) -> Slip:
    """A change to an operand that an operation need not have."""

    def of(x: Any, kernel: Kernel) -> Iterator[Change]:
        yield from () if x is None else make(x, kernel)

    return of


def _warp_off(x: Any, kernel: Kernel) -> Iterator[Change]:
    """Threads at a barrier: a warp more or fewer; 0 stands for all of the CTA."""
    yield from ((f"{n:+}", (x or kernel.threads) + n) for n in (32, -32))


def _another(known: Iterable[str]) -> Slip:
    def make(x: str, _: Kernel) -> Iterator[Change]:
        yield from ((f"-> {y}", y) for y in known if y != x)

    return make


ALIKE = (("eq", "ne", "lt", "le", "gt", "ge"), ("and", "or", "xor"), ("shl", "shr"))


def _alike(word: str, _: Kernel) -> Iterator[Change]:
    """A comparison, a function of bits or a shift for another of its kind."""
    for group in ALIKE:
        yield from ((f"-> {y}", y) for y in group if word in group and y != word)


def _width(word: str, _: Kernel) -> Iterator[Change]:
    stem, dot, width = word.rpartition(".")
    if width.isdigit():
        others = (f"{stem}{dot}{n}" for n in (int(width) // 2, 2 * int(width)))
        yield from ((f"-> {w}", w) for w in others if w in ATOMS)


def _instead(word: str, _: Kernel) -> Iterator[Change]:
    """Another function of a reduction by threads, or a store in its place."""
    row = ATOMS[word]
    if row.reduction is None or row.extent is not Extent.INSTRUCTION:
        return
    for x in ATOMS.values():
        if x is not row and (x.src, x.dst, x.bytes, x.extent) == (row.src, row.dst, row.bytes, row.extent):
            yield f"-> {x.word}", x.word


def _place(x: Any, kernel: Kernel) -> Iterator[Change]:
    """An operand: its offset, slot or a coordinate one off, another map of the same rank, the next slot of a ring."""
    if isinstance(x, Ref):
        yield from ((f"offset {what}", replace(x, offset=n)) for what, n in _one_off(x.offset, kernel))
    elif isinstance(x, Matrix):
        yield from ((what, replace(x, start=new)) for what, new in _place(x.start, kernel))
    elif isinstance(x, Slot):
        yield from ((f"slot {what}", replace(x, slot=n)) for what, n in _one_off(x.slot, kernel))
        slots = kernel.barrier(x.barrier).slots
        if slots > 1:
            yield "the next slot", replace(x, slot=(x.slot + 1) % slots)
        for b in kernel.barriers:
            if b.name != x.barrier:
                yield f"of {b.name}", replace(x, barrier=b.name)
    elif isinstance(x, Box):
        for i, at in enumerate(x.coordinate):
            for what, n in _one_off(at, kernel):
                moved = (*x.coordinate[:i], n, *x.coordinate[i + 1 :])
                yield f"coordinate {i} {what}", replace(x, coordinate=moved)
        for m in kernel.maps:
            if m.name != x.tensor_map and m.tensor_map.rank == len(x.coordinate):
                yield f"of {m.name}", replace(x, tensor_map=m.name)


def _each(make: Slip) -> Slip:
    """A change to one entry of a tuple."""

    def of(xs: tuple[Any, ...], kernel: Kernel) -> Iterator[Change]:
        for i, x in enumerate(xs):
            for what, new in make(x, kernel):
                yield f"{i} {what}", (*xs[:i], new, *xs[i + 1 :])

    return of


def _policy(policy: CachePolicy, _: Kernel) -> Iterator[Change]:
    """Other cache policies, none, and one that reads through the cache which is not coherent."""
    yield "-> none", None
    yield from ((f"-> {new}", new) for new in (CachePolicy(nc=True), CachePolicy(l2="evict_last")) if new != policy)


def _halved(n: int, _: Kernel) -> Iterator[Change]:
    yield from ((f"-> {m}", m) for m in (n // 2, 2 * n) if m)


def _at_once(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """As many CTAs on an SM as were not asked for, which changes no value: there may be no room for them."""
    for n in (None, 2):
        if n != kernel.ctas_per_sm:
            yield f"CTAs an SM: {kernel.ctas_per_sm} -> {n}", replace(kernel, ctas_per_sm=n)


def _unrolled(way: Any, _: Kernel) -> Iterator[Change]:
    yield from ((f"-> {x}", x) for x in (None, UNROLLED) if x != way)


def _array(name: str, kernel: Kernel) -> Iterator[Change]:
    yield from ((f"-> {b.name}", b.name) for b in kernel.barriers if b.name != name)


def _fact(f: Fact, _: Kernel) -> Iterator[Change]:
    yield from ((f"{n:+}", Fact(f.expr + n, f.relation)) for n in (1, -1))


def _one_less(facts: tuple[Fact, ...], _: Kernel) -> Iterator[Change]:
    """Without one of some conditions."""
    for i, f in enumerate(facts):
        yield f"without {f}", (*facts[:i], *facts[i + 1 :])


_ON: dict[str, tuple[Slip, ...]] = {"barrier": (_place,)}
_SLIPS: dict[type[Op], dict[str, tuple[Slip, ...]]] = {
    Copy: {
        **{"src": (_place,), "dst": (_place,), "barrier": (_place,), "atom": (_width, _instead)},
        **{"bytes": (_if_any(_one_off), _if_any(_piece_off)), "cache": (_if_any(_policy),)},
        "when": (_each(_fact), _one_less),
    },
    PeerCopy: {
        **{"src": (_place,), "dst": (_place,), "peer": (_one_off,), "barrier": (_if_any(_place),)},
        "atom": (_another(tuple(sorted(WORDS))),),
    },
    PrefetchL2: {
        **{"src": (_place,), "bytes": (_if_any(_one_off), _if_any(_piece_off)), "cache": (_if_any(_policy),)},
    },
    Mma: {"a": (_place,), "b": (_place,), "acc": (_place,), "zero": (_flipped,)},
    Map: {"srcs": (_each(_place),), "dst": (_place,), "count": (_natural,), "function": (_alike,)},
    Fill: {"dst": (_place,), "count": (_natural,)},
    Init: {"array": (_array,)},
    Inval: {"array": (_array,)},
    Arrive: {**_ON, "scope": (_another(SCOPES),), "count": (_times,), "complete": (_flipped,)},
    CpAsyncArrive: {**_ON, "noinc": (_flipped,)},
    ExpectTx: {**_ON, "bytes": (_one_off, _piece_off)},
    Wait: {**_ON, "parity": (_one_off, _flipped), "scope": (_another(SCOPES),), "suspend_ns": (_if_any(_times),)},
    Barrier: {"number": (_natural,), "threads": (_warp_off,)},
    BarrierArrive: {"number": (_natural,), "threads": (_warp_off,)},
    ClusterArrive: {"relaxed": (_flipped,)},
    Fence: {"about": (_another(PROXIES),)},
    Commit: {"group": (_another(GROUPS),)},
    WaitGroup: {"group": (_another(GROUPS),), "pending": (_natural,), "read": (_flipped,)},
    If: {"condition": (_each(_fact),)},
    Elect: {"each_warp": (_flipped,), "by": (_another(ELECTIONS),)},
    Shuffle: {
        **{"src": (_place,), "dst": (_place,), "lane": (_one_off,), "count": (_natural,)},
        "mode": (_another(SHUFFLES),),
    },
    Reduce: {
        **{"src": (_place,), "dst": (_place,), "count": (_natural,), "lanes": (_halved,)},
        "function": (_another(FOLDS),),
    },
    Let: {"value": (_one_off,)},
    LoadIndex: {"src": (_place,)},
    For: {"unroll": (_unrolled,)},
    Role: {"first_warp": (_natural,), "warps": (_natural,)},
}

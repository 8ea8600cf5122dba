"""How an access uses the caches: hints that change no value, as PTX writes them.

    >>> CachePolicy.of("nc L1::no_allocate L2::evict_first L2::128B")
    CachePolicy(operator='', nc=True, l1='no_allocate', l2='evict_first', fetch_bytes=128)
    >>> print(LINES.refusal(CachePolicy(nc=True)))
    expected a cache policy of L2::evict_last, L2::evict_normal, got nc

PTX ISA: Cache Operators, Cache Eviction Priority Hints, createpolicy. A row of ``atoms`` says which of these words its
instruction takes. ``nc`` asks for more than speed: what it reads must not be written while the kernel runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import LayoutError

LOAD_OPERATORS = ("ca", "cg", "cs")  # in all caches, in L2 alone, likely once (PTX ISA, Cache Operators)
STORE_OPERATORS = ("wb", "cg", "cs", "wt")
L1_PRIORITIES = ("evict_normal", "evict_unchanged", "evict_first", "evict_last", "no_allocate")
L2_PRIORITIES = ("evict_first", "evict_last", "evict_normal", "evict_unchanged")  # of createpolicy.fractional
FETCHES = (64, 128, 256)  # bytes that L2 fetches at least, of the place that is asked for


@dataclass(frozen=True)
class CachePolicy:
    """A cache operator or an L1 priority, an L2 priority, and how many bytes L2 fetches at once; "" and 0 for none.

    ``nc`` reads through the non-coherent cache. Raises LayoutError for words that PTX does not have, and for an
    operator with an L1 priority, of which an instruction takes one.
    """

    operator: str = ""
    nc: bool = False
    l1: str = ""
    l2: str = ""
    fetch_bytes: int = 0

    def __post_init__(self) -> None:
        wrong = next((w for w in self.words if w not in _WORDS), None)
        if wrong is not None:
            raise LayoutError(f"expected words of a cache policy ({', '.join(_WORDS)}), got {wrong!r}")
        if self.operator and self.l1:
            raise LayoutError(f"expected a cache operator or an L1 priority, got both: {self}")

    @classmethod
    def of(cls, policy: str | CachePolicy) -> CachePolicy:
        """The policy that words say, in any order. Raises LayoutError for a word that there is not, or one twice."""
        if isinstance(policy, CachePolicy):
            return policy
        found: dict[str, str | bool | int] = {}
        for word in policy.split():
            if word not in _WORDS:
                raise LayoutError(f"expected words of a cache policy ({', '.join(_WORDS)}), got {word!r}")
            field, value = _WORDS[word]
            if field in found:
                raise LayoutError(f"expected one word for each cache of a policy, got {word} in {policy!r}")
            found[field] = value
        return cls(**found)  # type: ignore[arg-type]

    @property
    def words(self) -> tuple[str, ...]:
        """Its words, in the order of an instruction."""
        told = (
            self.operator,
            "nc" if self.nc else "",
            f"L1::{self.l1}" if self.l1 else "",
            f"L2::{self.l2}" if self.l2 else "",
            f"L2::{self.fetch_bytes}B" if self.fetch_bytes else "",
        )
        return tuple(filter(None, told))

    def __str__(self) -> str:
        return " ".join(self.words)


_WORDS: dict[str, tuple[str, str | bool | int]] = {
    **{w: ("operator", w) for w in dict.fromkeys((*LOAD_OPERATORS, *STORE_OPERATORS))},
    "nc": ("nc", True),
    **{f"L1::{w}": ("l1", w) for w in L1_PRIORITIES},
    **{f"L2::{w}": ("l2", w) for w in L2_PRIORITIES},
    **{f"L2::{n}B": ("fetch_bytes", n) for n in FETCHES},
}


@dataclass(frozen=True)
class Caching:
    """The words of cache policies that an instruction takes."""

    words: tuple[str, ...] = ()

    def refusal(self, policy: CachePolicy) -> str:
        """Why the instruction does not take a policy; "" where it does."""
        wrong = [w for w in policy.words if w not in self.words]
        return f"expected a cache policy of {', '.join(self.words) or 'no words'}, got {wrong[0]}" if wrong else ""

    def policies(self) -> Iterator[CachePolicy]:
        """Every policy of one word, and one of several."""
        for word in self.words:
            yield CachePolicy.of(word)
        last = {_WORDS[word][0]: word for word in self.words}
        if "l1" in last:  # or an operator
            last.pop("operator", None)
        if len(last) > 1:
            yield CachePolicy.of(" ".join(last.values()))


L1_WORDS = tuple(f"L1::{w}" for w in L1_PRIORITIES)
L2_WORDS = tuple(f"L2::{w}" for w in L2_PRIORITIES)
FETCH_WORDS = tuple(f"L2::{n}B" for n in FETCHES)

NOTHING = Caching()
LOADS = Caching((*LOAD_OPERATORS, "nc", *L1_WORDS, *L2_WORDS, *FETCH_WORDS))  # PTX ISA, ld and ld.global.nc
STORES = Caching((*STORE_OPERATORS, *L1_WORDS, *L2_WORDS))  # PTX ISA, st
IN_L2 = Caching(L2_WORDS)  # red, cp.async.bulk and its kind, bulk prefetches
LINES = Caching(("L2::evict_last", "L2::evict_normal"))  # PTX ISA, prefetch


def async_copies(nbytes: int) -> Caching:
    """cp.async: ``.cg`` only of 16 bytes (PTX ISA, cp.async)."""
    return Caching((*(("ca", "cg") if nbytes == 16 else ("ca",)), *L2_WORDS, *FETCH_WORDS))

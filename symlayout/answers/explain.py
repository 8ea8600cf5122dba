"""Explanations of the words in answers: kinds of claims, outcomes, methods, theorems, rules and certificates.

Those of predictions are in ``simulator.glossary``.

>>> print(explain("T3"))
T3 Mixed radix
  If in some order s_1 = 1 and s_(k+1) = n_k s_k, L is a bijection onto [0, n_1 ... n_r). Recombination: a value
  a + m*b with 0 <= a < m determines the pair (a, b).
"""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..errors import ClaimError
from ..text.reader import suggestion
from .outcome import Outcome
from .report import identifier
from .theorems import THEOREMS

OUTCOMES: Mapping[str, str] = {
    Outcome.PROVED.value: (
        "It holds for all sizes that meet the assumptions listed. The method says how; an algebraic proof carries"
        " a certificate that was verified before it counted, and that `symlayout check-certificate` verifies "
        "again."
    ),
    Outcome.REFUTED.value: (
        "It fails: the sizes and coordinates shown are the smallest found, and were replayed on plain integers. "
        "Where it says 'holds if', the claim was proved under that condition."
    ),
    Outcome.UNKNOWN.value: (
        "Neither proved nor refuted. It names the lemma that is open, how far sizes were tried, and facts that "
        "would close it. Checked up to a bound is never proved."
    ),
    Outcome.VACUOUS.value: "No sizes meet the assumptions, so there is nothing to prove; they contradict each other.",
}

METHODS = {
    "certificate": (
        "An algebraic proof as data: the claim as polynomials and the hints that make each step a plain identity."
        " A small checker that knows no solver and no layouts re-verifies it."
    ),
    "enumeration": "Every coordinate of a claim without symbols was looked at.",
    "a few coordinates": (
        "A claim with too many coordinates to enumerate fails by their number alone, at a corner, or where the modes "
        "show it; what fails was evaluated on plain integers."
    ),
    "small sizes": (
        "Sizes that meet the assumptions were tried in order of their sum, so the first failure is the least."
    ),
    "corners of large sizes": (
        "Sizes at the upper end of their ranges were tried, where overflows happen, then bisected."
    ),
    "solver": "Z3, whose version the verdict names, found that no sizes and coordinates violate the claim.",
    "digits and quotients": (
        "Coordinates of an index expression were counted by digits so that its quotients, minima and predicates become "
        "polynomials (T10, T18 to T20); the certificate says which."
    ),
    "the other modes move all lanes together": (
        "Symbolic modes shift every address by a multiple of the unit (T16), which leaves a question about numbers."
    ),
    "normal form": "Both sides have one normal form as polynomials with quotients.",
    "chain of strides": "Each stride exceeds the reach of those before it (T2).",
    "the same modes of coordinates": "Both sides take each coordinate to the same modes, compared one by one.",
    "rule by rule": (
        "Each rule of tensor maps and their copies that applies to the claim was proved by itself; "
        "`symlayout explain RULE` shows the rule and its source."
    ),
    "ranges of sizes and indices": (
        "Each partial result lies between numbers that the ranges of its sizes and indices give, and fits its bits."
    ),
    "sums of bytes": (
        "The bytes that an expect_tx awaits equal the sum of the bytes that its copies credit, for every iteration and "
        "every CTA of a cluster."
    ),
    "invariant of one slot": (
        "An invariant of a slot of a ring and of its two barriers is kept by every operation, in every interleaving: "
        "an induction over steps, whose lemmas about integers were proved."
    ),
    "symbolic clocks of all barriers": (
        "Each wait was shown to end by the arrivals that its use awaits, and none to wait for ever: an induction over "
        "the use numbers of all barriers, for all trip counts (checkers.clocks)."
    ),
    "orderings of": (
        "Each pair of accesses that must not overlap was found to be ordered by a rule of the memory model that is "
        "named; docs/memory_model.md lists the rules."
    ),
    "values followed through": (
        "The value of each stored element was followed from the loads on, and is that of the result (docs/values.md)."
    ),
    "operations, one by one": "Each operation was checked by itself; its requirements depend on no size.",
    "pairs of accesses": (
        "Two accesses to one element, of which one changes it, were found to be in order, for each such pair: by one "
        "thread, behind a barrier, in a ring, or at elements of their own. The reasons are named."
    ),
    "no access changes it, or all are one reduction": (
        "Nothing writes the tensor while others use it, or all that is done to it commutes."
    ),
    "the mask and the predicate are the same facts": "The pads of a view say what the predicate says, in one form.",
    "each fact from the others": (
        "Each fact of a mask follows from the predicate, and each fact of the predicate from the mask (T9)."
    ),
    "aligned runs through each transform": (
        "Each coordinate transform takes the lanes of a vector to lanes one step apart, under one validity, since the "
        "vector divides the lengths, pads and starts that its lemma names (T12)."
    ),
    "each lane from the first": (
        "The facts under which each lane is valid follow from those of the first lane, and the other way round (T9)."
    ),
    "the steps add up": (
        "In every hidden dimension the index that is moved is the index that is made anew, by normal form."
    ),
    "two stretches": "The stores of one stretch of memory and those of the next were judged apart (T21).",
}

# Other names under which verdicts print a kind of claim.
ALSO = {
    "tma_copy_safe": ("TMA load safe", "TMA store safe", "TMA reduce safe"),
    "obeys": ("rule",),
}

OBLIGATIONS = {
    "in domain": (
        "A tile or operand may reach past the domain of a layout. It joins every claim about the result, and is "
        "met by the divisibility that it names, or in bounds by a predicate that masks the overhang."
    ),
    "exact": (
        "The result of an operation is the function asked for only under this condition. It joins every claim "
        "about the result, and no predicate can replace it."
    ),
}

GLOBAL_MEMORY = {
    "global order": (
        "No two accesses to an element of a tensor in global memory race: they are of one thread, ordered by "
        "synchronisation in their CTA, or never at one element. CTAs wait for no other CTA. The claim is about tensors "
        "that are written, and also read, reduced into or perhaps at the address of another. A refutation names an "
        "element, two operations and their threads."
    ),
    "align_bytes": (
        "The alignment of the base pointer of a tensor in global memory, by default 16. Vector accesses, bulk copies "
        "and tensor maps depend on it; a launch is checked for it."
    ),
    "const": "The kernel writes no byte of the tensor; that no operation does is part of 'well formed'.",
    "may_alias": (
        "Tensors in global memory that may be at one address, as in an update in place, or else share no byte. All "
        "others share none with a tensor that is written. Claims that take tensors to be apart are left open where "
        "they may not be; a launch is checked for it."
    ),
}


RULES_OF = "rules of"  # groups of rules begin so
WAITS = "what roles wait for"  # a group of entries; reports append a name of the kernel to some, as in "mbarrier full"


@dataclass(frozen=True)
class Entry:
    """A word that answers use, and what it means."""

    group: str
    name: str
    title: str
    text: str

    def __str__(self) -> str:
        head = f"{self.name} {self.title}".strip()
        return "\n".join([head, *(f"  {line}".rstrip() for line in self.text.splitlines())])


def entries(kinds: Iterable[Any] = ()) -> tuple[Entry, ...]:
    """All that can be explained; *kinds* are the rows of ``checkers.claim_text``, and classes of other claims."""
    claims = [
        Entry(_group(k), identifier(k), "", inspect.getdoc(k) or "")
        if isinstance(k, type)
        else Entry("claims", k.name, "", _claim_text(k))
        for k in kinds
    ]
    return (*claims, *_of_all_answers())


def _group(kind: type) -> str:
    """What the claims of a class are about, by the room that it is in."""
    return "claims about views of CK Tile" if ".ck_tile." in kind.__module__ else "claims about kernels"


@functools.cache
def _of_all_answers() -> tuple[Entry, ...]:
    """Explanations that do not depend on claims; their text takes most of the time that an explanation needs."""
    rows: Mapping[str, Mapping[str, str]] = {
        "outcomes": OUTCOMES,
        "obligations": OBLIGATIONS,
        "methods": METHODS,
        "global memory": GLOBAL_MEMORY,
    }
    plain = [Entry(group, name, "", filled(text)) for group, row in rows.items() for name, text in row.items()]
    theorems = [Entry("theorems", t.name, t.title if t.number else "", filled(t.text)) for t in THEOREMS]
    return (*plain, *theorems, *_rules())


def filled(text: str) -> str:
    """The text of an entry, its paragraphs in lines."""
    return "\n".join(
        textwrap.fill(" ".join(p.split()), 110, break_on_hyphens=False) for p in text.strip().split("\n\n")
    )


def _rules() -> Iterable[Entry]:
    from ..rules.catalogue import SECTIONS, described, rows

    for table, about in SECTIONS.items():
        for rule in rows(table):
            text = "\n".join(map(filled, described(rule).splitlines()))
            yield Entry(f"{RULES_OF} {about}", rule.id, "", text)


def _claim_text(kind: Any) -> str:
    """The sentence of a kind with its example, what it takes, and how a comment states it."""
    first, *others = kind.first
    own = [f for f in kind.fields if f.name not in kind.first]
    values = [f"{f.name} {f.name.upper()}" if f.required else f"[{f.name} {f.name.upper()}]" for f in own]
    usage = " ".join([kind.name, first.upper(), *(f"and {name.upper()}" for name in others), *values])
    return f"{kind.text}\n\nfields: {', '.join(map(str, kind.fields))}\n// symlayout: {usage}"


def explain(name: str, kinds: Iterable[Any] = (), others: Iterable[Entry] = ()) -> Entry:
    """The entry of a name, a title or a method as a verdict prints it. Raises ClaimError for what has none.

    *others* are entries of further answers, such as predictions (``simulator.glossary``). Among these an exact name
    comes before one that differs in case or blanks. Where a rule and a number have one name, the entry has both texts.
    """
    name = re.sub(r" and \d+ more$", "", name)  # as ranges name a group of numbers
    others = sorted(others, key=lambda e: e.name != name)
    known = (*entries(kinds), *others)
    wanted = {_key(name), *map(_key, re.findall(r"\bT\d+\b", name))} - {""}
    for e in known:
        if {_key(e.name), _key(e.title), *map(_key, ALSO.get(e.name, ()))} & wanted:
            also = [o.text for o in others if o.name == e.name and o is not e]
            return replace(e, text="\n".join([e.text, *also]))
    printed = _printed(name, known)
    if printed is not None:
        return printed
    if name.upper().startswith("Z3"):
        return explain("solver")
    near = suggestion(name, [e.name for e in known])
    raise ClaimError(f"expected a word that an answer uses, got {name!r}{near}; symlayout explain lists all of them")


def _printed(name: str, known: Iterable[Entry]) -> Entry | None:
    """The entry of a method or kind as a verdict prints it, with numbers in it: "4 orderings of ptx-9.1 subset 4"."""
    said = _key(re.sub(r"\d+", "", name))
    found = [e for e in known if e.group == "methods" and _key(e.name) in said]
    found += [e for e in known if e.group.startswith(("claims", WAITS)) and said.startswith(_key(e.name))]
    return max(found, key=lambda e: len(e.name), default=None)


def _key(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def overview(kinds: Iterable[Any] = (), others: Iterable[Entry] = ()) -> str:
    """The names of everything that can be explained, by group."""
    known = (*entries(kinds), *others)
    lines = []
    for group in dict.fromkeys(e.group for e in known):
        lines += [group, *(f"  {f'{e.name} {e.title}'.strip()}" for e in known if e.group == group)]
    return "\n".join(lines)


# -- certificates -----------------------------------------------------------------------------------------


def in_words(claim: Any) -> str:
    """The sentence of a certificate's claim, from its own data alone; the certificate need not hold.

    >>> in_words({"kind": "injective", "modes": [[4, 1], [[[1, "N"]], 4]], "assume": [[[1, "N"], [-1]]]})
    '(4,N):(1,4) is injective, where 1 <= N'
    """
    try:
        return _sentence(claim)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError):
        return "a claim that cannot be read"


def _sentence(claim: Mapping[str, Any]) -> str:
    names = {name: f"q{i}" for i, name in enumerate(claim.get("define", {}))}
    said = SENTENCES[claim["kind"]](claim, names)
    meant = [f"{names[n]} = {_definition(d, names)}" for n, d in claim.get("define", {}).items()]
    known = ", ".join([*meant, *_relations(claim.get("assume", ()), names)])
    return f"{said}, where {known}" if known else said


def _poly(rows: Any, names: Mapping[str, str]) -> str:
    """A polynomial of a certificate as text, a positive term first where there is one, as expressions have it."""
    out = ""
    terms: Any = [[rows]] if type(rows) is int else rows
    first = next((i for i, (c, *_) in enumerate(terms) if c > 0), 0)
    for c, *factors in (*terms[first : first + 1], *terms[:first], *terms[first + 1 :]):
        word = "*".join([str(abs(c))] * (abs(c) != 1 or not factors) + [names.get(f, f) for f in factors])
        out += (f" - {word}" if c < 0 else f" + {word}") if out else ("-" if c < 0 else "") + word
    return out or "0"


def _relations(assumed: Iterable[Any], names: Mapping[str, str]) -> list[str]:
    """Assumptions p >= 0 as relations, those that bound one name in one."""
    low: dict[str, int] = {}
    high: dict[str, int] = {}
    others: list[str] = []
    for rows in assumed:
        terms: Any = [[rows]] if type(rows) is int else list(rows)
        left, right = [t for t in terms if t[0] > 0], [[-t[0], *t[1:]] for t in terms if t[0] < 0]
        match left, right:
            case [[1, name]], [] | [[int()]]:
                low[name] = max(low.get(name, 0), right[0][0] if right else 0)
            case [[c]], [[1, name]]:
                high[name] = min(high.get(name, c), c)
            case _:
                others.append(f"{_poly(left, names)} >= {_poly(right, names)}")
    ranges = [
        f"{f'{low[n]} <= ' if n in low else ''}{names.get(n, n)}{f' <= {high[n]}' if n in high else ''}"
        for n in dict.fromkeys((*low, *high))
    ]
    return [*ranges, *dict.fromkeys(others)]


def _definition(d: Any, names: Mapping[str, str]) -> str:
    op, *args = d
    texts = [_poly(a, names) for a in args]
    if op == "floordiv":
        return "//".join(t if re.fullmatch(r"\w+", t) else f"({t})" for t in texts)
    if op == "xor":
        return " ^ ".join(f"({t})" if " " in t else t for t in texts)
    return f"{'min' if op == 'minimum' else 'max'}({', '.join(texts)})"


def _modes(modes: Any, names: Mapping[str, str], base: Any = 0) -> str:
    extents, strides = ([_poly(m[i], names) for m in modes] for i in (0, 1))
    layout = f"({','.join(extents)}):({','.join(strides)})"
    return layout if base in (0, []) else f"{_poly(base, names)} + {layout}"


def _swizzled(c: Any, n: Mapping[str, str]) -> str:
    sw = c.get("swizzle", (0, 0, 0))
    return f"Sw<{sw[0]},{sw[1]},{sw[2]}> o 0 o {_modes(c['modes'], n)}" if sw[0] else _modes(c["modes"], n)


def _map(c: Any, n: Mapping[str, str]) -> str:
    names = {**n, **{x: x.strip("[]") for x, _ in c["coords"]}}
    atoms = c.get("atoms", ())
    names |= {a: f"a{i}" for i, (a, *_) in enumerate(atoms)}
    box = ", ".join(f"{names[x]} < {_poly(extent, names)}" for x, extent in c["coords"])
    when = " and ".join(_relations([p], names)[0] for p in c.get("valid", ()))
    meant = ", ".join(f"{names[a]} = {_definition(d, names)}" for a, *d in atoms)
    said = (
        f"({','.join(names[x] for x, _ in c['coords'])}) -> ({','.join(_poly(v, names) for v in c['value'])}) for {box}"
    )
    said += (f" when {when}" if when else "") + (f" with {meant}" if meant else "")
    if c["says"] == "bijective":
        return f"{said} is a bijection onto ({','.join(_poly(p, n) for p in c['onto'])})"
    if c["says"] == "injective":
        return f"{said} is injective"
    ends = zip(c["low"], c["high"], strict=True)
    return f"{said} lies in {' x '.join(f'[{_poly(a, n)}, {_poly(b, n)}]' for a, b in ends)}, both ends included"


SENTENCES: Mapping[str, Callable[[Any, Mapping[str, str]], str]] = {
    "nonneg": lambda c, n: f"{_poly(c['poly'], n)} >= 0",
    "injective": lambda c, n: f"{_modes(c['modes'], n)} is injective",
    "bijective": lambda c, n: f"{_modes(c['modes'], n)} is a bijection onto [0, {_poly(c['onto'], n)})",
    "bounds": lambda c, n: (
        f"{_modes(c['modes'], n, c['base'])} lies in [{_poly(c['low'], n)}, {_poly(c['high'], n)}], both ends included"
    ),
    "covers": lambda c, n: f"{_modes(c['modes'], n)} reaches every value of [0, {_poly(c['onto'], n)})",
    "divmod": lambda c, n: (
        f"({_poly(c['p'], n)})//({_poly(c['d'], n)}) == {_poly(c['q'], n)} and the remainder is {_poly(c['r'], n)}"
    ),
    "equal": lambda c, n: f"{_modes(c['a'], n, c['base_a'])} and {_modes(c['b'], n, c['base_b'])} are one function",
    "divisible": lambda c, n: f"{c['modulus']} divides every value of {_modes(c['modes'], n, c['base'])}",
    "f2": lambda c, n: f"{_swizzled(c, n)} is injective",
    "map": _map,
    "all": lambda c, n: f"{'; '.join(map(_sentence, c['parts']))} ({c.get('because', 'together')})",
}

"""The names of sizes, quotients and extrema of a statement in a proof, with their lemmas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from symlayout.address_map import AddressMap
from symlayout.expr import Expr, Quotient, Symbol, substitute, terms_of
from symlayout.facts import Facts, inner_first, opaque_atoms
from symlayout.facts.assumptions import _solved, part, through
from symlayout.int_tuple import leaves

from ...algebra.certificates import Certificate
from ...algebra.subject_form import map_facts
from ...claim import Claim
from ..certificate_json import Setting, hint, poly
from .write import polys


class Moved(NamedTuple):
    """A quotient or extremum of the coordinates of a statement: its arguments and its value in those of the proof."""

    atom: Any
    args: tuple[Any, ...]
    value: Any


def quotients(claim: Claim, moved: Iterable[tuple[Symbol, Any]]) -> list[Moved]:
    """The quotients and extrema of a statement that rest on coordinates, each after those inside it."""
    env = dict(moved)
    every = inner_first(opaque_atoms(*polys(claim, graphs=True))) if env else []
    mine = [a for a in every if set(env) & set(a.symbols)]
    return [Moved(a, tuple(substitute(x, env) for x in a.args), substitute(a, env)) for a in mine]


def rewriting(
    claim: Claim,
    facts: Facts,
    certificate: Certificate,
    asked: tuple[Any, ...] = (),
    moved: Sequence[Moved] = (),
) -> dict[str, Any]:
    """Sizes, quotients and extrema of a statement in a proof, with hints; empty parts are left out.

    *asked* are expressions that must be at least 0 besides those of the kind of claim; *moved* are quotients of other
    coordinates, in those of the claim.
    """
    if claim.static() and not moved and not opaque_atoms(*polys(claim)):
        return {}
    subject = next((x for x in claim.subjects() if isinstance(x, AddressMap)), None)
    inner = certificate["claim"]
    plain = inner["kind"] == "divisible" and not inner["modes"]  # the bare expression, with no digits
    known = facts if subject is None or plain else map_facts(subject, facts)
    atoms = inner_first(opaque_atoms(*polys(claim)))
    by_form = {a: through(facts.let, a) for a in atoms}
    coords = set(subject.coords) if subject is not None else set()
    own = [a for a in atoms if not coords & set(a.symbols)]  # the others are about a point
    resolved = {a: (facts if a in own else known).normal(a) for a in atoms} if not _in_map(inner) else by_form
    counts = _counts(claim, facts, _in_map(inner))
    lemmas = [facts.normal(p) for p in (*_asked(claim), *asked)]
    divisors = [known.normal(d - 1) for d in (subject.divisors if subject is not None else ())]
    there = [known.normal(x.value) for x in moved]
    setting = _setting(facts, [*(by_form[a] for a in own), *(resolved[a] for a in own), *counts, *lemmas])
    points = _setting(known, [*by_form.values(), *resolved.values(), *there, *divisors]) if coords else setting
    every = [*by_form.values(), *resolved.values(), *counts, *(r.poly for r in known.rows)]
    out: dict[str, Any] = {
        "let": [[s.name, poly(e)] for s, e in _steps(facts)],
        "names": {a.key: [a.op, *map(poly, a.args)] for a in inner_first(opaque_atoms(*every))},
        "rows": {a.key: poly(e) for a, e in by_form.items() if e is not a},
        "goal": [
            [a.key, poly(e), *_why(a, e, resolved, facts, setting if a in own else points)]
            for a, e in resolved.items()
            if e is not by_form[a] and e != by_form[a]
        ]
        + [[x.atom.key, poly(e), *_moved_why(x, e, known, points)] for x, e in zip(moved, there, strict=True)],
        "counts": [[poly(c), *why] for c, why in zip(counts, _tiles(claim, counts, facts, setting), strict=True)],
        "lemmas": [[poly(p), why] for p in lemmas if (why := _shown(setting, p)) is not None],
        "divisors": [_shown(points, p) for p in divisors],
    }
    out = {k: v for k, v in out.items() if v}
    if any(k in out for k in ("goal", "counts", "lemmas")):
        out["world"] = _assumed(setting)
    if any(k in out for k in ("goal", "divisors")) and coords:
        out["points"] = _assumed(points)
    return out


def _assumed(setting: Setting) -> dict[str, Any]:
    """The premises of hints."""
    return {k: v for k, v in setting.claim("world").items() if k != "kind"}


def _setting(facts: Facts, polys: list[Any]) -> Setting:
    """The premises of lemmas, without quotients whose divisor is not shown to be at least 1: no lemma covers these."""
    out = Setting.of(facts, *polys)
    if out.usable:
        return out
    unsafe = {a for a in out.atoms if isinstance(a, Quotient) and isinstance(a.args[1], Expr)}
    unsafe = {a for a in unsafe if a.key not in out.positive}
    return Setting.of(facts, *(p for p in polys if not unsafe & set(opaque_atoms(p))))


def _in_map(inner: Mapping[str, Any]) -> bool:
    """Whether a proof is about digits of an index expression, whose quotients stand as they are."""
    return inner["kind"] == "map"


def _steps(facts: Facts) -> list[tuple[Symbol, Any]]:
    """The substitutions of facts, each as it was made: see ``symlayout.facts.assumptions.substitutions``."""
    let: dict[Symbol, Any] = {}
    out: list[tuple[Symbol, Any]] = []

    def define(s: Symbol, value: Any) -> None:
        for k, v in let.items():
            let[k] = through({s: value}, v)
        let[s] = value
        out.append((s, value))

    for f in facts.given:
        solved = _solved(through(let, f.expr)) if f.relation == "==" else None
        if solved is not None:
            define(*solved)
    for s, value in facts.let.items():
        ((m, c), *more) = terms_of(value).items()
        if s not in let and not more and len(m) == 1 and m[0] is part(s, c):
            define(s, value)
    return out


def _why(a: Any, e: Any, images: Mapping[Any, Any], facts: Facts, setting: Setting) -> list[Any]:
    """The lemmas that a quotient or extremum is *e*, as far as they are found."""
    args = [_put(x, images, facts) for x in a.args]
    if a.op == "floordiv":
        rest = args[0] - args[1] * e
        return [_shown(setting, rest), _shown(setting, args[1] - 1 - rest)]
    sign = 1 if a.op == "minimum" else -1
    return [_shown(setting, sign * (x - e)) for x in args] if a.op in ("minimum", "maximum") else []


def _moved_why(x: Moved, e: Any, known: Facts, setting: Setting) -> list[Any]:
    """The lemmas that a quotient of other coordinates is *e*."""
    if x.atom.op != "floordiv":
        return []
    p, d = (known.normal(y) for y in x.args)
    return [_shown(setting, p - d * e), _shown(setting, d - 1 - (p - d * e))]


def _put(x: Any, images: Mapping[Any, Any], facts: Facts) -> Any:
    """A polynomial with the images of its quotients and extrema, and of its sizes."""
    out: Any = 0
    for m, c in terms_of(x).items():
        term: Any = c
        for b in m:
            term = term * (images.get(b, facts.let.get(b, b)) if isinstance(b, Symbol) else images[b])
        out = out + term
    return out


def _shown(setting: Setting, p: Any) -> Any:
    if type(p) is int:
        return None
    found = setting.facts.nonneg(p)
    return None if found is None else hint(found)


def _asked(claim: Claim) -> list[Any]:
    """Expressions that must be at least 0 for a count: extents, or extents less one."""
    kind = type(claim).__name__
    x = claim.subjects()[0] if claim.subjects() else None
    if kind not in ("Bijective", "Partition", "Surjective", "Covers", "Multiplicity") or x is None:
        return []
    extents = [*leaves(x.shape)]
    onto = [*leaves(getattr(claim, "counts", getattr(claim, "onto", ())))]
    return [*extents, *onto, *(n - 1 for n in extents)]


def _counts(claim: Claim, facts: Facts, moved: bool) -> list[Any]:
    """The number of tiles of each mode, as the proof has it."""
    if type(claim).__name__ != "Covers":
        return []
    every = leaves(claim.counts)  # type: ignore[attr-defined]
    found = [through(facts.let, n) if moved else facts.normal(n) for n in every]
    return found if any(isinstance(n, Expr) for n in found) else []


def _tiles(claim: Any, counts: list[Any], known: Facts, setting: Setting) -> list[Any]:
    if not counts:
        return []
    pairs = zip(leaves(claim.domain), leaves(claim.tile), counts, strict=True)
    over = [(known.normal(t), known.normal(t) * c - known.normal(n)) for n, t, c in pairs]
    return [[_shown(setting, p), _shown(setting, t - 1 - p)] for t, p in over]

"""composition(A, B): the layout of c -> A(B(c)), with the exactness of every step accounted for.

CuTe accepts a tile that does not divide a mode and keeps its overhang inside that mode; the result is then
not always A(B(c)). Here a result is either that function, or it is refused with the first coordinate that
differs, or it carries the obligation under which it is right. ``mode="cute"`` gives CuTe's own answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .algebra import Modes, coalesce, coalesce_extended, from_modes
from .basis import ScaledBasis, as_arithmetic, as_tuple, basis_get, is_basis
from .codomain import coprofile
from .coordinates import checked_coordinate, idx2crd
from .errors import InexactError, LayoutError
from .expr import Expr, at_least
from .facts import NOTHING, Facts
from .int_tuple import IntTuple, is_one, is_zero, leaves, product, rank, text
from .layout import (
    ComposedLayout,
    Layout,
    LayoutLike,
    expect_layouts,
    is_layout,
    make_raw,
    slice_layout,
    with_obligations,
)
from .linear_moves import through_layout
from .members import members
from .meter import ends
from .obligations import EXACT, NONE, Obligation, Obligations, exact, in_domain
from .swizzle import Swizzle, compose_swizzles

ENUMERATED = 1 << 22  # points up to which an unproved static composition is decided by evaluation


@members.defines
@ends
def composition(a: Any, b: Any, mode: str = "exact") -> Any:
    """The layout of c -> a(b(c)), with the profile of *b*.

        composition((6,2):(8,2), (4,3):(3,1))  ->  ((2,2),3):((24,2),8)

    *b* is a layout, an integer n (n:1), None (no change) or a tuple of these, applied by mode; modes of *a*
    beyond a tuple are dropped, as in CuTe. Where *b* reaches past the domain of *a* the result carries an
    ``in domain`` obligation. Raises InexactError, naming the first coordinate that differs, where the result
    inside the domain would not be the composition; ``mode="cute"`` accepts what CuTe accepts.
    """
    if mode not in ("exact", "cute"):
        raise LayoutError(f'expected mode "exact" or "cute", got {mode!r}')
    if b is None:
        return a
    if isinstance(a, Swizzle):
        return _swizzle_of(a, b)
    expect_layouts(a)
    if isinstance(a, ComposedLayout):
        if isinstance(b, Swizzle):
            raise LayoutError(f"expected a layout to compose {a} with, got {b}")
        return ComposedLayout(a.outer, a.offset, composition(a.inner, b, mode))
    if isinstance(b, Layout):
        return _compose(a, b, mode)
    if isinstance(b, tuple | list):
        return _by_mode(a, tuple(b), mode)
    if isinstance(b, Swizzle):
        return through_layout(a, b)
    if isinstance(b, ComposedLayout):
        return ComposedLayout(a, 0, b)
    return _compose(a, Layout(b, 1), mode)


def _swizzle_of(sw: Swizzle, b: Any) -> Any:
    if isinstance(b, Swizzle):
        return compose_swizzles(sw, b)
    if isinstance(b, Layout):
        return ComposedLayout(sw, 0, b) if sw.bits else b
    raise LayoutError(f"expected a layout or a swizzle inside {sw}, got {b}; merge swizzles first")


def _by_mode(a: Layout, tilers: tuple[Any, ...], mode: str) -> Layout:
    if len(tilers) > rank(a):
        raise LayoutError(f"expected at most {rank(a)} tilers for {a}, got {len(tilers)}")
    parts = [composition(a[i], t, mode) for i, t in enumerate(tilers)]
    if any(isinstance(p, ComposedLayout) for p in parts):
        raise LayoutError(f"expected plain layouts as tilers of {a}, got a composed one")
    obligations = a.obligations
    for p in parts:
        obligations |= p.obligations
    return make_raw(tuple(p.shape for p in parts), tuple(p.stride for p in parts), obligations)


def _compose(a: Layout, b: Layout, mode: str) -> Layout:
    if b.has_bases:
        return _compose_by_basis(a, b, mode)
    static = _all_numbers(a) and _all_numbers(b)
    run = _Static(a) if static else _Symbolic(a, b)
    run.as_cute = mode == "cute"
    shape, stride = run.walk(b.shape, b.stride)
    obligations = a.obligations | b.obligations
    out = make_raw(shape, stride, obligations)
    if mode == "cute":
        return out
    found = run.finish(out, b)
    return with_obligations(out, found) if found else out


def _all_numbers(x: Layout) -> bool:
    """Whether every extent and stride is a number, or a number along a coordinate."""
    for n, d in x.modes():
        if isinstance(n, Expr) or (type(d) is not int and isinstance(getattr(d, "value", d), Expr)):
            return False
    return True


# -- plain numbers --------------------------------------------------------------------------------------


class _Static:
    """CuTe's algorithm on numbers; remembers whether every step was exact and what each mode took."""

    def __init__(self, a: Layout) -> None:
        self.a = a
        self.modes = coalesce_extended(a.modes())
        self.inner = self.modes[:-1]
        self.last = self.modes[-1][1]
        self.taken = [0] * len(self.inner)
        self.steps_exact = True
        self.as_cute = False  # whether to refuse what CuTe refuses
        self.leaves = 0

    def walk(self, shape: IntTuple, stride: IntTuple) -> tuple[IntTuple, IntTuple]:
        if isinstance(shape, tuple):
            parts = [self.walk(s, d) for s, d in zip(shape, stride, strict=True)]
            return tuple(p[0] for p in parts), tuple(p[1] for p in parts)
        self.leaves += 1
        if is_zero(stride):
            return shape, 0
        if not self.inner:
            return shape, stride * self.last
        return self.leaf(shape, stride)

    def leaf(self, n: int, d: int) -> tuple[IntTuple, IntTuple]:
        rest, step, sign = n, abs(d), 1 if d > 0 else -1
        out: Modes = []
        for i, (s, e) in enumerate(self.inner):
            if step % s == 0:
                step //= s
                continue
            last = all(t == 1 for t, _ in self.modes[i + 1 :])  # where CuTe has no further modes
            if step > s and n == 1 and (last or not self.as_cute):  # it moves nothing: every stride is exact
                return 1, sign * step * e
            if step > s:
                raise self._unsplittable(n, d, f"stride {step} neither divides nor is divided by the extent {s}")
            have = -(-s // step)
            if rest == 1:
                step = -(-step // s)
                continue
            if s % step and (rest - 1) * step >= s:
                self.steps_exact = False
            t = min(have, rest)
            if rest % t:
                raise self._unsplittable(
                    n, d, f"{rest} elements do not split into runs of {t} (extent {s}, stride {step})"
                )
            self.taken[i] += (t - 1) * step
            out.append((t, sign * step * e))
            rest //= t
            step = 1
        if rest != 1 or not out:
            out.append((rest, sign * step * self.last))
        r = from_modes(out)
        return r.shape, r.stride

    def _unsplittable(self, n: int, d: int, why: str) -> InexactError:
        first = ""
        limit = self.a.size()
        for i in range(min(n, 4096)):
            if (
                abs(i * d) < limit
                and d > 0
                and not is_basis(self.a(0))
                and self.a(i * d) != i * self.a(d if n > 1 else 0)
            ):
                first = f"; A(B({i})) = {self.a(i * d)} is not {i} times A(B(1)) = {self.a(d)}"
                break
        return InexactError(f"expected a layout for ({self.a}) o ({n}:{d}), got none: {why}{first}")

    def finish(self, out: Layout, b: Layout) -> Obligations:
        size = self.a.size()
        low = high = 0
        for n, d in b.modes():
            if d > 0:
                high += (n - 1) * d
            else:
                low += (n - 1) * d
        # Exact where every step is and no leaf carries into the digits of another (both needed with several).
        additive = self.leaves < 2 or all(t < s for t, (s, _) in zip(self.taken, self.inner, strict=True))
        if not (self.steps_exact and additive and low == 0) or (low < 0):
            self._verify(out, b, size)
        if low < 0:
            return Obligations((Obligation("in domain", (at_least(low, 0),), "false"),))
        return in_domain(high + 1, size, NOTHING) if high >= size else NONE

    def _verify(self, out: Layout, b: Layout, size: int) -> None:
        """Evaluate; raise at the first coordinate inside the domain that differs."""
        if out.size() > ENUMERATED:
            raise InexactError(
                f"expected an exact composition, got ({self.a}) o ({b}) with {out.size()} points, whose steps carry "
                f'and which are too many to compare; use mode="cute" to accept it unchecked'
            )
        at = b.offsets()
        inside = np.flatnonzero((at >= 0) & (at < size))
        wanted = _values(self.a, at[inside], self.a)
        got = _values(out, inside, self.a)
        wrong = np.flatnonzero((wanted != got).reshape(len(inside), -1).any(axis=1))
        if len(wrong):
            i = int(inside[wrong[0]])
            c = idx2crd(i, b.shape)
            raise InexactError(
                f"expected A(B(c)) for ({self.a}) o ({b}), got a layout that differs at c = {text(c)}: "
                f"A(B(c)) = A({b(c)}) = {self.a(b(c))}, but {out} gives {out(c)}"
            )


def _values(x: Layout, at: np.ndarray[Any, Any], like: Layout) -> Any:
    """The values at linear indices as an array; coordinates as rows, in the profile of the codomain of *like*."""
    if like.has_bases:
        zero = as_arithmetic(coprofile(like))
        return np.array([leaves(as_tuple(zero + x(int(i)))) for i in at], dtype=object)
    rest = at if max(x.size(), x.cosize()) < 2**62 else at.astype(object)
    out = 0 * rest
    *inner, (_, last) = x.modes() or [(1, 0)]
    for n, d in inner:
        out, rest = out + rest % n * d, rest // n
    return out + rest * last


# -- symbols --------------------------------------------------------------------------------------------


class _Symbolic(_Static):
    """The same algorithm where facts decide the steps; what they leave open becomes an obligation."""

    def __init__(self, a: Layout, b: Layout) -> None:
        super().__init__(a)
        self.facts = Facts.about(a, b)
        self.open: Obligations = NONE
        self.taken: list[Any] = [0] * len(self.inner)

    def leaf(self, n: Any, d: Any) -> tuple[IntTuple, IntTuple]:
        know = self.facts
        rest, step = n, d
        out: Modes = []
        for i, (s, e) in enumerate(self.inner):
            if is_one(rest):
                break
            skipped = know.quotient(step, s)
            if skipped is not None:
                step = skipped
                continue
            have = know.quotient(s, step)
            more = None if have is None or know.le(rest, have) else know.quotient(rest, have)
            if have is not None and more is not None:
                out.append((have, step * e))
                self.taken[i] = self.taken[i] + s - step
                rest, step = more, 1
                continue
            self._require((rest - 1) * step, s - 1, n, d)
            out.append((rest, step * e))
            self.taken[i] = self.taken[i] + (rest - 1) * step
            rest = 1
        if not is_one(rest) or not out:
            out.append((rest, step * self.last))
        r = from_modes(out)
        return r.shape, r.stride

    def _require(self, low: Any, high: Any, n: Any, d: Any) -> None:
        """low <= high, or an obligation; refused where it fails for all sizes."""
        if self.facts.le(low, high) is False:
            raise InexactError(
                f"expected a layout for ({self.a}) o ({n}:{d}), got none: {low} > {high} for all sizes, "
                "so the elements leave their mode without dividing it"
            )
        self.open |= exact(at_least(high, low), self.facts)

    def finish(self, out: Layout, b: Layout) -> Obligations:
        found = self.open
        if self.leaves > 1:
            for t, (s, _) in zip(self.taken, self.inner, strict=True):
                found |= exact(at_least(s - 1, t), self.facts)
        high: Any = 0
        for n, d in b.modes():
            found |= exact(at_least(d, 0), self.facts)
            high = high + (n - 1) * d
        if any(o.kind == EXACT and False in [self.facts.holds(f) for f in o.facts] for o in found):
            raise InexactError(
                f"expected A(B(c)) for ({self.a}) o ({b}), got {out}, whose digits carry at every size: {found}"
            )
        return found | in_domain(high + 1, self.a.size(), self.facts)


# -- strides that pick a mode ---------------------------------------------------------------------------


def _compose_by_basis(a: Layout, b: Layout, mode: str) -> Layout:
    """Each leaf v@path of *b* composes the mode of *a* at that path with stride v."""
    by_path: dict[tuple[int, ...], list[tuple[Any, Any]]] = {}

    def walk(s: IntTuple, d: IntTuple) -> tuple[IntTuple, IntTuple]:
        if isinstance(s, tuple):
            parts = [walk(x, y) for x, y in zip(s, d, strict=True)]
            return tuple(p[0] for p in parts), tuple(p[1] for p in parts)
        if not isinstance(d, ScaledBasis):
            if is_zero(d):
                return s, 0
            raise LayoutError(f"expected basis strides or 0 in {b}, got {d}")
        by_path.setdefault(d.path, []).append((s, d.value))
        r = _compose(coalesce(_mode_at(a, d, b)), make_raw(s, d.value), "cute")
        return r.shape, r.stride

    shape, stride = walk(b.shape, b.stride)
    out = make_raw(shape, stride, a.obligations | b.obligations)
    if mode == "cute":
        return out
    for path, leaves_of_mode in by_path.items():
        part = coalesce(_mode_at(a, ScaledBasis(1, path), b))
        checked = _compose(part, from_modes(leaves_of_mode), "exact")
        out = with_obligations(out, checked.obligations)
    return out


def _mode_at(a: Layout, d: ScaledBasis, b: Layout) -> Layout:
    try:
        found = basis_get(d, a)
    except LayoutError:
        raise LayoutError(f"expected a mode of {a} at {d}, got none; it comes from {b}") from None
    return found if isinstance(found, Layout) else make_raw(product(found), 1)


@ends
def slice_and_offset(coord: IntTuple, layout: LayoutLike) -> tuple[Any, Any]:
    """(the modes where coord is None, the offset of the rest)."""
    if not is_layout(layout):
        raise LayoutError(f"expected a layout to slice, got {layout!r}")
    return slice_layout(checked_coordinate(coord), layout)

"""Fight the provers against enumeration: every PROVED and REFUTED must agree with plain integers.

    python -m benchmarks.soundness --trials 100000 --seed 0 [--symbolic 4000]

Static claims are decided twice, by ``prove`` and by sets of Python integers. Symbolic claims are proved
once and then tried at sampled admissible sizes. Exit status 1 on any disagreement.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import random
import sys
import time
from typing import Any

from checkers import Bijective, Equal, FitsIn, InBounds, Injective, Partition, Surjective
from checkers.claim import Claim
from checkers.prover import Budget, decide
from symlayout import ComposedLayout, Layout, Swizzle, ceil_div, dim
from symlayout.address_map import AddressMap
from symlayout.expr import minimum
from symlayout.report import Outcome, Verdict

# -- the oracle: sets of Python integers, sharing nothing with the provers --------------------------------


def values(x: Any) -> list[Any]:
    """Every value of a static subject, by calling it."""
    if isinstance(x, AddressMap):
        box = itertools.product(*(range(n) for n in reversed(x.extents)))
        return [x(c[::-1]) for c in box if x.valid_at(c[::-1])]
    return [x(i) for i in range(x.size())]


def truth(claim: Any) -> bool:
    """Whether a static claim holds."""
    if isinstance(claim, Equal):
        return claim.a.size() == claim.b.size() and values(claim.a) == values(claim.b)
    found = values(claim.subjects()[0])
    if isinstance(claim, Injective):
        return len(set(found)) == len(found)
    if isinstance(claim, Surjective):
        return set(found) >= set(range(claim.onto))
    if isinstance(claim, Partition) and claim.copies != 1:
        counted = collections.Counter(found)
        return set(counted) == set(range(claim.onto)) and set(counted.values()) == {claim.copies}
    if isinstance(claim, Bijective | Partition):
        return sorted(found) == list(range(claim.onto))
    if isinstance(claim, InBounds):
        return all(claim.low <= v < claim.extent for v in found)
    low, high = claim.limits(1)[0]
    return all(low <= v <= high for v in found)


# -- static claims ----------------------------------------------------------------------------------------


def random_layout(r: random.Random) -> Any:
    """A layout of up to 400 points: compact, permuted, padded, broadcast, negative or arbitrary strides."""
    n = r.randint(1, 4)
    shape = [r.choice((1, 2, 2, 3, 4, 4, 5, 8)) for _ in range(n)]
    order = list(range(n))
    if r.random() < 0.6:
        r.shuffle(order)
    stride = [0] * n
    step = 1
    for k in order:
        stride[k] = step
        step = step * shape[k] + (r.randint(0, 3) if r.random() < 0.3 else 0)
    for k in range(n):
        p = r.random()
        if p < 0.06:
            stride[k] = 0
        elif p < 0.18:
            stride[k] = r.randint(0, 12)
        elif p < 0.22:
            stride[k] = -stride[k]
        elif p < 0.27:
            stride[k] = max(0, stride[k] + r.choice((-1, 1)))
    layout = Layout(tuple(shape), tuple(stride))
    if r.random() < 0.25 and all(d >= 0 for d in stride):
        bits = r.randint(0, 3)
        shift = r.choice((1, -1)) * r.randint(bits, bits + 2)
        return ComposedLayout(Swizzle(bits, r.randint(0, 3), shift), r.choice((0, 0, 0, 1, 4, 8)), layout)
    return layout


def random_claim(r: random.Random) -> Claim:
    """A static claim that is about as often true as false."""
    x = random_layout(r)
    inner = x.inner if isinstance(x, ComposedLayout) else x
    size, cosize = x.size(), inner.cosize()
    kind = r.randrange(7)
    if kind == 0:
        return Injective(x)
    if kind == 1:
        return Bijective(x, max(1, size + r.choice((0, 0, 0, 0, 1, -1))))
    if kind == 2:
        return Surjective(x, max(1, r.choice((size, size, cosize, cosize // 2 + 1, size // 2 + 1))))
    if kind == 3:
        return InBounds(x, max(1, cosize + r.choice((0, 0, 0, 1, -1, 8, 16))))
    if kind == 4:
        return FitsIn(x, bits=max(1, cosize.bit_length() + r.choice((0, 0, -1, 1))), signed=r.random() < 0.5)
    if kind == 5:
        zeros = [n for n, d in inner.modes() if d == 0]
        copies = 1
        for n in zeros:
            copies *= n
        return Partition(x, max(1, size // copies), copies=copies)
    return Equal(x, _reshaped(r, x))


def _reshaped(r: random.Random, x: Any) -> Any:
    """A layout that may be the same function: modes split, an extent-1 mode inserted, or a stride changed."""
    inner = x.inner if isinstance(x, ComposedLayout) else x
    modes: list[tuple[int, int]] = []
    for n, d in inner.modes():
        if n % 2 == 0 and r.random() < 0.5:
            modes += [(2, d), (n // 2, 2 * d)]
        else:
            modes.append((n, d + (r.random() < 0.1)))
    if r.random() < 0.3:
        modes.insert(r.randrange(len(modes) + 1), (1, r.randint(0, 5)))
    made = Layout(tuple(n for n, _ in modes), tuple(d for _, d in modes))
    return ComposedLayout(x.outer, x.offset, made) if isinstance(x, ComposedLayout) else made


def static_trials(trials: int, seed: int) -> tuple[collections.Counter[str], list[str]]:
    """Counts by claim and outcome, and every disagreement."""
    r = random.Random(seed)
    counts: collections.Counter[str] = collections.Counter()
    wrong: list[str] = []
    for _ in range(trials):
        claim = random_claim(r)
        v = decide(claim, Budget())
        counts[f"{claim.kind.split()[0]} {v.outcome.value}"] += 1
        holds = truth(claim)
        if (v.outcome is Outcome.PROVED and not holds) or (v.outcome is Outcome.REFUTED and holds):
            wrong.append(str(v))
    return counts, wrong


# -- symbolic claims --------------------------------------------------------------------------------------


def random_symbolic(r: random.Random) -> Claim:
    """A claim over one to three sizes, from the families that kernels are made of, sometimes broken."""
    M, N, K = (dim(s, at_most=40, multiple_of=r.choice((1, 1, 1, 2, 4))) for s in ("M", "N", "K"))
    ld = dim("ld", at_least=r.choice((M, M + 1, 1, N)), at_most=90)
    t = r.choice((2, 3, 4, 8))
    tiles = ceil_div(M, t)
    layouts: list[Any] = [
        Layout((M, N), (1, ld)),
        Layout((M, N), (1, M)),
        Layout((M, N), (N, 1)),
        Layout((M, N, 2), (1, ld, ld * N + r.choice((0, 0, -1, 1)))),
        Layout((t, tiles, N), (1, t, t * tiles + r.choice((0, 0, -1)))),
        Layout(((t, tiles), N), ((1, t), M)),
        Layout((M, N, K), (N * K, K, 1)),
        Layout((M, N), (r.choice((1, 2, t)), r.choice((M, 2 * M, t * M, M + t, M - 1 + t)))),
        Layout((M, t), (t, 1)),
        Layout((M, N), (0, 1)),
        Layout((M, t, N), (t * N, N, 1)),
    ]
    x = r.choice(layouts)
    if r.random() < 0.15:
        return r.choice((Injective, lambda m: InBounds(m, M)))(
            AddressMap.over(
                lambda i, j: i * t + j, (tiles, t), when=(lambda i, j: i * t + j < M) if r.random() < 0.7 else None
            )
        )
    if r.random() < 0.1:
        last = r.choice((minimum(M - t * (tiles - 1), t), t))
        return InBounds(AddressMap.over(lambda i: t * (tiles - 1) + i, (last,)), M)
    kind = r.randrange(6)
    if kind == 0:
        return Injective(x)
    if kind == 1:
        return Bijective(x, r.choice((x.size(), M * N, M * N * K, M * N + 1)))
    if kind == 2:
        return InBounds(x, r.choice((M * N, ld * N, M * ld, M * N * K, 2 * M * N, t * tiles * N)))
    if kind == 3:
        return Surjective(x, r.choice((x.size(), M * N, N)))
    if kind == 4:
        return FitsIn(x, bits=r.choice((8, 12, 16)), signed=r.random() < 0.5)
    return Equal(x, r.choice(layouts))


def sampled(claim: Claim, v: Verdict, r: random.Random, tries: int = 12) -> str:
    """The first admissible size at which a PROVED claim fails, or a REFUTED witness that holds; else ''."""
    from symlayout.facts import Facts

    facts = Facts.about(claim.parameters(), given=claim.given)
    if v.outcome is Outcome.REFUTED and v.witness is not None:
        env: dict[Any, int] = {s: v.witness.sizes[s.name] for s in facts.symbols}
        return "" if facts.admits(env) and not truth(claim.bind(env)) else f"witness {v.witness.sizes} does not fail"
    if v.outcome is not Outcome.PROVED:
        return ""
    for _ in range(tries):
        env = {s: r.randint(1, 24) // s.multiple * s.multiple or s.multiple for s in facts.symbols}
        if r.random() < 0.3:
            env = {s: r.choice((1, 2, s.multiple, 2 * s.multiple)) for s in facts.symbols}
        if not facts.admits(env):
            continue
        bound = claim.bind(env)
        if bound.points() <= 4000 and not truth(bound):
            return f"fails at { {s.name: n for s, n in env.items()} }"
    return ""


def symbolic_trials(trials: int, seed: int) -> tuple[collections.Counter[str], list[str]]:
    """Counts by claim and outcome, and every disagreement."""
    r = random.Random(seed)
    counts: collections.Counter[str] = collections.Counter()
    wrong: list[str] = []
    for _ in range(trials):
        claim = random_symbolic(r)
        v = decide(claim, Budget(solver_ms=400))
        counts[f"{claim.kind.split()[0]} {v.outcome.value}"] += 1
        complaint = sampled(claim, v, r)
        if complaint:
            wrong.append(f"{v}\n    {complaint}")
    return counts, wrong


def main() -> int:
    """Run both campaigns and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--symbolic", type=int, default=4_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    failed = False
    for name, run, trials in (("static", static_trials, args.trials), ("symbolic", symbolic_trials, args.symbolic)):
        begin = time.perf_counter()
        counts, wrong = run(trials, args.seed)
        print(f"{name}: {trials} claims in {time.perf_counter() - begin:.0f} s, {len(wrong)} wrong")
        for key in sorted(counts):
            print(f"    {key:<24}{counts[key]:>8}")
        for w in wrong[:10]:
            print("WRONG", w)
        failed = failed or bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

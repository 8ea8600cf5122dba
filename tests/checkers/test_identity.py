"""Two different questions never share a line of the cache: each field of each claim is in its key.

The key told a kernel by its text, which lost fields, and tests asked about one mutant whose text differs; so a kernel that
computes something else was served the verdict PROVED of another. Here every field of every claim is changed.
"""

from __future__ import annotations

import dataclasses

import pytest

import checkers.claims.transaction_bytes
from checkers import Computes, cache, prove, smt
from checkers.cache import Cache, key_of
from checkers.ck_tile import (
    DistributionCovers,
    GuaranteedVectorLength,
    LdsConflictDegree,
    MaskIsExactly,
    MovingEqualsMaking,
    NoInvalidAccess,
    VectorDoesNotStraddle,
)
from checkers.claim import Claim
from checkers.claims import (
    Aligned,
    ApartInTime,
    Bijective,
    Coalesced,
    ConflictFree,
    Covers,
    Equal,
    FitsIn,
    GlobalOrder,
    HappensBefore,
    Holds,
    InBounds,
    Injective,
    Launchable,
    Multiplicity,
    Obeys,
    Partition,
    RegistersFit,
    RingProtocol,
    RowsApart,
    SameBytes,
    SharedMemoryFits,
    Surjective,
    TensorMapValid,
    TmaCopySafe,
    TransactionBytes,
    Vectorizable,
    WellFormed,
    WrittenOnce,
)
from checkers.claims.arithmetic_fits import ArithmeticFits, PartialFits
from checkers.claims.launchable import _AtMost
from checkers.claims.of_kernel import AtAllSizes, OfKernel, OfProgram
from checkers.claims.updated_once import updated_once
from checkers.prover import Budget
from symlayout import Layout, dim, dims
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome
from symlayout.arch import SM90
from symlayout.banks import Access
from symlayout.ck_tile import make_naive_tensor_view, pad_tensor_view
from symlayout.errors import SerialError
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.specification import applied, element, total
from symlayout.kernels import tma_copy, tma_reduce_add
from symlayout.rules import rule_named
from symlayout.rules.tma_tile import TileCopy
from symlayout.tma import TensorMap
from symlayout.tma.tiled_copy import make_tma_copy
from tests.support.ck_tiles import GEMM_A
from tests.support.reused_kernels import twice


def product(start):
    """The product of each row, from a number on."""
    m, n = dims("M N")
    k = Builder("prod", m, n, grid=((m + 31) // 32,), threads=32, index_bits=64)
    s, d = k.global_tensor("src", "f32", Layout((m, n), (n, 1))), k.global_tensor("dst", "f32", Layout(m))
    x, p, row = k.registers("x", "f32", 1), k.registers("p", "f32", 1), 32 * k.block[0] + k.thread
    k.fill(p(), start)
    with k.loop("j", n) as j, k.where(row < m):
        k.copy("ld.global.4", s(n * row + j), x())
        k.map("mul", (p(), x()), p())
    with k.where(row < m):
        k.copy("st.global.4", p(), d(row))
    k.result("dst", lambda i: total(n, lambda j: element("src", i, j), "mul"))
    return k.kernel()


def converted(said):
    """A kernel that rounds to f16 on the way, and says a type."""
    n = dim("N", multiple_of=32)
    k = Builder("convert", n, grid=(n // 32,), threads=32)
    x, y = k.global_tensor("x", "f32", Layout(n)), k.global_tensor("y", "f32", Layout(n))
    r, h, at = k.registers("r", "f32", 1), k.registers("h", "f16", 1), 32 * k.block[0] + k.thread
    k.copy("ld.global.4", x(at), r())
    k.map("convert", (r(),), h())
    k.map("convert", (h(),), r())
    k.copy("st.global.4", r(), y(at))
    k.result("y", lambda i: applied("convert", element("x", i), dtype=said))
    return k.kernel()


M, N = dims("M N")
COLUMNS, ROWS = Layout((M, N), (1, M)), Layout((M, N), (N, 1))
KERNEL = tma_copy(M, N, tile=(16, 64), slots=4, blocks=132)
REDUCED = tma_reduce_add(*dims("S A B"))
TWICE = twice()
MAP = TensorMap.over(Layout((64, 64), (1, 64)), "f32", (32, 8))
COPY = make_tma_copy(Layout((64, 64), (64, 1)), Layout((16, 64), (64, 1)), dtype="bf16")

PADDED = pad_tensor_view(make_naive_tensor_view(None, (M, N), (N, 1)), (128, 64), (True, True)).descriptor

LIMIT = Launchable(product(1.0)).parts()[0]

BASES = (Claim, OfKernel, AtAllSizes, OfProgram)  # which say nothing themselves

CLAIMS = [
    *(Aligned(COLUMNS, 16, 4), Bijective(ROWS, onto=M * N), Coalesced(ROWS, 4, 4, 4), ConflictFree(Layout(32), 4, 4)),
    *(Covers(AddressMap.over(lambda b: b, M), M), Equal(COLUMNS, ROWS), FitsIn(COLUMNS), Holds(M <= N, "label")),
    *(
        InBounds(COLUMNS, M * N),
        Injective(ROWS),
        Multiplicity(ROWS, 1),
        Obeys(MAP, rule_named("rank_range"), 0, "map"),
    ),
    *(Partition(ROWS, M * N), SameBytes(COPY, Layout((16, 64), (64, 1))), Surjective(ROWS, M * N)),
    *(
        TensorMapValid(MAP),
        RowsApart(TileCopy(MAP, (0, 0), 0, "store")),
        TmaCopySafe(MAP, (0, 0)),
        Vectorizable(ROWS, 4),
    ),
    *(RegistersFit(KERNEL), SharedMemoryFits(KERNEL), RingProtocol(KERNEL, "full"), TransactionBytes(KERNEL, "full")),
    *(
        ApartInTime(TWICE, "a", "b"),
        HappensBefore(KERNEL),
        GlobalOrder(KERNEL, "dst"),
        WellFormed(KERNEL),
        WrittenOnce(KERNEL, "dst"),
    ),
    *(ArithmeticFits(KERNEL), PartialFits(M + 8, code="M + 8", place="if M + 8 <= N")),
    *(NoInvalidAccess(PADDED), MaskIsExactly(PADDED, lambda i, j: (i < M, j < N)), MovingEqualsMaking(PADDED)),
    DistributionCovers(GEMM_A),
    *(VectorDoesNotStraddle(PADDED, 8), GuaranteedVectorLength(PADDED, 8), LdsConflictDegree(Layout(32), 4, Access(4))),
    _AtMost(LIMIT.subject, LIMIT.rule),
    *(Launchable(KERNEL), LIMIT, Computes(KERNEL, "dst"), updated_once(REDUCED, "dst")),
    checkers.claims.transaction_bytes._Undecided("why", "where"),
    checkers.claims.transaction_bytes._Summed(KERNEL, "full"),
]


def kinds(base=Claim):
    for kind in base.__subclasses__():
        yield kind
        yield from kinds(kind)


def name_of(x):
    return type(x).__name__


def others(value):
    """Values that are not this one; whether the claim would take them does not matter."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, M]
    if isinstance(value, str):
        return [f"{value} "]
    if isinstance(value, tuple):
        return [(*value, M.multiple_of(8)), (*value, dim("M", at_most=99).multiple_of(8))]
    if isinstance(value, Kernel):
        return [dataclasses.replace(value, index_bits=64), dataclasses.replace(value, given=(M <= 8,))]
    if value is None:
        return [0, Layout(4)]
    return [None, Layout(4), Layout(dim("M", multiple_of=2)), dataclasses.replace(SM90, registers_per_sm=1)]


def changed(claim, name, value):
    out = object.__new__(type(claim))
    for f in dataclasses.fields(claim):
        object.__setattr__(out, f.name, value if f.name == name else getattr(claim, f.name))
    return out


def test_there_is_an_example_of_every_claim():
    missing = {k.__name__ for k in kinds() if k not in BASES and k.__module__.startswith("checkers.")}
    missing -= set(map(name_of, CLAIMS))

    assert not missing, f"expected an example in CLAIMS of each, got none of {', '.join(sorted(missing))}"


@pytest.mark.parametrize("claim", CLAIMS, ids=name_of)
def test_each_field_of_a_claim_is_part_of_its_key(claim):
    key = key_of(claim, Budget(), "z3")
    assert key == key_of(dataclasses.replace(claim), Budget(), "z3")

    for f in dataclasses.fields(claim):
        for value in others(getattr(claim, f.name)):
            assert key_of(changed(claim, f.name, value), Budget(), "z3") != key, f"{f.name}: {value!r}"


def test_kinds_of_claims_are_told_apart():
    same = [k(KERNEL) for k in (HappensBefore, WellFormed, SharedMemoryFits, RegistersFit)]

    assert len({key_of(c, Budget(), "z3") for c in same}) == len(same)
    assert len({key_of(c, Budget(), "z3") for c in CLAIMS}) == len(CLAIMS)


def test_versions_and_limits_are_part_of_a_key(monkeypatch):
    claim = Injective(ROWS)
    keys = {
        key_of(claim, Budget(), "z3 1"),
        key_of(claim, Budget(), "z3 2"),
        key_of(claim, Budget(repairs=False), "z3 1"),
    }
    monkeypatch.setattr(cache, "MODEL", "another subset")
    keys.add(key_of(claim, Budget(), "z3 1"))
    monkeypatch.setattr(cache.symlayout, "__version__", "0.0.0")
    keys.add(key_of(claim, Budget(), "z3 1"))

    assert len(keys) == 5


def test_a_claim_that_cannot_be_told_from_others_is_not_looked_up(tmp_path):
    rule = rule_named("rank_range")
    changed_rule = dataclasses.replace(rule, value=lambda m, i: 1)
    store = Cache(tmp_path / "verdicts.sqlite")

    for _ in range(2):
        assert prove(Obeys(MAP, changed_rule), cache=store)
    assert store.hits == 0
    with pytest.raises(SerialError, match="which is not the row of that id"):
        key_of(Obeys(MAP, changed_rule), Budget(), "z3")


# -- wrong verdicts that the cache served -----------------------------------------------------------------


@pytest.mark.parametrize(
    "right, wrong, output",
    [
        pytest.param(product(1.0), product(1.0000004), "dst", id="a fill with more than 6 digits"),
        pytest.param(converted("f16"), converted("bf16"), "y", id="the type that a result is rounded to"),
    ],
)
def test_no_kernel_is_served_the_verdict_of_another(right, wrong, output, tmp_path):
    """Their texts were the same, and with them digest and key."""
    store = Cache(tmp_path / "verdicts.sqlite")
    asked = Budget(repairs=False)

    assert right != wrong
    assert right.digest != wrong.digest
    assert prove(Computes(right, output), cache=store, budget=asked)
    [found] = prove(Computes(wrong, output), cache=store, budget=asked).verdicts
    assert found.outcome is Outcome.REFUTED
    assert prove(Computes(right, output), cache=store, budget=asked)
    assert store.hits == 1


def test_no_claim_is_served_the_verdict_about_a_size_of_another_range(tmp_path):
    store = Cache(tmp_path / "verdicts.sqlite")
    rows = [
        tma_copy(m, dim("N", multiple_of=4), tile=(16, 64), slots=4, blocks=132) for m in (M, dim("M", at_most=1 << 40))
    ]

    assert prove(rows[0], cache=store)
    first = store.hits
    prove(rows[1], cache=store, budget=Budget(repairs=False))
    assert store.hits - first < 3  # only what is about no size


def test_what_is_looked_up_has_the_certificate_that_was_found(tmp_path):
    """It is stored without its statement, which the claim alone gives again."""
    kernel = tma_copy(M, dim("N", multiple_of=4), tile=(16, 64), slots=4, blocks=132)
    first, again = (prove(kernel, cache=Cache(tmp_path / "verdicts.sqlite")) for _ in range(2))

    certificates = [v.certificate for v in first.verdicts if v.certificate is not None]
    assert certificates
    assert all("statement" in c for c in certificates)
    assert [v.certificate for v in again.verdicts if v.certificate is not None] == certificates
    assert again.certificate == first.certificate
    assert again.certificate.check()


def test_a_key_names_the_solver_that_is_installed():
    assert smt.version().removeprefix("z3 ") in smt.installed()

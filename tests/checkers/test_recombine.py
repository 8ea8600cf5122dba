"""A raster as one linear index is proved like its pair of coordinates, and faster than a solver takes to load.

The older tests had rasters as pairs alone: row + m*column as one number went to the solver, which gave up or did not as
other facts were assumed.
"""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest

from checkers import Bijective, InBounds, Injective, prove, verify
from checkers.prover import Budget, decide
from symlayout import CertificateError, dims, minimum
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome
from tests.support.plain import QUICK, complaint

m, n, k, ld = dims("m n k ld")
over = AddressMap.over


def raster(b: Any, rows: int = 3) -> tuple[Any, Any]:
    first = b // (rows * n) * rows
    height, place = minimum(m - first, rows), b % (rows * n)
    return first + place % height, place // height


def linear(b: Any) -> Any:
    row, column = raster(b)
    return row + m * column


def padded(b: Any) -> Any:
    row, column = raster(b)
    return row + ld * column


def batched(b: Any, z: Any) -> Any:
    row, column = raster(b)
    return row + m * ((column + z) % n + n * z)


PROVED = {
    "bijective": Bijective(over(linear, m * n), m * n),
    "with another fact": Bijective(over(linear, m * n), m * n, given=[m >= n]),
    "injective": Injective(over(linear, m * n)),
    "in bounds": InBounds(over(linear, m * n), m * n),
    "padded": Injective(over(padded, m * n), given=[ld >= m]),
    "three parts": Bijective(over(batched, (m * n, k)), m * n * k),
    "row by row": Bijective(over(lambda b: raster(b)[1] + n * raster(b)[0], m * n), m * n),
    "of a number": Bijective(over(lambda b: b // n + 8 * (b % n), 8 * n), 8 * n),
    "two coordinates": Bijective(over(lambda b, z: linear(b) + m * n * z, (m * n, k)), m * n * k),
}


@pytest.mark.parametrize("name", PROVED)
def test_a_linear_index_has_a_certificate(name):
    v = decide(PROVED[name], Budget())
    assert v.outcome is Outcome.PROVED, v
    assert v.certificate is not None
    verify(v.certificate)
    assert complaint(PROVED[name], v, random.Random(3), tries=4) == ""


REFUTED = {
    "a row too short": Injective(over(lambda b: raster(b)[0] + (m - 1) * raster(b)[1], m * n)),
    "a stride with a gap": Bijective(over(lambda b: raster(b)[0] + (m + 1) * raster(b)[1], m * n), m * n),
    "past the end": InBounds(over(linear, m * n), m * n - 1),
    "the other size": Bijective(over(lambda b: raster(b)[0] + n * raster(b)[1], m * n), m * n),
    "a padding that is none": Injective(over(padded, m * n), given=[ld >= m - 1]),
}


@pytest.mark.parametrize("name", REFUTED)
def test_one_that_is_wrong_is_refuted(name):
    v = decide(REFUTED[name], QUICK)
    assert v.outcome is Outcome.REFUTED, v
    assert complaint(REFUTED[name], v, random.Random(3)) == ""


@pytest.mark.parametrize("name", ["bijective", "padded", "three parts"])
def test_every_part_of_the_step_is_checked(name):
    """Another part, radix, order or size of the box is rejected, as is a certificate without the bounds of a part."""
    certificate = prove(PROVED[name]).verdicts[0].certificate
    assert "recombine" in certificate["proof"]

    def rejected(change: Any) -> bool:
        mutant = copy.deepcopy(certificate)
        change(mutant["proof"])
        try:
            verify(mutant)
        except CertificateError:
            return True
        return False

    step = certificate["proof"]["recombine"]
    changes = [
        lambda p: p["recombine"].update(parts=step["parts"][::-1]),
        lambda p: p["recombine"].update(parts=[step["parts"][0], step["parts"][0], *step["parts"][2:]]),
        lambda p: p["recombine"].update(radices=[[[2, *row[1:]] for row in r] for r in step["radices"]]),
        lambda p: p["recombine"].update(radices=[[[1, "n"]]] * len(step["radices"])),
        lambda p: p["recombine"].update(parts=step["parts"][:-1], radices=step["radices"][:-1]),
        lambda p: p.pop("recombine"),
        lambda p: [piece["bounds"].pop() for piece in p["pieces"]],
        lambda p: [piece.update(bounds=[]) for piece in p["pieces"]],
    ]
    if "last" in step:
        changes.append(lambda p: p["recombine"].update(last=[[2, *row[1:]] for row in step["last"]]))
    assert [i for i, change in enumerate(changes) if not rejected(change)] == []


@pytest.mark.parametrize("seed", range(4))
def test_sums_of_remainders_and_quotients_get_no_wrong_proof(seed):
    r = random.Random(seed)
    for _ in range(12):
        sizes = [m, n, 4, 8, m * n]

        def index(b: Any, r: random.Random = r, sizes: list[Any] = sizes) -> Any:
            first, second = r.choice(sizes), r.choice(sizes)
            return b % first + second * (b // first) if r.random() < 0.5 else b // first + second * (b % first)

        x = over(lambda b: index(b), (r.choice([m * n, 4 * m, 8 * n]),))
        claim = r.choice([Injective(x), Bijective(x, x.size()), InBounds(x, x.size())])
        assert complaint(claim, decide(claim, Budget(repairs=False, solver_ms=100)), r, tries=8) == "", claim

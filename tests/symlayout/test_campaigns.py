"""Many jobs in one process, in several, and on a cluster: order, errors, progress, and what travels."""

from __future__ import annotations

import doctest
import functools
import gc
import importlib.util
import math
import pickle
import re
import threading

import pytest

from checkers import Bijective, Budget, ConflictFree, Equal, FitsIn, InBounds, Injective, Partition, Surjective, prove
from checkers.prover import decide
from symlayout import (
    Layout,
    Swizzle,
    campaigns,
    ceil_div,
    dim,
    dims,
    eq,
    make_identity_layout,
    maximum,
    minimum,
    process,
    zipped_divide,
)
from symlayout.address_map import AddressMap
from symlayout.campaigns import Failed, run
from symlayout.facts import Facts
from symlayout.linear import linear

M, N = dims("M N")
LD = dim("ld", at_least=M)
TILE = Layout.parse("Sw<3,3,3> o 0 o (8,64):(64,1)")

CLAIMS = [
    Injective(Layout((M, N), (1, LD))),
    Injective(Layout((M, N), (1, N))),
    Bijective(TILE, onto=512),
    Surjective(Layout((M, 2), (2, 1)), onto=2 * M),
    Equal(Layout((8, M)), Layout((2, 4, M))),
    FitsIn(Layout((M, 4), (4, 1)), bits=32),
    InBounds(Layout((128, ceil_div(M, 128)), (1, 128)), M, when=lambda r, t: r + 128 * t < M),
    Partition(Layout((4, 2), (1, 0)), onto=4, copies=2),
    ConflictFree(Layout.parse("Sw<3,3,3> o 0 o (8,8):(64,8)"), element_bytes=2),
    Injective(zipped_divide(Layout((M, N), (N, 1)), (64, 64)), given=[M.multiple_of(64), N.multiple_of(64)]),
]
JUDGE = functools.partial(decide, budget=Budget())


def outcomes(results):
    return [(str(v.claim), v.outcome, v.witness, v.certificate) for v in results]


# -- what travels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        M,
        M * N + 3,
        (M + 5) // N % 7 + minimum(M, N) * maximum(M, 2) + (M ^ 3),
        LD,
        M <= N,
        eq(M, 2 * N),
        M.multiple_of(8),
        Layout((M, (N, 4)), (1, (M, M * N))),
        make_identity_layout((M, 4)),
        TILE,
        Swizzle(3, 4, 3),
        zipped_divide(Layout((M, N), (N, 1)), (64, 64)).obligations,
        linear(TILE),
        *CLAIMS,
    ],
    ids=str,
)
def test_values_travel(value):
    again = pickle.loads(pickle.dumps(value))

    assert type(again) is type(value)
    assert str(again) == str(value)
    assert isinstance(value, InBounds) or (again == value and hash(again) == hash(value))


def test_symbols_are_the_same_ones_after_a_journey():
    again = pickle.loads(pickle.dumps((LD, Layout((M, N), (1, LD)), Facts.about(LD))))

    assert again[0] is LD
    assert again[1].stride[1] is LD
    assert again[2].le(M, LD) is True


def test_obligations_and_maps_travel():
    tiles = pickle.loads(pickle.dumps(zipped_divide(Layout((M, N), (N, 1)), (64, 64))))
    load = pickle.loads(pickle.dumps(AddressMap.over(lambda i, k: i * N + k, (M, N), when=lambda i, k: i < M)))

    assert str(tiles.obligations) == "in domain: needs a predicate unless 64 divides M and N"
    assert str(load) == "(i,k) -> N*i + k for i < M, k < N when M >= i + 1"


def test_verdicts_and_reports_travel():
    report = prove(CLAIMS)

    assert str(pickle.loads(pickle.dumps(report))) == str(report)


# -- here -----------------------------------------------------------------------------------------------


def test_results_keep_the_order_and_errors_are_entries():
    steps = []
    results = run(math.sqrt, [4, -1, "x", 9], progress=lambda done, total: steps.append((done, total)))

    assert (results[0], results[3]) == (2, 3)
    assert str(results[1]) == "-1: ValueError: math domain error"
    assert str(results[2]) == "x: TypeError: must be real number, not str"
    assert "Traceback" in results[1].trace
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_claims_give_reports_with_their_obligations():
    reports = run(prove, CLAIMS)

    assert [str(r) for r in reports] == [str(prove(c)) for c in CLAIMS]
    assert len(reports[-1].verdicts) == 3


def test_the_docstring_runs():
    assert doctest.testmod(campaigns).failed == 0


def young(_):
    return gc.get_threshold()[0]


def test_workers_are_prepared_as_the_command_is():
    assert run(young, range(2), workers=2) == [process.YOUNG] * 2


def test_nothing_to_do():
    assert run(abs, []) == run(abs, [], workers=2) == []


def test_the_number_of_workers_is_checked():
    with pytest.raises(ValueError, match="expected at least 1 worker, or -1 for all cores, got 0"):
        run(abs, [1], workers=0)


# -- elsewhere ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster():
    if not importlib.util.find_spec("distributed"):
        pytest.skip("dask[distributed] is not installed")
    from dask import config
    from dask.distributed import LocalCluster

    with (
        config.set({"distributed.worker.daemon": False, "distributed.scheduler.allowed-failures": 0}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as found,
    ):
        yield {"scheduler": found.scheduler_address}


@pytest.fixture(params=["processes", "cluster"])
def elsewhere(request):
    return {"workers": 2} if request.param == "processes" else request.getfixturevalue("cluster")


@pytest.mark.filterwarnings("default")
def test_claims_are_judged_as_they_are_here(elsewhere):
    steps = []
    found = run(JUDGE, CLAIMS, **elsewhere, progress=lambda done, total: steps.append((done, total)))

    assert outcomes(found) == outcomes(run(JUDGE, CLAIMS))
    assert steps == [(k, len(CLAIMS)) for k in range(1, len(CLAIMS) + 1)]


@pytest.mark.filterwarnings("default")
def test_errors_and_what_does_not_pickle_are_entries(elsewhere):
    found = run(math.sqrt, [4, -1, threading.Lock(), 9], **elsewhere)

    assert (found[0], found[3]) == (2, 3)
    assert found[1].error == "ValueError: math domain error"
    assert found[2].error.startswith("TypeError: cannot pickle")
    [result] = run(iter, [[1].__iter__()], **elsewhere)
    assert list(result) == [1]
    [result] = run(eval, ["__import__('threading').Lock()"], **elsewhere)
    assert isinstance(result, Failed)


@pytest.mark.filterwarnings("default")
def test_a_worker_that_dies_costs_one_job(elsewhere):
    found = run(eval, ["1", "2", "__import__('os')._exit(1)", "4", "5", "6"], **elsewhere)

    assert [r for r in found if not isinstance(r, Failed)] == [1, 2, 4, 5, 6]
    assert isinstance(found[2], Failed)


@pytest.mark.filterwarnings("default")
def test_a_job_that_hangs_costs_one_job(elsewhere):
    run(abs, [1, 2], **elsewhere)  # so that workers are there when the limit counts

    found = run(eval, ["1", "__import__('time').sleep(6)", "3", "4"], **elsewhere, limit_seconds=2)

    assert [r for r in found if not isinstance(r, Failed)] == [1, 3, 4]
    assert re.match(r"TimeoutError: expected a job .* to end within 2 s of the one before, got none", found[1].error)


@pytest.mark.filterwarnings("default")
def test_a_cluster_without_workers_is_an_error(monkeypatch):
    distributed = pytest.importorskip("dask.distributed")
    monkeypatch.setattr(campaigns, "WORKERS_SECONDS", 0.2)

    with distributed.LocalCluster(n_workers=0, dashboard_address=None, silence_logs=50) as empty:
        at = empty.scheduler_address
        with pytest.raises(OSError, match=f"expected workers of the Dask scheduler at {at} for 2 jobs, got none for"):
            run(abs, [1, 2], scheduler=at)

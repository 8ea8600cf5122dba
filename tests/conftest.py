"""How much of these tests runs, and where.

Workers: the tests run on every core wherever pytest-xdist is installed and the command says nothing of workers. ``-n 0``
keeps to one process. So does what belongs to one: a debugger, output that is not captured, tests of one file (the workers
would start for longer than it runs). Without pytest-xdist all is as it was.

Bytecode: where the environment says that none is written, as images of containers do, each worker and each process that
a test starts would compile every module it imports, and pytest rewrite every test: a tenth of a run. It goes to the cache
of pytest instead, and none beside the sources.

Campaigns: tests that draw at random take an eighth of their draws, and all of them under ``--campaign``. Their seeds are
fixed: to draw the same again and again would tell nothing new. The fixture ``share`` says how many draws a test takes;
the mark ``seeds(60)`` makes a case of each of them. The mark ``campaign`` is for a case that says once more, at other
sizes, what a case beside it says: it runs under ``--campaign`` alone.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# How long it takes to draw inputs depends on what else the machine does: it decides no test.
settings.register_profile("unhurried", suppress_health_check=[HealthCheck.too_slow], deadline=None)
settings.load_profile("unhurried")

# What is made is seldom in a circle, so there is little to find: at the usual thresholds a quarter of the collection of
# tests went into looking for it.
gc.set_threshold(100_000, 20, 50)

PART = 8  # of each campaign, what is run without --campaign


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Ask for workers before pytest-xdist looks at how many are wanted."""
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        _keep_bytecode(config.rootpath / ".pytest_cache" / "bytecode")
    option = config.option
    asked = getattr(option, "numprocesses", 0)  # no such option without pytest-xdist
    if asked is None and not option.tx and not _in_one_process(config):
        asked = option.numprocesses = "auto"
    if asked and option.dist == "no":
        option.dist = "worksteal"  # tests of one file stay together until a worker has nothing left


def _keep_bytecode(folder: Path) -> None:
    """Write bytecode to a folder of its own from here on, in this process and in those that it starts."""
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = str(folder)
    sys.dont_write_bytecode = False


def _in_one_process(config: pytest.Config) -> bool:
    """Whether this is a worker, a session that someone watches, or a run of one file."""
    files = {Path(arg.partition("::")[0]) for arg in config.args}
    watched = sys.gettrace() or config.option.usepdb or config.option.trace or config.option.capture == "no"
    return "PYTEST_XDIST_WORKER" in os.environ or bool(watched) or (len(files) == 1 and files.pop().suffix == ".py")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse names of tests that hold an address: each worker has another one, and xdist then runs no test at all.

    Leave cases of campaigns to these.
    """
    unnamed = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if unnamed:
        raise pytest.UsageError(f"expected names of tests without addresses, got {unnamed[0]}: give its rows ids")
    if not config.getoption("--campaign"):
        left = [item for item in items if item.get_closest_marker("campaign")]
        items[:] = [item for item in items if not item.get_closest_marker("campaign")]
        config.hook.pytest_deselected(items=left)


def pytest_collection_finish() -> None:
    """Keep the collector off what lasts: modules and thousands of tests, seen by each of its passes, took 7 % of a run."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--campaign``."""
    about = f"random tests take all of their draws, not one in {PART}, and cases marked campaign run too"
    parser.getgroup("symlayout").addoption("--campaign", action="store_true", help=about)


@pytest.fixture(scope="session")
def share(request: pytest.FixtureRequest) -> Callable[[int], int]:
    """How many of so many draws this run takes: ``share(600)`` is 75, and 600 under ``--campaign``.

    What a test expects to see of each outcome goes by the same share.
    """
    return _share(request.config)


@pytest.fixture(scope="session")
def decided(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The verdicts that workers share, for tests that need reports and ask nothing of the prover."""
    from checkers.cache import Cache  # not in the process that only hands out tests

    folder = tmp_path_factory.getbasetemp()
    shared = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    cache = Cache(shared / "verdicts.sqlite")
    yield cache
    cache.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A case for each seed that this run takes of ``seeds(count)``."""
    for mark in metafunc.definition.iter_markers("seeds"):
        metafunc.parametrize("seed", range(_share(metafunc.config)(*mark.args)))


def _share(config: pytest.Config) -> Callable[[int], int]:
    part = 1 if config.getoption("--campaign") else PART
    return lambda draws: -(-draws // part)

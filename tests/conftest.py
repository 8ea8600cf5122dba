"""Workers: these tests run on every core wherever pytest-xdist is installed and the command says nothing of workers.

``-n 0`` keeps to one process. So does what belongs to one: a debugger, output that is not captured, tests of one file
(the workers would start for longer than it runs). Without pytest-xdist all is as it was.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Ask for workers before pytest-xdist looks at how many are wanted."""
    option = config.option
    asked = getattr(option, "numprocesses", 0)  # no such option without pytest-xdist
    if asked is None and not option.tx and not _in_one_process(config):
        option.numprocesses = "auto"
        if option.dist == "no":
            option.dist = "worksteal"  # tests of one file stay together until a worker has nothing left


def _in_one_process(config: pytest.Config) -> bool:
    """Whether this is a worker, a session that someone watches, or a run of one file."""
    files = {Path(arg.partition("::")[0]) for arg in config.args}
    watched = sys.gettrace() or config.option.usepdb or config.option.trace or config.option.capture == "no"
    return "PYTEST_XDIST_WORKER" in os.environ or bool(watched) or (len(files) == 1 and files.pop().suffix == ".py")

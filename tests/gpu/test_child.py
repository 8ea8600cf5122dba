"""A case that hangs, faults or raises ends in its own process, is reported with the reason, and what follows still runs."""

import signal
import time
from pathlib import Path

import pytest

from gpu import child
from gpu.errors import CrashedError, RaisedError, TimedOutError

HERE = "tests.support.child_cases"


def test_values_cross():
    assert child.call(f"{HERE}:same", {"a": b"\0" * 300_000}, limit_s=60) == {"a": b"\0" * 300_000}


def test_an_exception_comes_with_its_text():
    with pytest.raises(RaisedError, match=r"^LayoutError: expected this, got that$") as error:
        child.call(f"{HERE}:wrong", limit_s=60)

    assert error.value.kind == "LayoutError"
    assert "Traceback" in error.value.said


def test_what_hangs_is_killed_with_all_that_it_started(tmp_path):
    begin = time.monotonic()
    with pytest.raises(TimedOutError, match=r"expected .*:hang to end within 2 s, got none; killed"):
        child.call(f"{HERE}:hang", str(tmp_path / "pid"), limit_s=2)

    assert time.monotonic() - begin < 30
    started = int((tmp_path / "pid").read_text())
    for _ in range(100):
        if not runs(started):
            return
        time.sleep(0.05)
    pytest.fail("a process that the case started is still there")


def runs(pid):
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_signal_is_named():
    with pytest.raises(CrashedError, match=rf"got signal {int(signal.SIGSEGV)}"):
        child.call(f"{HERE}:crash", limit_s=60)


def test_leaving_without_a_value():
    with pytest.raises(CrashedError, match="got exit status 7: the device is gone"):
        child.call(f"{HERE}:leave", limit_s=60)


def test_a_module_that_is_not_there():
    with pytest.raises(CrashedError, match="ModuleNotFoundError: No module named 'no_such_module'"):
        child.call("no_such_module:f", limit_s=60)


def test_each_case_has_its_outcome_and_faults_do_not_spread():
    cases = [
        ("value", 1),
        ("raise", 2),
        ("value", 3),
        ("crash", 4),
        ("value", 5),
        ("hang", 6),
        ("fault", 7),
        ("value", 8),
    ]

    outcomes = list(child.each(f"{HERE}:one_of_many", cases, limit_s=2))

    assert [type(o.error) for o in outcomes] == [
        *(type(None), RaisedError, type(None), CrashedError),
        *(type(None), TimedOutError, RaisedError, type(None)),
    ]
    numbers, processes = zip(*(o.value for o in outcomes if o.error is None), strict=True)
    assert numbers == (1, 3, 5, 8)
    # one process until the crash, one until the hang; a fault of the device costs its process too
    assert [len(set(processes[:2])), len(set(processes))] == [1, 3]
    assert str(outcomes[1]) == "ValueError: 2"

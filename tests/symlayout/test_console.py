"""What the terminal shows while it waits: nothing for a second, then what is being done, and nothing afterwards."""

from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from symlayout.answers import console


@pytest.fixture
def terminal(monkeypatch):
    """A terminal whose text can be read, and little patience."""
    screen = io.StringIO()
    monkeypatch.setattr(console, "err", Console(file=screen, force_terminal=True, width=80))
    monkeypatch.setattr(console, "PATIENCE_S", 0.05)
    return screen


def test_what_takes_long_is_named(terminal):
    with console.working("claims.toml:3 [a] claim"):
        time.sleep(0.3)

    assert "claims.toml:3 [a] claim" in terminal.getvalue()


def test_what_takes_long_is_counted(terminal):
    with console.progress(7) as step:
        step(3)
        time.sleep(0.3)

    assert "claims" in terminal.getvalue()
    assert "43%" in terminal.getvalue()


def test_what_is_quick_shows_nothing(terminal, monkeypatch):
    monkeypatch.setattr(console, "PATIENCE_S", 60.0)
    with console.working("claim"), console.progress(2) as step:
        step(2)

    assert "claim" not in terminal.getvalue()


def test_a_file_gets_no_lines(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(console, "err", Console(file=screen))
    monkeypatch.setattr(console, "PATIENCE_S", 0.01)
    with console.working("claim"), console.progress(2) as step:
        step(1)
        time.sleep(0.1)

    assert screen.getvalue() == ""


def test_an_error_passes_through(terminal):
    with pytest.raises(ValueError, match="inside"), console.working("claim"):
        raise ValueError("inside")


WIDE = "limited by  DRAM, which all SMs share, and the latency of the shared memory of a cluster"


def shown(monkeypatch, columns, show, **how):
    """The lines that a terminal of so many columns, or a file, gets."""
    screen = io.StringIO()
    how = {"force_terminal": True, "color_system": None, "soft_wrap": True, **how}
    monkeypatch.setattr(console, "out", console.Lines(file=screen, width=columns, **how))
    show()
    return screen.getvalue().splitlines()


@pytest.mark.parametrize(
    "line, lines",
    [
        (
            WIDE,
            [
                "limited by  DRAM, which all SMs share,",
                "            and the latency of the",
                "            shared memory of a cluster",
            ],
        ),
        (
            "  17:1    proved    in bounds: 4096 elements [T2]",
            ["  17:1    proved    in bounds: 4096", " " * 20 + "elements [T2]"],
        ),
        (
            "note: one of 132 SMs stands for all of the others",
            ["note: one of 132 SMs stands for all of", "    the others"],
        ),
        ("x" * 50, ["x" * 50]),
    ],
)
def test_what_is_too_long_goes_on_below_its_text(monkeypatch, line, lines):
    assert shown(monkeypatch, 40, lambda: console.out.print(line, markup=False)) == lines


@pytest.mark.parametrize("columns, lines", [(70, 2), (110, 2), (200, 1)])
def test_words_of_a_row_stand_behind_its_numbers_or_below(monkeypatch, columns, lines):
    numbers, words = "  sm_clock  1.9782 GHz" + " " * 40, "M4: cycles of a nanosecond while DRAM streams; 187 points"
    found = shown(monkeypatch, columns, lambda: console.show_row(numbers, words))

    assert len(found) == lines
    assert all(len(line) <= columns for line in found)
    assert columns < 100 or found[-1].startswith(" " * len(numbers) if lines > 1 else numbers)


def test_a_file_gets_whole_lines(monkeypatch):
    assert shown(monkeypatch, 40, lambda: console.out.print(WIDE, markup=False), force_terminal=False) == [WIDE]


def test_a_bar_says_what_is_done_after_it(terminal):
    with console.progress(2, "schedules", "asking the prover") as step:
        step(2)
        time.sleep(0.3)

    assert "asking the prover" in terminal.getvalue()

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

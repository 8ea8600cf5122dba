"""Answers out: reports as values, as text and files, as scripts that repeat a failure, and their words explained.

A new format of reports belongs in ``formats``, a new word in ``explain``.
"""

from __future__ import annotations

from . import ways_at_use  # noqa: F401  # it defines how reports are shown

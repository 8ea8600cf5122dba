"""Answers out: reports as values, as text and files, as scripts that repeat a failure, and their words explained.

A new format of reports belongs in ``formats``, a new word in ``explain``.
"""

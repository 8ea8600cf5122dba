"""Conditions that repair a refuted claim: found by a small search, proved like any other, and put plainly.

A new kind of condition to try belongs in ``conditions``; how the weakest of several is found, in ``weakest``.
"""

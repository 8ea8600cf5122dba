"""Conditions that repair a refuted claim: found by a small search, proved like any other, and put plainly."""

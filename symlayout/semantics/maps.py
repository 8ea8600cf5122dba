"""The functions of ``Map``: the public path to ``symlayout.atoms.functions``, whose rows they are."""

from __future__ import annotations

from ..atoms.functions import FUNCTIONS, ROWS, Error, MapFunction, converted, map_function

__all__ = ["FUNCTIONS", "ROWS", "Error", "MapFunction", "converted", "map_function"]

"""Pictures of layouts: grids of offsets or (thread, value) pairs as text and SVG, and the steps of one evaluation."""

from .grid import Grid, offset_grid, thread_value_grid
from .steps import steps
from .svg import svg

__all__ = ["Grid", "offset_grid", "steps", "svg", "thread_value_grid"]

"""Pictures of layouts: grids of offsets or (thread, value) pairs as text, SVG and HTML; the steps of one evaluation.

    >>> from symlayout import Layout
    >>> print(offset_grid(Layout((2, 4), (4, 1))).table())
      | 0 1 2 3
    --+--------
    0 | 0 1 2 3
    1 | 4 5 6 7

Layouts, swizzles, grids and reports draw themselves in notebooks; ``html_page`` is one file to keep or to send.
A new picture belongs here: a function to a ``Grid``, which ``svg`` and tables of text show.
"""

from .atoms import atom_grids, atom_svg
from .evaluation import steps
from .grid import Grid, offset_grid, swizzle_grid, thread_value_grid
from .html import html_page, report_html
from .maps import map_grid
from .picture import picture
from .svg import card, sheet, svg

__all__ = [
    "Grid",
    "atom_grids",
    "atom_svg",
    "card",
    "html_page",
    "map_grid",
    "offset_grid",
    "picture",
    "report_html",
    "sheet",
    "steps",
    "svg",
    "swizzle_grid",
    "thread_value_grid",
]

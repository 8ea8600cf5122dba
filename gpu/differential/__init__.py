"""A kernel on a device against its reference and its untimed run, at the sizes where mistakes show.

Sizes at edges, data that show where bytes come from, one case in a child process, what it found as a table.
"""

from .found import Case, Differential
from .sizes import edges
from .testing import differential_test

__all__ = ["Case", "Differential", "differential_test", "edges"]

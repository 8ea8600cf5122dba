"""The definition of a kernel's results as a second, plain program: what a run is compared with on the device.

The first text of a kernel says how its elements are computed; this one says what each of them is.
"""

from .printing import Definition, define
from .threads import Function

__all__ = ["Definition", "Function", "define"]

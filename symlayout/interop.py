"""Layouts of other libraries as ours: ``of(obj)`` takes whatever says its shape and its strides.

    >>> import numpy as np
    >>> print(of(np.zeros((4, 6), dtype=np.int32)[::2, ::-1]), of("(4,8):(8,1)"), of(memoryview(b"abc")))
    (2,3):... 

Objects are known by their attributes, so nothing needs to be installed that is not in use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .basis import ScaledBasis
from .errors import LayoutError
from .expr import coerce_or_none, dim
from .int_tuple import IntTuple
from .layout import ComposedLayout, Layout, is_layout
from .linear import LinearLayout, to_layout
from .notation import parse
from .swizzle import Swizzle

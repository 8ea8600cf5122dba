"""Memory as a NumPy array of bytes that starts at some address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import LayoutError, TmaFault

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Addresses = np.ndarray[Any, Any]  # int64, or Python integers where 64 bits do not suffice

ACCESS = "illegal memory access"  # the driver's words


@dataclass(frozen=True, eq=False)
class Memory:
    """The bytes from address *base* on.

    >>> Memory(np.arange(8, dtype=np.uint8), base=256).read(np.array([[257, 258]]))
    array([[1, 2]], dtype=uint8)

    Raises LayoutError unless the bytes are one row of uint8.
    """

    bytes: Bytes
    base: int = 0

    def __post_init__(self) -> None:
        b = self.bytes
        if not isinstance(b, np.ndarray) or b.dtype != np.uint8 or b.ndim != 1:
            got = f"{b.dtype} of shape {b.shape}" if isinstance(b, np.ndarray) else type(b).__name__
            raise LayoutError(f"expected memory as a one-dimensional array of uint8, got {got}")

    @classmethod
    def of(cls, x: Any) -> Memory:
        """Memory as it is; an array from address 0 on."""
        return x if isinstance(x, Memory) else cls(x)

    def read(self, addresses: Addresses) -> Bytes:
        """The bytes at these addresses. Raises TmaFault for addresses outside."""
        return self.bytes.take(self._index(addresses))

    def write(self, addresses: Addresses, values: Bytes) -> None:
        """Put bytes at these addresses, all or none. Raises TmaFault for addresses outside."""
        self.bytes[self._index(addresses)] = values

    def _index(self, addresses: Addresses) -> np.ndarray[Any, Any]:
        index = addresses - self.base if self.base else addresses
        if index.size and not (index.min() >= 0 and index.max() < len(self.bytes)):
            low, high = int(addresses.min()), int(addresses.max())
            raise outside(
                f"expected addresses of {self.base}..{self.end - 1}, got {low}..{high}, "
                f"{max(self.base - low, high - self.end + 1)} bytes outside"
            )
        return index.astype(np.int64, copy=False)

    @property
    def end(self) -> int:
        """The first address behind."""
        return self.base + len(self.bytes)


def outside(message: str) -> TmaFault:
    """The fault of a copy that touches bytes outside a memory."""
    return TmaFault(f"{ACCESS}, memory_bounds: {message}", "memory_bounds", ACCESS)


def byte_ranges(addresses: Addresses) -> tuple[tuple[int, int], ...]:
    """Addresses as ranges (first, end), ascending and merged.

    >>> byte_ranges(np.array([9, 4, 5, 5, 6]))
    ((4, 7), (9, 10))
    """
    found = np.unique(addresses)
    if not found.size:
        return ()
    cut = np.flatnonzero(np.diff(found) > 1)
    first, last = found[np.r_[0, cut + 1]], found[np.r_[cut, -1]]
    return tuple((int(a), int(b) + 1) for a, b in zip(first, last, strict=True))

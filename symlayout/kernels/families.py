"""The kernel families by name: their sizes as symbols, their options, and the kernel for all sizes.

>>> print(family("vector_copy"))
vector_copy(N)  dtype=f32 vector_bytes=16 threads=128 loads= stores=
>>> family("vector_copy").build(dtype="bf16").text().splitlines()[0]
'kernel vector_copy(N)'
>>> family("gemm").read("tile", "128x128")
(128, 128)
"""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from ..errors import LayoutError
from ..expr import Expr, Symbol, dim
from ..kernel import Kernel
from . import __all__ as names

# Up to so many rows and columns of a product its tiles are numbered in 32 bits; with 64 its sums leave no registers.
# Grids of two axes have at most 65535 tiles along the second.
PRODUCT_SIZES = 1 << 20
TILED = ("copy_if", "gemm", "gemm_mma", "gemm_simt", "tensor_axpby")
NONE = "none"
ZERO = ("swizzle", "l2_promotion")  # options of which 0 is a value


@dataclass(frozen=True)
class Family:
    """A builder of kernels: *dims* are the names of its sizes, *options* what may be chosen, with what is usual.

    An option that is no text is an integer, or two of them where it is among *pairs*; or None where that is usual.
    """

    name: str
    builder: Callable[..., Kernel]
    dims: tuple[str, ...]
    options: Mapping[str, Any]
    pairs: frozenset[str] = frozenset()

    @property
    def summary(self) -> str:
        """The sentence of its result, in one line."""
        return (inspect.getdoc(self.builder) or "").partition("\n")[0]

    def symbols(self) -> dict[str, Symbol]:
        """A symbol for each size, in the range that the family is for."""
        found: dict[str, Symbol] = {}
        for name in self.dims:
            if name == "ld":  # rows lie at least as far apart as they are long
                found[name] = dim(name, at_least=found["N"])
            else:
                found[name] = dim(name, at_most=PRODUCT_SIZES) if self.name in TILED else dim(name)
        return found

    def build(self, **options: Any) -> Kernel:
        """The kernel for all sizes. Raises LayoutError for an option that there is none of, or that does not fit."""
        unknown = next((k for k in options if k not in self.options), None)
        if unknown is not None:
            raise LayoutError(f"expected an option of {self.name} ({', '.join(self.options)}), got {unknown!r}")
        for name, x in options.items():
            self._expect(name, x)
        return self.builder(*self.symbols().values(), **options)

    def read(self, option: str, text: str) -> Any:
        """The value of an option as text has it: ``8``, ``bf16``, ``64x64``, ``none``. Raises LayoutError."""
        usual = self.options.get(option)
        if usual is None and text == NONE:
            return None
        if isinstance(usual, str):
            return text
        try:
            values = tuple(int(n) for n in text.replace(",", "x").split("x"))
        except ValueError:
            values = ()
        value: Any = values if option in self.pairs or len(values) != 1 else values[0]
        self._expect(option, value, text)
        return value

    def _expect(self, option: str, value: Any, text: str = "") -> None:
        """Raise LayoutError for a value that is none of an option."""
        usual = self.options[option]
        if isinstance(usual, str) or (usual is None and value is None):
            return
        numbers = value if isinstance(value, tuple) else (value,)
        right = all(isinstance(n, Integral | Expr) for n in numbers)
        if (
            not right
            or len(numbers) != 1 + (option in self.pairs)
            or isinstance(value, tuple) != (option in self.pairs)
        ):
            wanted = "integers such as 64x64" if option in self.pairs else "an integer"
            raise LayoutError(f"expected {wanted} for {option} of {self.name}, got {text or shown(value)!r}")
        if option not in ZERO and any(isinstance(n, Integral) and n < 1 for n in numbers):
            raise LayoutError(f"expected at least 1 for {option} of {self.name}, got {shown(value)}")

    def __str__(self) -> str:
        options = " ".join(f"{k}={shown(x)}" for k, x in self.options.items())
        return f"{self.name}({', '.join(self.dims)})  {options}"


def shown(x: Any) -> str:
    """The value of an option as ``read`` takes it."""
    return "x".join(map(str, x)) if isinstance(x, tuple) else NONE if x is None else str(x)


def family(name: str) -> Family:
    """The family of a name. Raises LayoutError, with the nearest name, for one that there is not."""
    if name not in names:
        near = difflib.get_close_matches(name, names, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise LayoutError(f"expected a kernel family ({', '.join(names)}), got {name!r}{hint}")
    builder = getattr(importlib.import_module(f".{name}", __package__), name)
    parameters = inspect.signature(builder).parameters.values()
    dims = tuple(p.name for p in parameters if p.default is p.empty)
    pairs = frozenset(p.name for p in parameters if "tuple" in str(p.annotation))
    return Family(name, builder, dims, {p.name: p.default for p in parameters if p.default is not p.empty}, pairs)


def families() -> tuple[Family, ...]:
    """All of them, by name."""
    return tuple(map(family, names))

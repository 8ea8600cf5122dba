"""Values with a name: what ``Let`` computes, what ``LoadIndex`` reads, and the scalars of a launch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..atoms import MemorySpace
from ..errors import LayoutError
from ..int_tuple import text
from ..kernel import Parameter
from ..ops import Let, LoadIndex

if TYPE_CHECKING:
    from .agent import Agent

Array = np.ndarray[Any, Any]


def let(agent: Agent, op: Let) -> None:
    """A name for the value of an expression."""
    agent.define(op.name.name, agent.value(op.value))


def load_index(agent: Agent, op: LoadIndex) -> None:
    """A name for integers in global memory. Raises LayoutError for poison and where one breaks its contract."""
    tensor = agent.tensor(op.src, MemorySpace.GLOBAL)
    kind = tensor.dtype
    if kind.kind not in ("int", "uint"):
        raise LayoutError(f"expected a tensor of integers for {op.name}, got {tensor.name} of {kind}")
    data, codes = agent.load(op.src, kind.bytes, kind.bytes)
    agent.expect_written(codes, lambda i, j: f"{agent.thread(i)} reads {op.name} from poison of {tensor.name}")
    values = np.ascontiguousarray(data).view(kind.numpy()).reshape(-1)
    low, high = agent.values(op.name.lower), agent.values(op.name.upper)
    wrong = np.flatnonzero((values < low) | (values > high))
    if wrong.size:
        i = int(wrong[0])
        at = int(agent.values(op.src.offset)[i])
        raise LayoutError(
            f"{agent.thread(i)} reads a value that breaks its contract: expected {int(low[i])} <= {op.name} <= "
            f"{int(high[i])} in {tensor.name}[{at}], got {values[i]}"
        )
    same = isinstance(agent.value(op.src.offset), int)
    agent.define(op.name.name, int(values[0]) if same else values.astype(np.int64))


def scalar(parameter: Parameter, x: Any) -> Array:
    """The number that a launch gives for a parameter, in its type.

    Raises LayoutError for a value that is not a number of that type and for one outside of its range.
    """
    kind = parameter.dtype.numpy()
    given = np.asarray(x)
    try:
        found = given.astype(kind)
    except (TypeError, ValueError):
        raise LayoutError(f"expected a number for {parameter}, got {x!r}") from None
    exact = parameter.dtype.kind == "float" or (given.dtype.kind in "iu" and int(found) == int(given))
    if found.shape != () or not exact:
        raise LayoutError(f"expected a number of {parameter.dtype} for {parameter.name}, got {x!r}")
    if parameter.within is not None and not parameter.within[0] <= float(found) <= parameter.within[1]:
        raise LayoutError(f"expected {parameter.name} within {text(parameter.within)}, got {x}")
    return found.reshape(1)

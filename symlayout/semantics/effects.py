"""Effects of instructions on a running kernel: by the word of the atom, a function of the agent and the operation.

A module of atoms adds rows of its own: ``EFFECTS["mma.m16n8k16..."] = f``, where ``f(agent, op)`` reads with
``agent.load``, writes with ``agent.store``, and hands what is asynchronous to ``agent.add(group, Pending(agent, op))``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import LayoutError

if TYPE_CHECKING:
    from .agent import Agent

Effect = Callable[["Agent", Any], None]

EFFECTS: dict[str, Effect] = {}


def effect(word: str) -> Effect:
    """The effect of an instruction. Raises LayoutError for one that has no effect yet."""
    if word not in EFFECTS:
        raise LayoutError(f"expected an instruction that can be run ({', '.join(EFFECTS)}), got {word!r}")
    return EFFECTS[word]

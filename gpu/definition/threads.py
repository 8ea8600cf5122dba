"""Functions with a thread for each element of a tensor: their parameters, and how a thread knows its coordinates."""

from __future__ import annotations

from dataclasses import dataclass

from symlayout.expr import Int, Symbol
from symlayout.int_tuple import ceil_div, product

from ..codegen.integers import UNARY
from ..codegen.lines import broken
from ..codegen.source import Argument
from .values import Values

WIDTH = 118
THREADS = 256
TILE = 16  # THREADS as a square: threads that share rows of both operands of a sum of products


@dataclass(frozen=True)
class Function:
    """A function about the elements of a tensor: its name, its parameters in order, the CTAs of its launch.

    *kind* of a parameter is tensor, wanted (what it writes), scalar or size.
    """

    tensor: str
    name: str
    arguments: tuple[Argument, ...]
    blocks: Int


def printed(function: Function, body: list[str]) -> str:
    """The text of a function with these statements."""
    head = broken(f"{function.name}({', '.join(map(str, function.arguments))}) {{", WIDTH)
    lines = [f"    {part}" for line in body for part in broken(line, WIDTH - 4)]
    return "\n".join([f'extern "C" __global__ void __launch_bounds__({THREADS})', *head, *lines, "}"])


def counted(
    values: Values, coords: tuple[Symbol, ...], extents: tuple[Int, ...], stem: str = "at"
) -> tuple[str, list[str], Int]:
    """The number of a thread's element, the last coordinate fastest; how it knows it and them; how many CTAs."""
    size = product(extents)
    at, line, digits = _split(values, coords, extents, f"int64_t(blockIdx.x) * {THREADS} + threadIdx.x", stem)
    return at, [line, f"if ({at} >= {values.c(size)}) return;", *digits], ceil_div(size, THREADS)


def tiled(values: Values, coords: tuple[Symbol, ...], extents: tuple[Int, ...]) -> tuple[list[str], Int]:
    """How a thread knows its coordinates, a square of the last two for each CTA; how many CTAs there are."""
    *outer, columns = extents
    rows, across = product(tuple(outer)), ceil_div(columns, TILE)
    tiles, column = values.free("tiles"), values.bind(coords[-1])
    count = f"blockIdx.x / {tiles} * {TILE} + threadIdx.x / {TILE}"
    at, line, digits = _split(values, coords[:-1], tuple(outer), count)
    lines = [
        f"const int64_t {tiles} = {values.c(across)};",
        line,
        f"const int64_t {column} = blockIdx.x % {tiles} * {TILE} + threadIdx.x % {TILE};",
        f"if ({at} >= {values.c(rows)} || {column} >= {values.c(columns)}) return;",
        *digits,
    ]
    return lines, ceil_div(rows, TILE) * across


def _split(
    values: Values, coords: tuple[Symbol, ...], extents: tuple[Int, ...], count: str, stem: str = "at"
) -> tuple[str, str, list[str]]:
    """A number by which a thread knows some coordinates, the last of them fastest: its name, it, and then they."""
    if len(coords) == 1:
        name = values.bind(coords[0])
        return name, f"const int64_t {name} = {count};", []
    at = values.free(stem)
    lines, left = list[str](), at
    for i in range(len(coords) - 1, -1, -1):
        extent = values.integers.of(extents[i]).inside(UNARY)
        digit = f"{left} % {extent}" if i else left
        lines.append(f"const int64_t {values.bind(coords[i])} = {digit};")
        left = f"{left} / {extent}"
    return at, f"const int64_t {at} = {count};", lines

"""``symlayout diff A B``: whether two layouts are one function."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..answers import console
from ..errors import InternalError, SymlayoutError
from .exits import fail, status


def diff(
    a: Annotated[str, typer.Argument(help='A layout: "(M,8):(8,1)", or a CuTe C++ type.')],
    b: Annotated[str, typer.Argument(help="Another layout.")],
    given: Annotated[
        list[str] | None, typer.Option(metavar="FACTS", help='What may be assumed: "ld >= M and N % 8 == 0".')
    ] = None,
    dim: Annotated[
        list[str] | None, typer.Option(metavar="SIZE", help="A size and what is known of it: M,multiple_of=8.")
    ] = None,
) -> None:
    """Say whether two layouts are one function for all sizes, or the first coordinate that differs."""
    from checkers import Equal
    from checkers import prove as proved

    from ..text.notation import parse, parse_dims, parse_fact

    try:
        symbols = parse_dims(" ".join(map(_size, dim))) if dim else ()
        facts = tuple(f for text in given or () for f in parse_fact(text, symbols))
        sides: list[Any] = [parse(text, symbols) for text in (a, b)]
        claim = Equal(*sides, given=facts)  # which refuses a swizzle by itself
        console.show_layouts({"a": claim.a, "b": claim.b})
        report = proved(claim)
    except InternalError:
        raise
    except (SymlayoutError, RecursionError, MemoryError, OverflowError) as e:
        fail(str(e) or type(e).__name__)
    for v in report.verdicts:
        console.show_verdict(v)
    raise typer.Exit(status(report, False))


def _size(text: str) -> str:
    """``M,multiple_of=8`` as ``M(multiple_of=8)``."""
    name, comma, limits = text.partition(",")
    return f"{name}({limits})" if comma and "(" not in text else text

"""Long lines of C broken where a reader would: after the commas of the outermost call, then before its operators.

>>> print(*broken("f(a + b, g(c, d), eeeeeeee);", 20), sep="\\n")
f(a + b, g(c, d),
  eeeeeeee);
"""

from __future__ import annotations

SIGNS = (",", " && ", " + ", " ^ ")
OPENING, CLOSING = "([{", ")]}"
DEEPEST = 48  # columns that what follows is moved in
SHALLOW = 4  # columns where that is too far
DEEPEST_CUT = 6  # brackets around what is cut


def broken(text: str, width: int) -> list[str]:
    """The text in lines of at most *width* columns, where its commas and operators allow it."""
    if len(text) <= width or text.startswith(("//", "#")):
        return [text]
    every = [(column, level, sign) for column in (None, SHALLOW) for level in range(1, DEEPEST_CUT) for sign in SIGNS]
    for column, level, sign in ((None, 1, ","), (SHALLOW, 1, ","), *every):
        pieces = _cut(text, sign, level)
        lines = _filled(pieces, column or _column(text, level), width)
        if len(pieces) > 1 and all(len(line) <= width for line in lines):
            return lines
    pieces = _cut(text, ",", 1)
    return _filled(pieces, 4, width) if len(pieces) > 1 else [text]


def _cut(text: str, sign: str, level: int) -> list[str]:
    """The pieces between the signs that stand in so many brackets; a comma ends a piece, an operator begins one."""
    out, start, depth = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in OPENING) - (c in CLOSING)
        if depth == level and text.startswith(sign, i):
            at = i + 1 if sign == "," else i
            out.append(text[start:at])
            start = at
    return [*out, text[start:]]


def _column(text: str, level: int) -> int:
    """The column behind the bracket that opens a level."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c in OPENING) - (c in CLOSING)
        if depth == level:
            return min(i + 1, DEEPEST)
    return 4


def _filled(pieces: list[str], column: int, width: int) -> list[str]:
    """As many pieces to a line as fit."""
    out, line = [], pieces[0]
    for piece in pieces[1:]:
        if len(line) + len(piece) <= width:
            line += piece
        else:
            out.append(line.rstrip())
            line = " " * column + piece.lstrip()
    return [*out, line]

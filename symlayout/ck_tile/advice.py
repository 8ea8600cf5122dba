"""Slips in C++ text about tensor views: what does not compile, and what compiles and means something else.

    >>> found = advise("auto d = make_tensor_descriptor(make_tuple(3, 4), make_tuple(4, 1));")
    >>> print(found[0])
    line 1: no_make_tensor_descriptor: upstream has no make_tensor_descriptor; make_naive_tensor_descriptor takes \
lengths and strides
    auto d = make_tensor_descriptor(make_tuple(3, 4), make_tuple(4, 1));
             ^

The text is not compiled: calls are found by their names and brackets, and variables by the calls that they are
initialised with. So what is found is a slip, and what is not found may be one too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

VIEWS = ("make_tensor_view", "make_naive_tensor_view", "make_naive_tensor_view_packed", "transform_tensor_view")
CALL = re.compile(r"\b([A-Za-z_]\w*)\s*(<[^<>;(){}]*(?:<[^<>;(){}]*>[^<>;(){}]*)*>)?\s*\(")
VARIABLE = re.compile(r"\bauto\s+([A-Za-z_]\w*)\s*=\s*([A-Za-z_]\w*)")
ARRAY = re.compile(r"^[ \t]+(?:float|double|int|half|half_t|bf16_t|fp16_t|index_t)\s+([A-Za-z_]\w*)\s*\[", re.MULTILINE)


@dataclass(frozen=True)
class Slip:
    """A kind of slip: its id, what is wrong with it and what to write instead."""

    id: str
    sentence: str


@dataclass(frozen=True)
class Advice:
    """A slip at a place in a text."""

    slip: Slip
    at: int  # the index of its first character
    source: str

    @property
    def line(self) -> int:
        """The number of its line, from 1 on."""
        return self.source.count("\n", 0, self.at) + 1

    def __str__(self) -> str:
        begin = self.source.rfind("\n", 0, self.at) + 1
        end = self.source.find("\n", self.at)
        text = self.source[begin : end if end >= 0 else len(self.source)]
        caret = " " * (self.at - begin) + "^"
        return f"line {self.line}: {self.slip.id}: {self.slip.sentence}\n{text}\n{caret}"


@dataclass(frozen=True)
class Call:
    """A call in a text: its name, its template arguments, its arguments, and where it begins."""

    name: str
    template: str
    arguments: tuple[str, ...]
    at: int


SLIPS = {
    row.id: row
    for row in (
        Slip(
            "no_make_tensor_descriptor",
            "upstream has no make_tensor_descriptor; make_naive_tensor_descriptor takes lengths and strides",
        ),
        Slip(
            "view_of_a_buffer",
            "make_tensor_view takes a pointer and a descriptor; of a buffer the constructor makes one: "
            "tensor_view<Buffer, Desc>{buffer, desc}",
        ),
        Slip(
            "no_call_operator",
            "a tensor_view has no call operator, and no element to assign to; "
            "get_vectorized_elements and set_vectorized_elements take a coordinate",
        ),
        Slip(
            "four_arguments",
            "transform_tensor_descriptor takes a descriptor, transforms, and two tuples of sequences: the old "
            "dimensions of each transform and its new ones; where a part begins is said by "
            "make_slice_transform(length, begin, end)",
        ),
        Slip(
            "numbers_for_dimensions",
            "dimensions are given as sequences, sequence<0>{} and sequence<1>{}; a number is no list of dimensions",
        ),
        Slip("no_vector_type", "ck_tile has no vector_type; ext_vector_t<float, 4> is its vector of four"),
        Slip("include_of_tuple", "the header of tuple is ck_tile/core/container/tuple.hpp"),
        Slip(
            "array_as_global",
            "an array of a function is private memory, and a raw buffer access needs a pointer to global memory: "
            "take the pointer as a parameter of the kernel",
        ),
        Slip(
            "window_lengths",
            "lengths of a window are known at compile time, make_tuple(number<M>{}, number<N>{}), and nothing checks "
            "that they are those of the distribution",
        ),
    )
}


def advise(source: str) -> list[Advice]:
    """The slips in a C++ text, in the order of the text. Comments and strings are passed over.

    >>> for found in advise("auto d = make_tensor_descriptor(make_tuple(3, 4), make_tuple(4, 1));"):
    ...     print(found.slip.id)
    no_make_tensor_descriptor
    """
    code = _without_comments(source)
    calls = list(_calls(code))
    kinds = dict(VARIABLE.findall(code))
    found = [(at, name) for rule in RULES for at, name in rule(code, calls, kinds)]
    return [Advice(SLIPS[name], at, source) for at, name in sorted(set(found))]


# -- rules ----------------------------------------------------------------------------------------------------

Found = Iterator[tuple[int, str]]


def _names(code: str, calls: list[Call], kinds: dict[str, str]) -> Found:
    yield from ((c.at, "no_make_tensor_descriptor") for c in calls if c.name == "make_tensor_descriptor")
    for pattern, name in ((r"\bvector_type\s*<", "no_vector_type"), (r"core/numeric/tuple\.hpp", "include_of_tuple")):
        yield from ((m.start(), name) for m in re.finditer(pattern, code))


def _views(code: str, calls: list[Call], kinds: dict[str, str]) -> Found:
    for c in calls:
        first = c.arguments[0] if c.arguments else ""
        if c.name == "make_tensor_view" and (
            "make_buffer_view" in first or "get_buffer_view" in first or kinds.get(first) == "make_buffer_view"
        ):
            yield c.at, "view_of_a_buffer"
        if kinds.get(c.name) in VIEWS:
            yield c.at, "no_call_operator"


def _transforms(code: str, calls: list[Call], kinds: dict[str, str]) -> Found:
    for c in calls:
        if c.name not in ("transform_tensor_descriptor", "transform_tensor_view"):
            continue
        if len(c.arguments) != 4:
            yield c.at, "four_arguments"
        if any(re.fullmatch(r"make_tuple\s*\(\s*(number<\d+>\{\}|\d+)(\s*,\s*(number<\d+>\{\}|\d+))*\s*\)", a)
               for a in c.arguments[2:]):  # fmt: skip
            yield c.at, "numbers_for_dimensions"


def _memory(code: str, calls: list[Call], kinds: dict[str, str]) -> Found:
    arrays = set(ARRAY.findall(code))
    for c in calls:
        if "global" in c.template and c.arguments and c.arguments[0] in arrays:
            yield c.at, "array_as_global"


def _windows(code: str, calls: list[Call], kinds: dict[str, str]) -> Found:
    for c in calls:
        if c.name == "make_tile_window" and len(c.arguments) > 1 and "number<" not in c.arguments[1]:
            yield c.at, "window_lengths"


RULES: tuple[Callable[[str, list[Call], dict[str, str]], Iterable[tuple[int, str]]], ...] = (
    _names,
    _views,
    _transforms,
    _memory,
    _windows,
)


# -- reading --------------------------------------------------------------------------------------------------


def _without_comments(source: str) -> str:
    """The text with comments and strings as spaces, so that places stay; the names of includes are kept."""
    blank = re.compile(r"//[^\n]*|/\*.*?\*/|(?<!include )\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)
    return blank.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), source)


def _calls(code: str) -> Iterator[Call]:
    ends = _ends(code)
    for m in CALL.finditer(code):
        end = ends.get(m.end() - 1)
        if end is not None:
            yield Call(m.group(1), m.group(2) or "", _arguments(code, m.end(), end, ends), m.start())


def _ends(code: str) -> dict[int, int]:
    """The place of the closing bracket of each opening one that has one, whatever their kinds."""
    open_: list[int] = []
    out: dict[int, int] = {}
    for m in re.finditer(r"[([{)\]}]", code):
        if m.group() in "([{":
            open_.append(m.start())
        elif open_:
            out[open_.pop()] = m.start()
    return out


def _arguments(code: str, begin: int, end: int, ends: dict[int, int]) -> tuple[str, ...]:
    """The arguments of a call between its brackets, split at commas outside of other brackets."""
    start, i, out = begin, begin, list[str]()
    while i < end:
        if code[i] == "," and not _in_template(code[start:i]):
            out.append(code[start:i].strip())
            start = i + 1
        i = ends.get(i, i) + 1
    last = code[start:end].strip()
    return tuple([*out, last] if last or out else [])


def _in_template(text: str) -> bool:
    """Whether a comma after this text separates arguments of a template: number<4>, but not a < b."""
    return len(re.findall(r"\w<", text)) > text.count(">")


__all__ = ["SLIPS", "Advice", "Slip", "advise"]

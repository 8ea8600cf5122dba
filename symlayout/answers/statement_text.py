"""The statement of a certificate as text: the whole claim, from the certificate's own data alone.

>>> statement_in_words({"kind": "Covers", "tiles": {"layout": {"shape": 4, "stride": 1}}, "domain": 16, "tile": 4})
'Covers of tiles 4:1, domain 16, tile 4'
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .explain import _definition, _poly

LONGEST = 200  # characters of a field that is not a layout, such as a kernel or a tensor map


def statement_in_words(statement: Any) -> str:
    """The kind, every field, what is given and the range of each size; also of a statement that does not hold."""
    try:
        return _sentence(statement)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError):
        return "a statement that cannot be read"


def _sentence(s: Mapping[str, Any]) -> str:
    names: dict[str, str] = {}
    for key, meaning in s.get("atoms", {}).items():
        names[key] = f"({_definition(meaning, names)})"
    fields = [
        f"{k} {_value(v, names)}"
        for k, v in s.items()
        if k not in ("kind", "given", "sizes", "atoms", "fact") and v not in ("", None)
    ]
    if "fact" in s:
        fields.insert(0, _fact(s["fact"], names))
    said = f"{s['kind']} of {', '.join(fields)}"
    known = [
        *(_fact(f, names) for f in s.get("given", ())),
        *(_range(n, b, names) for n, b in s.get("sizes", {}).items()),
    ]
    return f"{said}, where {', '.join(known)}" if known else said


def _range(name: str, bounds: Any, names: Mapping[str, str]) -> str:
    low, high, multiple = bounds
    out = f"{_value(low, names)} <= " if low is not None else ""
    out += name + (f" <= {_value(high, names)}" if high is not None else "")
    return out + (f" and {multiple} divides {name}" if multiple != 1 else "")


def _fact(f: Any, names: Mapping[str, str]) -> str:
    p, relation, modulus = f
    return f"{_value(p, names)} % {modulus} == 0" if relation == "%" else f"{_value(p, names)} {relation} 0"


def _value(x: Any, names: Mapping[str, str]) -> str:
    if isinstance(x, list):
        return f"({','.join(_value(y, names) for y in x)})"
    if not isinstance(x, dict):
        return str(x)
    if "poly" in x:
        return _poly(x["poly"], names)
    if "basis" in x:
        return f"{_value(x['value'], names)}@{'@'.join(map(str, x['basis']))}"
    if "layout" in x:
        return f"{_value(x['layout']['shape'], names)}:{_value(x['layout']['stride'], names)}"
    if "composed" in x:
        c = x["composed"]
        bits, base, shift = c["swizzle"]
        return f"Sw<{bits},{base},{shift}> o {_value(c['offset'], names)} o {_value({'layout': c['inner']}, names)}"
    if "map" in x:
        m = x["map"]
        box = ", ".join(f"{c} < {_value(n, names)}" for c, n in zip(m["coords"], m["extents"], strict=True))
        when = " and ".join(_fact(f, names) for f in m["valid"])
        said = f"({','.join(m['coords'])}) -> {_value(m['value'], names)} for {box}"
        return f"{said} when {when}" if when else said
    if "graph" in x:
        return _graph(x["graph"], names)
    if "access" in x:
        return ", ".join(f"{k} {_value(v, names)}" for k, v in x["access"].items())
    if "kernel" in x:
        return f"{x['kernel']} ({x['digest'][:16]})"
    text = str(x.get("serial", x))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _graph(g: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """A descriptor of CK Tile: its indices, then each transform from the top on, with its dimensions."""
    said = [f"({','.join(g['coords'])}) as dimensions {_ids(g['top'])}"]
    for (kind, *values), low, up in reversed([*zip(g["transforms"], g["lower"], g["upper"], strict=True)]):
        parameters = ", ".join(_value(v, names) for v in values if v is not False)
        said.append(f"{_ids(low)} = {kind}({parameters}) of {_ids(up)}")
    return "; ".join([*said, f"value {_ids(g['bottom'])}"])


def _ids(ids: Any) -> str:
    return f"[{','.join(map(str, ids))}]"

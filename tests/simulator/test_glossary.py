"""Each word that a prediction prints has an entry, and each entry is of a word that one can print."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

import simulator
from simulator.glossary import CAUSES, RESOURCES, entries
from simulator.sm import UNITS
from symlayout.answers.explain import explain
from symlayout.kernels import gemm
from tests.support.kernel_families import FAMILIES

SOURCES = [Path(simulator.__file__).with_name(name).read_text(encoding="utf-8") for name in ("lockstep.py", "warp.py")]


@pytest.fixture(scope="module")
def traces() -> list[simulator.Trace]:
    """Predictions of each family at the first sizes of its tests, and of a product in clusters."""
    bound = [f.build().bind(**f.sizes[0]) for f in FAMILIES if f.sizes]
    bound.append(gemm(512, 512, 1024, cluster=2).bind())
    return [simulator.simulate(k, what_if=True, uncertainty=False) for k in bound]


def test_each_resource_has_its_entry(traces):
    shown = {name for t in traces for name in (*(u.name for u in t.uses), *t.what_if)}

    assert shown == set(RESOURCES)
    assert set(UNITS) <= set(RESOURCES)


def test_each_cause_has_its_entry(traces):
    shown = {s.cause for t in traces for s in t.stalls}
    quoted = {name for name in CAUSES for source in SOURCES if f'"{name}"' in source}

    assert shown <= {*CAUSES, *RESOURCES}
    assert set(CAUSES) - shown - quoted == {"mbarrier"}  # stands for barriers of kernels with other names


def test_each_entry_is_found_by_its_name():
    for e in entries():
        assert e.text in explain(e.name, (), entries()).text


def test_each_number_is_there_with_all_machines():
    for name in simulator.H200.numbers:
        lines = explain(name, (), entries()).text.splitlines()

        assert [x for x in lines if str(simulator.H200[name]).partition(" = ")[2] in x]
        assert [m.name for m in map(simulator.machine, simulator.machines()) if not _of(m.name, lines)] == []


def _of(machine: str, lines: Iterable[str]) -> bool:
    return any(x.startswith(f"{machine}: ") for x in lines)


@pytest.mark.parametrize(
    "asked, name",
    [("mbarrier tile_ready", "mbarrier"), ("l2 WRITES", "L2 writes"), ("gpc_rate and 3 more", "gpc_rate")],
)
def test_words_as_reports_print_them(asked, name):
    assert explain(asked, (), entries()).name == name

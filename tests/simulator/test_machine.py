"""Machines as data: grades, units, sources; the numbers that timing classes need."""

from __future__ import annotations

import pytest

from simulator import simulate
from simulator.engine import SimulationError
from simulator.machine import H200, Machine, Number, load, machine, machines
from simulator.timing_classes import ATOM_CLASSES, OPERATION_ROWS, REGISTERS, SPECIAL, timing_class
from symlayout.atoms import ATOMS
from symlayout.atoms.functions import FUNCTIONS
from symlayout.kernel import Builder
from symlayout.kernels import bulk_copy
from symlayout.ops import OPERATIONS, ByAtom, Copy, Map, Ref


@pytest.mark.parametrize("name", machines())
def test_each_number_has_a_source_and_a_range(name):
    for row in machine(name).numbers.values():
        assert row.source
        assert 0 <= row.uncertainty < 1
        assert row.grade != "given"


def test_each_atom_has_a_timing_class():
    assert [word for word in ATOMS if word not in ATOM_CLASSES] == []


def test_each_operation_has_a_timing_class():
    """Those that name an atom have that of it."""
    assert [x.__name__ for x in OPERATIONS if x not in OPERATION_ROWS and not issubclass(x, ByAtom)] == []


@pytest.mark.parametrize("name", machines())
def test_each_timing_class_has_its_numbers_as_times(name):
    one = machine(name)
    for row in (*ATOM_CLASSES.values(), *OPERATION_ROWS.values(), SPECIAL):
        for number in row.numbers:
            assert one.ps(number) > 0


def test_an_atom_without_a_row_is_named():
    with pytest.raises(SimulationError, match=r"a timing class of ld.moon.4, got none; add a row to"):
        timing_class(Copy("ld.moon.4", Ref("x"), Ref("y")))


def test_each_function_has_a_timing_class():
    """Those of the special function units (PTX: .approx, and what rounds once), and the rest."""
    rows = {f: timing_class(Map(f, (Ref("x"),) * len(row.counts), Ref("y"))) for f, row in FUNCTIONS.items()}

    assert {f for f, row in rows.items() if row is SPECIAL} == {
        f for f in FUNCTIONS if ".approx" in f or f in ("div", "rcp", "sqrt")
    }
    assert {row for row in rows.values() if row is not SPECIAL} == {REGISTERS}


@pytest.mark.parametrize("warps, depth, cycles", [(1, 1, 17), (4, 1, 17), (1, 8, 8), (8, 8, 16), (16, 8, 32)])
def test_special_functions_take_the_cycles_that_were_measured(warps, depth, cycles):
    """M1: chains of ex2, so many side by side in each warp."""
    times = []
    for rounds in (40, 140):
        k = Builder("chains", grid=(1,), threads=32 * warps)
        xs = [k.registers(f"x{i}", "f32", 1) for i in range(depth)]
        for _ in range(rounds):
            for x in xs:
                k.map("ex2.approx", (x(),), x())
        times.append(simulate(k.kernel(), H200, what_if=False, uncertainty=False).time_ps)

    assert (times[1] - times[0]) / H200.cycle == pytest.approx(100 * cycles * depth, rel=0.02)


def test_cycles_and_rates_become_picoseconds():
    machine = H200.replacing(alu_latency=4, sm_port_rate=64, sm_clock=1.98)
    assert machine.ps("alu_latency") == 2020  # 4 cycles of 505.05 ps
    assert H200.replacing(dram_rate=4200).transfer("dram_rate", 4200) == 1000
    assert machine.transfer("sm_port_rate", 64 * 198) == 100_000


@pytest.mark.parametrize(
    "row, message",
    [
        ({"unit": "miles"}, "expected a unit of cycles, ns, .*, got 'miles'"),
        ({"grade": "hoped"}, "expected a grade of measured, .*, got 'hoped'"),
        ({"value": 0}, "expected a number above 0 for x, got 0 ns"),
        ({"value": "4"}, "expected a number above 0 for x, got '4' ns"),
        ({"value": 1e300}, r"expected 0 to 1e\+09 ns for x, got 1e\+300 ns"),
        ({"value": 1e-9, "unit": "B/ns"}, "expected 0.0001 to .* B/ns for x, got 1e-09 B/ns"),
        ({"value": 2, "unit": "part"}, "expected 0 to 1 part for x, got 2 part"),
        ({"uncertainty": "5 %"}, "expected an uncertainty of x from 0 to 1, got '5 %'"),
        ({"uncertainty": -0.1}, "expected an uncertainty of x from 0 to 1, got -0.1"),
        ({"uncertainty": float("nan")}, "expected an uncertainty of x from 0 to 1, got nan"),
        ({"source": 5}, "expected the source of x as text, got 5"),
        ({"of": 5}, "expected the machine of x as text, got 5"),
    ],
)
def test_a_wrong_number_is_refused(row, message):
    with pytest.raises(SimulationError, match=message):
        Number("x", **{"value": 1, "unit": "ns", "grade": "guessed", "source": "s", **row})


def test_a_number_that_a_machine_lacks_is_named():
    with pytest.raises(SimulationError, match="expected a number 'l3_rate' of NVIDIA H200, got none"):
        H200.replacing(l3_rate=5)
    with pytest.raises(SimulationError, match="expected dram_rate of NVIDIA H200 in cycles or ns, got B/ns"):
        H200.ps("dram_rate")
    with pytest.raises(SimulationError, match="expected a number 'sm_clock' of bare, got none"):
        Machine("bare", {}).cycle


NUMBER = 'value = 5\nunit = "B/ns"\ngrade = "given"\nsource = "s"\n'


def test_a_file_of_a_user_may_change_some_numbers_of_a_machine(tmp_path):
    row = 'value = 60\nunit = "count"\ngrade = "documented"\nsource = "data sheet"\n'
    (tmp_path / "half.toml").write_text(f'base = "h200"\n[sms]\n{row}')
    half = load(tmp_path / "half.toml")

    assert (half.name, half.count("sms"), half["dram_rate"].value) == ("half", 60, H200["dram_rate"].value)


def test_numbers_of_another_machine_say_so_and_are_less_certain(tmp_path):
    (tmp_path / "new.toml").write_text('base = "h200"\nbase_uncertainty = 0.3\n' + f"[dram_rate]\n{NUMBER}")
    new = load(tmp_path / "new.toml")

    assert {n.of for n in new.numbers.values()} == {"", H200.name}
    assert [n.name for n in new.numbers.values() if not n.of] == ["dram_rate"]
    assert (new["launch"].uncertainty, new["sms"].uncertainty, new["launch"].value) == (0.3, 0.0, H200["launch"].value)
    assert machine("a100")["alu_latency"].uncertainty >= 0.2
    assert not any(n.of for n in H200.numbers.values())


def test_a_machine_has_the_instructions_of_its_architecture(tmp_path):
    (tmp_path / "old.toml").write_text('base = "h200"\ncompute_capability = [8, 0]\n')

    assert H200.compute_capability == (9, 0)
    assert load(tmp_path / "old.toml").compute_capability == (8, 0)


@pytest.mark.parametrize(
    "text, message",
    [
        ('base = "d"', "expected a machine .*, got 'd'"),
        ("[dram_rate]\nspeed = 5\n", "of dram_rate in .*speed"),
        ("[", "a machine as TOML"),
        (None, "got one that does not exist"),
        ("compute_capability = 8\n", r"expected a compute_capability such as \[9, 0\] in .*, got 8"),
        ("lacks = 5", "expected a list of words of instructions that a lacks in .*, got 5"),
        ('lacks = "wgmma"', "expected a list of words .*, got 'wgmma'"),
        ("base_uncertainty = 20", "expected a base_uncertainty from 0 to 1 in .*, got 20"),
        ("name = 5", "expected a name as text in .*, got 5"),
        (f"[dram_rat]\n{NUMBER}", "expected numbers that the model has in .*, got 'dram_rat'; did you mean dram_rate"),
    ],
)
def test_a_file_that_is_no_machine_is_refused(tmp_path, text, message):
    file = tmp_path / "a.toml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(SimulationError, match=message):
        load(file)


@pytest.mark.parametrize("extreme", [{"sm_clock": 1e-4}, {"dram_rate": 1e-4}, {"launch": 1e9}, {"tma_issue": 1e9}])
def test_numbers_at_the_ends_of_what_they_may_be_are_simulated(extreme):
    bound = bulk_copy(1 << 14, chunk=256, slots=2, blocks=2).bind()

    assert simulate(bound, H200.replacing(**extreme), uncertainty=False).seconds > 1e-6


def test_a_machine_is_short_where_help_shows_it():
    """``help(simulator.simulate)`` had all of its numbers in the signature."""
    assert repr(H200) == "Machine(name='NVIDIA H200', compute_capability=(9, 0), lacks=())"

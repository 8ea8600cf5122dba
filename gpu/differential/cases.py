"""One case on the device: run, look at what lies around, compare every byte, say what is wrong first.

Outputs are poison before the run. Where the untimed run of the same inputs takes seconds, what it stores is compared,
and the reference; it also knows which operation wrote an element. Larger sizes are compared on the device, with the
definition of the kernel as a kernel of its own (``gpu.definition``), or with the reference where it has none.
"""

from __future__ import annotations

import functools
import pickle
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from symlayout.atoms import MemorySpace
from symlayout.kernel import Kernel
from symlayout.semantics.execute import run as untimed
from symlayout.semantics.machine import Machine
from symlayout.semantics.matrix_sums import accumulated, tensor_core_sums

from ..definition.running import Defined, defined
from ..device import Device
from ..errors import RunError
from ..running import Generated, expect_proved, run_unproved
from . import data
from .found import DIFFERS, OUTSIDE, SAME, Case
from .on_device import on_device
from .wrong import difference, out_of_range

Array = np.ndarray[Any, Any]

DEFINITION = "definition on the device"
UNTIMED_BYTES, UNTIMED_CTAS = 512 << 10, 160  # up to which the untimed run takes a second or so


@functools.lru_cache(maxsize=4)
def _kernel(packed: bytes) -> tuple[Kernel, Any]:
    kernel, certificate = pickle.loads(packed)
    return kernel, certificate


@functools.lru_cache(maxsize=4)
def _generated(packed: bytes, delays: int | None) -> Generated:
    return Generated(_kernel(packed)[0], delays=delays)


@functools.lru_cache(maxsize=4)
def _defined(packed: bytes) -> Defined | str:
    return defined(_kernel(packed)[0])


def cases(
    packed: bytes, word: str, sizes: Mapping[str, int], delays: int | None, ordinal: int
) -> tuple[tuple[Case, ...], str, str]:
    """The cases at some sizes, one for each set of data, with the device's name and its architecture."""
    kernel, certificate = _kernel(packed)
    with Device(ordinal) as device:
        bound = kernel.bind(**sizes) if kernel.dims else kernel
        if certificate is not None:
            expect_proved(bound, certificate, device.arch)
        code = _generated(packed, delays)
        by = None if is_small(bound) else data.rounds(bound) or no_room(bound, device) or _defined(packed)
        if isinstance(by, Defined):
            found = tuple(large_case(bound, code, by, device, word, name) for name in data.words(bound))
        else:
            sets = [*data.data_sets(bound, len(sizes))]
            wide = None if by else data.rounded(bound, len(sizes))
            sets += [] if wide is None else [(data.ROUNDED, wide)]
            found = tuple(case(bound, code, device, word, name, inputs, by or "") for name, inputs in sets)
        return found, device.facts.name, str(device.arch)


def large_case(bound: Kernel, code: Generated, definition: Defined, device: Device, word: str, name: str) -> Case:
    """One run with one set of data, which is made and compared on the device."""
    start = time.perf_counter()
    outcome, told = on_device(bound, code, definition, device, name)
    return Case(word, tuple(bound.sizes), name, outcome, told, (DEFINITION,), time.perf_counter() - start)


def case(
    bound: Kernel,
    code: Generated,
    device: Device,
    word: str,
    name: str,
    inputs: Mapping[str, Any],
    why_host: str = "",
) -> Case:
    """One run with one set of data, compared on the host.

    *rounded* data are compared with an untimed run whose products are those of tensor cores, and with that alone.
    """
    start = time.perf_counter()
    outcome, told, compared = _on_host(bound, code, device, name, inputs)
    return Case(word, tuple(bound.sizes), name, outcome, told, compared, time.perf_counter() - start, why_host)


def _on_host(
    bound: Kernel, code: Generated, device: Device, name: str, inputs: Mapping[str, Any]
) -> tuple[str, str, tuple[str, ...]]:
    """The outcome of a run, what is to be said of it, and what it was compared with: reference and untimed run."""
    exact = name != data.ROUNDED
    sums = accumulated if exact else tensor_core_sums
    machine = untimed(bound, inputs, "eager", sums=sums) if is_small(bound) else None
    wanted = data.wanted(bound, inputs) if exact else None
    ranges, of = data.ranges(bound, inputs) if exact else ({}, "")
    try:
        got = run_unproved(bound, inputs, device, code)
    except RunError as e:
        return OUTSIDE, str(e), ()
    ran = "untimed run" if exact else "untimed run with sums of tensor cores"
    every = {"reference": wanted, ran: _stored(machine, got)}
    told, compared = out_of_range(bound, machine, got, ranges, of), [of] if ranges else []
    for source, arrays in every.items():
        same = {k: x for k, x in (arrays or {}).items() if k not in ranges}
        if same:
            compared.append(source)
            told = told or difference(bound, machine, got, same, source)
    return DIFFERS if told else SAME, told, tuple(compared)


def no_room(bound: Kernel, device: Device) -> str:
    """Why a device cannot hold each tensor twice; "" where it can."""
    needed, free = 2 * _global_bytes(bound), device.driver.free_bytes()
    return "" if needed <= free else f"all tensors twice take {needed} bytes of device memory, and {free} are free"


def is_small(bound: Kernel) -> bool:
    """Whether the untimed run takes a second or so."""
    return _global_bytes(bound) <= UNTIMED_BYTES and int(np.prod([int(n) for n in bound.grid])) <= UNTIMED_CTAS


def _global_bytes(bound: Kernel) -> int:
    return sum(int(t.bytes) for t in bound.tensors if t.space is MemorySpace.GLOBAL)


def _stored(machine: Machine | None, got: Mapping[str, Array]) -> dict[str, Array] | None:
    return None if machine is None else {name: machine.memory[name].get() for name in got}

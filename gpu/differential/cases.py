"""One case on the device: run, look at what lies around, compare every byte, say what is wrong first.

Outputs are poison before the run. What the untimed run of the same inputs stores is compared too where it is small
enough to take seconds; it also knows which operation wrote an element.
"""

from __future__ import annotations

import contextlib
import functools
import pickle
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from checkers.claim import TooLarge
from checkers.coverage.writes import writer_at
from symlayout.atoms import MemorySpace
from symlayout.int_tuple import text, unflatten
from symlayout.kernel import Kernel, KernelTensor
from symlayout.semantics.execute import as_bytes
from symlayout.semantics.execute import run as untimed
from symlayout.semantics.machine import Machine
from symlayout.semantics.matrix_sums import accumulated, tensor_core_sums

from ..device import Device
from ..errors import RunError
from ..running import Generated, expect_proved, run_unproved
from . import data
from .found import DIFFERS, OUTSIDE, SAME, Case

Array = np.ndarray[Any, Any]

UNTIMED_BYTES, UNTIMED_CTAS = 512 << 10, 160  # up to which the untimed run takes a second or so


@functools.lru_cache(maxsize=4)
def _kernel(packed: bytes) -> tuple[Kernel, Any]:
    kernel, certificate = pickle.loads(packed)
    return kernel, certificate


@functools.lru_cache(maxsize=4)
def _generated(packed: bytes, delays: int | None) -> Generated:
    return Generated(_kernel(packed)[0], delays=delays)


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
        sets = [*data.data_sets(bound, len(sizes))]
        wide = data.rounded(bound, len(sizes)) if is_small(bound) else None
        sets += [] if wide is None else [(data.ROUNDED, wide)]
        found = tuple(case(bound, code, device, word, name, inputs) for name, inputs in sets)
        return found, device.facts.name, str(device.arch)


def case(bound: Kernel, code: Generated, device: Device, word: str, name: str, inputs: Mapping[str, Any]) -> Case:
    """One run with one set of data, compared.

    *rounded* data are compared with an untimed run whose products are those of tensor cores, and with that alone.
    """
    start = time.perf_counter()
    compared: tuple[str, ...] = ()
    exact = name != data.ROUNDED
    sums = accumulated if exact else tensor_core_sums
    machine = untimed(bound, inputs, "eager", sums=sums) if is_small(bound) else None
    wanted = data.wanted(bound, inputs) if exact else None
    try:
        got = run_unproved(bound, inputs, device, code)
    except RunError as e:
        outcome, told = OUTSIDE, str(e)
    else:
        ran = "untimed run" if exact else "untimed run with sums of tensor cores"
        every = {"reference": wanted, ran: _stored(machine, got)}
        told = ""
        for source, arrays in every.items():
            if arrays is not None:
                compared += (source,)
                told = told or difference(bound, machine, got, arrays, source)
        outcome = DIFFERS if told else SAME
    sizes = tuple((k, n) for k, n in bound.sizes)
    return Case(word, sizes, name, outcome, told, compared, time.perf_counter() - start)


def is_small(bound: Kernel) -> bool:
    """Whether the untimed run takes a second or so."""
    moved = sum(int(t.bytes) for t in bound.tensors if t.space is MemorySpace.GLOBAL)
    return moved <= UNTIMED_BYTES and int(np.prod([int(n) for n in bound.grid])) <= UNTIMED_CTAS


def _stored(machine: Machine | None, got: Mapping[str, Array]) -> dict[str, Array] | None:
    return None if machine is None else {name: machine.memory[name].get() for name in got}


def difference(
    bound: Kernel, machine: Machine | None, got: Mapping[str, Array], wanted: Mapping[str, Array], source: str
) -> str:
    """The first element that is not as it should be, and who wrote it; "" where every byte is."""
    for name, want in wanted.items():
        x, tensor = got[name], bound.tensor(name)
        if np.array_equal(_flat(x), _flat(want)):
            continue
        wrong = (as_bytes(x) != as_bytes(want)).any(axis=-1)
        at = tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
        offset = int(tensor.layout(unflatten(at, tensor.layout.shape)))
        return (
            f"{name} differs from the {source} in {np.count_nonzero(wrong)} of {wrong.size} elements, first at "
            f"{text(at)}, offset {offset}: expected {_shown(want[at])}, got {_shown(x[at])}, "
            f"{_writer(bound, machine, tensor, at)}"
        )
    return ""


def _flat(x: Array) -> Array:
    return np.ascontiguousarray(x).reshape(-1).view(np.uint8)


def _shown(x: Any) -> str:
    """A number and its bits."""
    return f"{x} ({np.asarray(x).tobytes()[::-1].hex()})"


def _writer(bound: Kernel, machine: Machine | None, tensor: KernelTensor, at: tuple[int, ...]) -> str:
    """The operation that wrote an element: as the untimed run knows it, else the one whose box covers it."""
    if machine is not None:
        return machine.memory[tensor.name].written_by(at)
    with contextlib.suppress(TooLarge):
        found = writer_at(bound, tensor.name, int(tensor.layout(unflatten(at, tensor.layout.shape))))
        return f"written by {found}" if found else "which no operation writes"
    stores = [str(op) for op in bound.walk() if any(bound.touched(t) == tensor.name for t in op.changes())]
    return f"which {' or '.join(dict.fromkeys(stores)) or 'no operation'} writes"

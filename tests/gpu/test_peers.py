"""Accesses to the memory of a peer in machine code, and on a device."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

import gpu
from checkers import prove
from gpu.codegen import emit
from tests.support.compilers import NEEDS_MACHINE_CODE
from tests.support.peer_kernels import sent, summed

OPCODES = {"st.async": "STAS", "st.cluster": "ST.E", "ld.cluster": "LD.E"}


@NEEDS_MACHINE_CODE
@pytest.mark.parametrize("how", OPCODES)
def test_each_way_is_an_instruction_of_its_own(how: str) -> None:
    code = gpu.compile(emit(summed(how=how)).text, name="summed.cu").instructions("summed")
    found = {i.opcode for i in code.every}

    assert {op for op in OPCODES.values() if op in found} == {OPCODES[how]}


@NEEDS_MACHINE_CODE
@pytest.mark.parametrize("wide", [4, 8, 16])
def test_each_width_compiles(wide: int) -> None:
    code = gpu.compile(emit(sent(wide=wide)).text, name="sent.cu").instructions("sent")

    assert any(i.opcode.startswith("STAS") for i in code.every)


@pytest.mark.gpu
@pytest.mark.parametrize("how", OPCODES)
def test_it_leaves_the_bytes_of_its_reference(gpu_run: Callable[..., Any], how: str) -> None:
    there = gpu.availability()
    if not there.ok and os.environ.get("SYMLAYOUT_REQUIRE_GPU") != "1":
        pytest.skip(there.reason)
    kernel = summed(how=how)

    gpu_run(kernel, prove(kernel).certificate, [{"R": 1}, {"R": 5}, {"R": 64}], delays=5)

"""A recording stand-in for the driver, a device on it, and a module that is loaded there."""

import pytest

import gpu
from tests.support import cuda_stand_in as stand_in
from tests.support.launches import CUBIN


@pytest.fixture
def machine(monkeypatch):
    return stand_in.install(monkeypatch)


@pytest.fixture
def device(machine):
    with gpu.Device(limit_s=0.3) as device:
        machine.calls.clear()
        yield device


@pytest.fixture
def module(device, machine):
    module = gpu.load(CUBIN)
    machine.calls.clear()
    return module

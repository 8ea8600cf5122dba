"""Errors between source text and bytes on a device: one exception each, all of the package's family."""

from __future__ import annotations

from symlayout.errors import SymlayoutError


class CompileError(SymlayoutError, RuntimeError):
    """A source that no compiler accepts, or machine code with what fast code must not have; ``log`` has the report."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


class NoCompilerError(CompileError):
    """Neither NVRTC nor nvcc is there; the message has the command that installs one."""


class CubinError(SymlayoutError, ValueError):
    """Bytes that are not a cubin, or a cubin without the requested part."""


class DeviceError(SymlayoutError, RuntimeError):
    """An answer of the driver other than success: the call, and the driver's name for its error."""


class NoDeviceError(DeviceError):
    """No device can be used here, with the reason."""


class LaunchError(SymlayoutError, ValueError):
    """A launch that the kernel, its parameters or the device do not admit; nothing was sent to the device."""


class NotProvedError(LaunchError):
    """A run whose certificate is of another kernel, another architecture or other sizes; nothing was sent."""


class ChildError(SymlayoutError, RuntimeError):
    """A case that ended in its child process without a value; ``said`` is the end of its standard error."""

    def __init__(self, message: str, said: str = "") -> None:
        super().__init__(message)
        self.said = said


class TimedOutError(ChildError):
    """A case that was still running at its time limit, and was killed."""


class CrashedError(ChildError):
    """A child process that a signal ended, or that left without an answer."""


class RaisedError(ChildError):
    """An exception that the case raised in its child process; ``kind`` names its class."""

    def __init__(self, message: str, said: str = "", kind: str = "") -> None:
        super().__init__(message, said)
        self.kind = kind


class RunError(SymlayoutError, AssertionError):
    """A run on a device that ended otherwise than it should: a guard, an input or an output with wrong bytes."""

"""A launch that can be sent again: checked once, its arguments packed once.

>>> import gpu
>>> prepared = module.prepare("scale", grid=8, block=128, args=[x, 1000, 2.0])     # doctest: +SKIP
>>> prepared.send()                                                                # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .device import Device, Pending


class Prepared:
    """A launch of a kernel with its arguments, which it keeps."""

    def __init__(
        self, device: Device, name: str, send: Callable[[], None], stream: Any, kept: tuple[Any, ...] = ()
    ) -> None:
        self.device, self.name, self._send, self._stream, self._kept = device, name, send, stream, kept

    def send(self) -> None:
        """Launch, with one call of the driver. Nothing waits for it but the device's own waits.

        Raises DeviceError where the driver refuses.
        """
        self._send()

    def launch(self) -> Pending:
        """Launch, and return what waits for it. Raises DeviceError where the driver refuses."""
        self._send()
        pending = Pending(self.device, self.name, self.device.driver.record(self._stream), self._kept)
        self.device.watch(pending)
        return pending

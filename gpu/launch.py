"""Kernels of a cubin launched on a device, with arrays of any library.

>>> import gpu
>>> cubin = gpu.compile(source)                                                # doctest: +SKIP
>>> with gpu.Device():                                                         # doctest: +SKIP
...     module = gpu.load(cubin)
...     module.launch("scale", grid=1, block=128, args=[x, 128, 2.0])
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np

from symlayout import TensorMap
from symlayout.kernel.launch_checks import check_launch
from symlayout.rules import launch as launch_rules

from .arguments import expect_count, packed, pointer, scalar
from .arrays import DeviceArray, device_array, flat_bytes, one_stream, stream_handle
from .cubin import Cubin, KernelCode
from .device import Buffer, Device, Pending, array_of, current_device
from .driver import Configuration, Function, Three
from .errors import LaunchError
from .prepared import Prepared
from .tensormap import encoded, over

Axes: TypeAlias = "int | Sequence[int]"

KEPT_MAPS = 256  # encoded maps of a module: new addresses at every launch must not fill memory
# A kernel value deals work to whole warps; a kernel by hand need not.
RULES = tuple(rule for rule in launch_rules.RULES if rule.id != "cta_whole_warps")


@dataclass(frozen=True, eq=False)
class Mapped:
    """A tensor map over an array: the map's address counts from the array's first element, in bytes."""

    map: TensorMap
    array: Any


@dataclass(frozen=True, eq=False)
class In:
    """A NumPy array that the kernel only reads: it is copied to the device, and not back."""

    array: np.ndarray[Any, Any]


def load(cubin: Cubin | bytes, device: Device | None = None) -> Module:
    """The kernels of a cubin on a device, by default the current one.

    Raises LaunchError outside of ``with gpu.Device()`` and for a cubin of another architecture, DeviceError where the
    driver refuses it.
    """
    return Module(device or current_device(), cubin if isinstance(cubin, Cubin) else Cubin(cubin))


class Module:
    """A cubin that a device has loaded, until the device ends or ``free`` is called."""

    def __init__(self, device: Device, cubin: Cubin) -> None:
        _expect_arch(cubin, device)
        self.device, self.cubin = device, cubin
        self._loaded = device.driver.load(cubin.image)
        self._functions: dict[str, Function] = {}
        self._admitted: set[tuple[str, Configuration]] = set()
        self._maps: dict[TensorMap, bytes] = {}
        device.own(self)

    def free(self) -> None:
        """Unload the cubin; more than once does nothing."""
        self.device.forget(self)
        self._functions.clear()
        self.device.give_back(self._loaded, self._loaded.unload)

    def function(self, name: str) -> Function:
        """The driver's handle of a kernel. Raises CubinError for a name that the cubin does not have."""
        if name not in self._functions:
            offsets = [p.offset for p in self.cubin.kernel(name).parameters]
            self._functions[name] = self._loaded.function(name, offsets)
        return self._functions[name]

    def launch(
        self,
        name: str,
        grid: Axes,
        block: Axes,
        args: Sequence[Any],
        *,
        cluster: Axes | None = None,
        shared: int = 0,
        stream: Any = None,
        kernel: Any = None,
        tensors: Mapping[str, Any] | None = None,
        limit_s: float | None = None,
    ) -> Pending:
        """Launch a kernel, and return what waits for it.

        *grid* counts CTAs, *block* threads, *cluster* CTAs of a cluster (None: as the kernel was compiled), *shared*
        bytes of dynamic shared memory. *args* has one entry for each parameter:

        * arrays of PyCUDA, torch, CuPy, JAX and buffers of the device, as pointers: no copy, kept until the launch is
          done. The launch goes to the stream on which their library works, unless *stream* names another;
        * NumPy arrays: copied to the device, and back once the kernel has ended, except those that are read-only or
          wrapped in ``In``; then ``launch`` waits;
        * ``Mapped(tensor_map, array)`` for a ``const __grid_constant__ CUtensorMap``, or a TensorMap with an address;
        * numbers, as the parameter's size says: an int is an integer, a float a floating-point number; NumPy scalars
          and bytes as they are.

        With *kernel*, a kernel value bound to sizes, and *tensors*, its arrays by name, what proofs assume of their
        addresses and sizes is checked before the launch.

        Raises LaunchError for arguments that the kernel or the device does not admit, and AssumptionError for tensors
        that break the assumptions of proofs. Raises DeviceError if the driver refuses, if the kernel faults or, when
        it waits, takes longer than *limit_s* seconds; all allocations are freed.
        """
        asked = self._asked(name, grid, block, cluster, shared, len(args))
        with contextlib.ExitStack() as ends:
            arrays = _Arrays(self.device, _arrays_of(args, kernel, tensors), ends)
            pending = self._prepared(name, asked, args, arrays, stream, (kernel, tensors)).launch()
            if arrays.copied or limit_s is not None:
                pending.wait(limit_s)
                arrays.copy_back()
        return pending

    def prepare(
        self,
        name: str,
        grid: Axes,
        block: Axes,
        args: Sequence[Any],
        *,
        cluster: Axes | None = None,
        shared: int = 0,
        stream: Any = None,
        kernel: Any = None,
        tensors: Mapping[str, Any] | None = None,
    ) -> Prepared:
        """A launch of arrays on the device for which all is checked and packed, to be sent as often as one likes.

        Parameters and errors are those of ``launch``; LaunchError also for an array of NumPy, which each launch would
        have to copy.
        """
        asked = self._asked(name, grid, block, cluster, shared, len(args))
        held = next((x for x in _arrays_of(args, kernel, tensors) if isinstance(x, np.ndarray | In)), None)
        if held is not None:
            raise LaunchError(
                f"expected arrays on the device for a launch of {name} that is prepared, got {type(held).__name__}; "
                "device.upload(x) copies it"
            )
        with contextlib.ExitStack() as ends:
            arrays = _Arrays(self.device, _arrays_of(args, kernel, tensors), ends)
            return self._prepared(name, asked, args, arrays, stream, (kernel, tensors))

    def _asked(
        self, name: str, grid: Axes, block: Axes, cluster: Axes | None, shared: int, arguments: int
    ) -> Configuration:
        """The configuration of a launch. Raises LaunchError where the kernel or the device does not admit it."""
        code = self.cubin.kernel(name)
        asked = Configuration(
            _three(grid, "grid"),
            _three(block, "block"),
            None if cluster is None else _three(cluster, "cluster"),
            shared,
        )
        self._expect_launchable(code, asked)
        expect_count(arguments, len(code.parameters))
        return asked

    def _prepared(
        self,
        name: str,
        asked: Configuration,
        args: Sequence[Any],
        arrays: _Arrays,
        stream: Any,
        checked: tuple[Any, Mapping[str, Any] | None],
    ) -> Prepared:
        """The launch, checked against a kernel value where there is one, its arguments packed."""
        code, where, (kernel, tensors) = self.cubin.kernel(name), self._stream(stream, arrays), checked
        values = [
            self._argument(value, size, f"argument {i} of {name}", arrays)
            for i, (value, (_, size)) in enumerate(zip(args, code.parameters, strict=True))
        ]
        if kernel is not None:
            check_launch(kernel, {t: arrays.of(x, f"tensor {t}").place for t, x in (tensors or {}).items()})
        if asked.cluster == code.cluster:
            asked = asked._replace(cluster=None)  # the source says so already
        function = self.function(name)
        self._opt_in(function, asked)
        send = self.device.driver.prepared(function, asked, where, packed(values, code.parameters))
        return Prepared(self.device, name, send, where, (self, *arrays.owners, stream))

    def active_clusters(self, name: str, block: Axes, cluster: Axes, shared: int = 0) -> int:
        """The number of clusters of a kernel that the device runs at once: the size of a persistent grid.

        Raises LaunchError for what the kernel or the device does not admit, DeviceError where the driver refuses.
        """
        shape = _three(cluster, "cluster")
        asked = Configuration(shape, _three(block, "block"), shape, shared)
        self._expect_launchable(self.cubin.kernel(name), asked)
        function = self.function(name)
        self._opt_in(function, asked)
        return self.device.driver.active_clusters(function, asked)

    # -- parts of a launch -----------------------------------------------------------------------------

    def _expect_launchable(self, code: KernelCode, asked: Configuration) -> None:
        """Raise LaunchError where a launch breaks a rule of the architecture, or a bound of the kernel."""
        if (code.name, asked) in self._admitted:
            return
        arch, threads = self.device.arch, prod(asked.block)
        cluster = asked.cluster or code.cluster or (1, 1, 1)
        record = launch_rules.Launch(arch, asked.grid, cluster, threads, code.argument_bytes)
        broken = [str(v) for v in launch_rules.violations(record, RULES)]
        for axis, n, most in zip("xyz", asked.block, arch.block_axes, strict=True):
            if n > most:
                broken.append(f"expected at most {most} threads along block.{axis}, got {n}")
        if asked.cluster and code.cluster and asked.cluster != code.cluster:
            broken.append(f"expected the cluster that the kernel was compiled for, {code.cluster}, got {asked.cluster}")
        if code.block and asked.block != code.block:
            broken.append(f"expected the block that the kernel was compiled for, {code.block}, got {asked.block}")
        most_threads = min(code.max_threads or arch.threads_per_block, _room(code, arch))
        if threads > most_threads:
            why = f"{code.registers} registers a thread, launch bounds {code.max_threads or 'none'}"
            broken.append(f"expected at most {most_threads} threads ({why}), got {threads}")
        room = arch.shared_bytes_per_block - code.static_shared_bytes
        if not 0 <= asked.shared_bytes <= room:
            static = f" next to {code.static_shared_bytes} static ones" if code.static_shared_bytes else ""
            broken.append(f"expected 0 .. {room} bytes of dynamic shared memory{static}, got {asked.shared_bytes}")
        if broken:
            raise LaunchError(f"{code.name}: " + "\n  ".join(broken))
        self._admitted.add((code.name, asked))

    def _opt_in(self, function: Function, asked: Configuration) -> None:
        function.opt_in(asked.shared_bytes)
        if asked.cluster and prod(asked.cluster) > self.device.arch.portable_cluster_ctas:
            function.allow_large_clusters()

    def _stream(self, stream: Any, arrays: _Arrays) -> Any:
        if stream is None:
            return one_stream(arrays.foreign)
        handle = stream_handle(stream)
        if handle is None:
            raise LaunchError(f"expected a stream of PyCUDA, torch or CuPy, or its handle, got {type(stream).__name__}")
        pycuda = type(stream).__module__.startswith("pycuda")
        return stream if pycuda else handle

    def _argument(self, value: Any, size: int, what: str, arrays: _Arrays) -> bytes:
        """The bytes of one argument."""
        if isinstance(value, Mapped):
            array = arrays.of(value.array, what)
            return self._encoded(over(value.map, array, what), size, what)
        if isinstance(value, TensorMap):
            return self._encoded(value, size, what)
        found = arrays.find(value)
        return scalar(value, size, what) if found is None else pointer(found.address, size, what)

    def _encoded(self, m: TensorMap, size: int, what: str) -> bytes:
        """The bytes of a tensor map, encoded and held against our rules once for each value."""
        known = self._maps.get(m)
        if known is None or size != len(known):
            known = encoded(m, size, what)
            if len(self._maps) >= KEPT_MAPS:
                self._maps.clear()
            self._maps[m] = known
        return known


def _expect_arch(cubin: Cubin, device: Device) -> None:
    """Raise LaunchError unless the device runs the cubin: same major, no newer minor; exactly its own for sm_90a."""
    digits = cubin.arch.removeprefix("sm_").rstrip("af")
    wanted = (int(digits[:-1]), int(digits[-1]))
    have = device.facts.compute_capability
    exact = cubin.arch.endswith("a")
    if (wanted != have) if exact else (wanted[0] != have[0] or wanted[1] > have[1]):
        named = ".".join(map(str, have))
        raise LaunchError(f"expected a cubin for compute capability {named} ({device.facts.name}), got {cubin.arch}")


def _room(code: KernelCode, arch: Any) -> int:
    """Threads of a CTA for which an SM has registers, warps at a time."""
    unit = arch.register_unit
    each = max(unit, -(-code.registers // unit) * unit)
    return int(arch.registers_per_sm // (each * launch_rules.WARP) * launch_rules.WARP)


def _three(axes: Axes, what: str) -> Three:
    """Three numbers of one, two or three. Raises LaunchError for anything else."""
    given = tuple(axes) if isinstance(axes, tuple | list) else (axes,)
    if not 1 <= len(given) <= 3 or not all(isinstance(n, int | np.integer) and n >= 1 for n in given):
        raise LaunchError(f"expected 1 to 3 positive integers as the {what}, got {axes!r}")
    x, y, z = (*map(int, given), 1, 1)[:3]
    return x, y, z


# -- arrays of a launch ------------------------------------------------------------------------------------


def _arrays_of(args: Sequence[Any], kernel: Any, tensors: Mapping[str, Any] | None) -> list[Any]:
    """The arguments, and the tensors that no operation of a kernel accesses: the code has no parameter for them."""
    values = [value.array if isinstance(value, Mapped) else value for value in args]
    idle = [] if kernel is None else [x for t, x in (tensors or {}).items() if t not in kernel.accessed]
    given = {id(_bare(value)) for value in values}
    return values + [x for x in idle if id(_bare(x)) not in given]


def _bare(value: Any) -> Any:
    return value.array if isinstance(value, In) else value


def _expect_apart(arrays: Sequence[np.ndarray[Any, Any]]) -> None:
    """Raise LaunchError if arrays of NumPy share bytes: each would be copied, and the sharing would be lost."""
    for a, b in itertools.combinations({id(x): x for x in arrays}.values(), 2):
        if np.may_share_memory(a, b) and (a.flags.writeable or b.flags.writeable):
            raise LaunchError(
                f"expected NumPy arrays apart, as each is copied to the device, got two of {a.nbytes} and {b.nbytes} "
                "bytes that share memory; pass one of them, or a copy, or upload them and pass the buffer"
            )


class _Arrays:
    """The arrays of one launch by object: those on the device as they are, those of NumPy copied, each once."""

    def __init__(self, device: Device, values: Sequence[Any], ends: contextlib.ExitStack) -> None:
        self._device, self._ends = device, ends
        self._found: dict[int, DeviceArray] = {}
        self._back: list[tuple[np.ndarray[Any, Any], Buffer]] = []
        self.foreign: list[DeviceArray] = []
        hosts = []
        for value in values:  # what can be refused is refused before anything is copied
            inner = _bare(value)
            if isinstance(inner, np.ndarray):
                hosts.append((inner, flat_bytes(inner), isinstance(value, In)))
            elif (found := self._on_device(value)) is not None:
                self._found[id(value)] = found
        _expect_apart([x for x, _, _ in hosts])
        self.owners = tuple(a.owner for a in self._found.values())
        self.copied = bool(hosts)
        only_read = {id(x) for x, _, given in hosts if given} - {id(x) for x, _, given in hosts if not given}
        for x, data, _ in hosts:
            if id(x) not in self._found:
                self._copy(x, data, back=x.flags.writeable and id(x) not in only_read)

    def _on_device(self, value: Any) -> DeviceArray | None:
        if isinstance(value, Buffer):
            value._expect_alive()
            return array_of(value)
        found = device_array(value)
        if found is not None:
            ordinal = self._device.driver.ordinal
            if found.ordinal not in (None, ordinal):
                raise LaunchError(f"expected arrays on device {ordinal}, got one on device {found.ordinal}")
            self.foreign.append(found)
        return found

    def _copy(self, x: np.ndarray[Any, Any], data: np.ndarray[Any, Any], back: bool) -> None:
        buffer = self._device.allocate(data.nbytes)
        self._ends.callback(buffer.free)
        buffer.upload(x)
        self._found[id(x)] = array_of(buffer, x)
        if back:
            self._back.append((data, buffer))

    def find(self, value: Any) -> DeviceArray | None:
        """The array of an argument, or None for an argument that is none."""
        return self._found.get(id(_bare(value)))

    def of(self, value: Any, what: str) -> DeviceArray:
        """The array of an argument. Raises LaunchError for what is none."""
        found = self.find(value)
        if found is None:
            raise LaunchError(f"{what}: expected an array of this launch, got {type(value).__name__}")
        return found

    def copy_back(self) -> None:
        for data, buffer in self._back:
            if data.nbytes:
                self._device.driver.to_host(data, buffer.address)

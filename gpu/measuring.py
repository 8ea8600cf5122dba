"""The speed of a kernel on a device, in the same run as the device's own copy and as others that do the same work.

>>> with gpu.Device() as device:                                               # doctest: +SKIP
...     found = gpu.measure(bound, {"src": src, "dst": dst}, peers={"torch": lambda: dst.copy_(src)})
...     print(found)
tma_copy(M = 16384, N = 16384) on NVIDIA H200: 2147.5 MB moved
what         median us      p10      p90    GB/s  of the copy
tma_copy         519.4    518.8    520.6  4134.6        0.973
  L2 cold        521.0    520.1    523.3  4121.8        0.970
...

Each round measures all of them, one after the other, another one first each time. A time is that of many launches
between two events, which the device begins when the host has sent them all, so what the host does does not count. Of a
single launch, as cold ones are, up to an L2 of writes is still to come when it ends: it may seem faster than many.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from symlayout.atoms import AccessKind, MemorySpace
from symlayout.dtype import DType
from symlayout.errors import LayoutError
from symlayout.kernel import Kernel, KernelTensor
from symlayout.kernel.specification import Dot, sums

from .compiling import compile
from .conditions import Conditions, conditions
from .device import Buffer, Device, Pending, current_device
from .differential.data import data_sets
from .guards import view
from .launch import load
from .running import Arrays, Generated
from .stamps import Stamps, launched

COPY_BYTES = 1 << 30  # of the copy that others are compared with: far more than any L2
SWEPT_BYTES = 256 << 20  # read before each cold launch: L2 of an H200 has 60 MB
BATCH_S = 2e-3  # of launches between two events
HELD, MOST_HELD_S = 1.5, 0.05  # how much longer the device is held than the host needs for the launches
COLD_HOST = 5  # how much longer it needs for a single one, whose code and data its own caches may have lost
FEW = 5  # launches by which others are planned
MOST_LAUNCHES = 500  # between two events: the queue of a device takes about 1000
ROUNDS = 10

# sweep reads every byte, so that L2 holds nothing else; what it would write depends on data that do not exist.
# hold keeps the device busy while the host sends launches, so that these then follow one another at once.
SWEEP = """\
extern "C" __global__ void hold(unsigned long long ns) {
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    do {
        __nanosleep(1000);
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (now - start < ns);
}
extern "C" __global__ void sweep(const uint4* p, unsigned long long n, unsigned* none) {
    unsigned seen = 0;
    for (unsigned long long i = blockIdx.x * 1024ull + threadIdx.x; i < n; i += gridDim.x * 1024ull) {
        uint4 v = p[i];
        seen |= v.x ^ v.y ^ v.z ^ v.w;
    }
    if (seen == 0x5eed5eed) *none = seen;
}
"""


@dataclass(frozen=True)
class Times:
    """Seconds of one launch, a sample for each round.

    >>> Times((3e-6, 1e-6, 2e-6)).median
    2e-06
    """

    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        return self._at(50)

    @property
    def p10(self) -> float:
        return self._at(10)

    @property
    def p90(self) -> float:
        return self._at(90)

    def _at(self, percent: int) -> float:
        return float(np.percentile(self.samples, percent))


@dataclass(frozen=True)
class Timed:
    """One of those that were measured: its times with L2 as the launch before left it (*warm*), and swept (*cold*)."""

    name: str
    warm: Times
    cold: Times


@dataclass(frozen=True)
class Measurement:
    """Times of a kernel, of its peers and of the device's copy; bytes and floating-point operations of one launch.

    ``bytes_per_s`` and ``flop_per_s`` are achieved rates, ``of_copy`` the first as a part of the copy rate of this run,
    the median over rounds. The methods of cold launches take ``cold=True``.
    """

    kernel: str
    digest: str
    device: str
    moved_bytes: int
    flops: int
    timed: Timed
    peers: tuple[Timed, ...]
    copy: Timed
    copy_bytes: int
    before: Conditions
    after: Conditions
    stamps: Stamps | None = None

    def seconds(self, cold: bool = False) -> Times:
        return self.timed.cold if cold else self.timed.warm

    def bytes_per_s(self, cold: bool = False) -> float:
        """Bytes moved in a second of the median launch."""
        return self.moved_bytes / self.seconds(cold).median

    def flop_per_s(self, cold: bool = False) -> float:
        """Floating-point operations in a second of the median launch; 0 for a kernel without sums of products."""
        return self.flops / self.seconds(cold).median

    def copy_bytes_per_s(self, cold: bool = False) -> float:
        """The copy rate of the device, bytes read and bytes written counted."""
        return 2 * self.copy_bytes / (self.copy.cold if cold else self.copy.warm).median

    def of_copy(self, cold: bool = False) -> float:
        """The rate of the kernel as a part of the copy rate: the median of the ratios of each round."""
        return self._of_copy(self.timed, cold)

    def _of_copy(self, timed: Timed, cold: bool) -> float:
        copied = 2 * self.copy_bytes
        times, copies = ((t.cold if cold else t.warm).samples for t in (timed, self.copy))
        return float(np.median([self.moved_bytes / t * (c / copied) for t, c in zip(times, copies, strict=True)]))

    def of_peer(self, name: str, cold: bool = False) -> float:
        """The speed of the kernel relative to a peer: the median of the ratios of each round."""
        peer = next((p for p in self.peers if p.name == name), None)
        if peer is None:
            raise LayoutError(f"expected a peer of {', '.join(p.name for p in self.peers) or 'none'}, got {name!r}")
        theirs = (peer.cold if cold else peer.warm).samples
        return float(np.median([p / t for p, t in zip(theirs, self.seconds(cold).samples, strict=True)]))

    def __str__(self) -> str:
        rows = [("what", "median us", "p10", "p90", "GB/s", *(["TFLOP/s"] if self.flops else []), "of the copy")]
        for each in (self.timed, *self.peers):
            rows += [self._row(each, cold) for cold in (False, True)]
        for cold, times in ((False, self.copy.warm), (True, self.copy.cold)):
            name, copied = COLD if cold else self.copy.name, f"{self.copy_bytes_per_s(cold) / 1e9:.1f}"
            rows.append((name, *_micro(times), copied, *(["-"] if self.flops else []), "1"))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        head = f"{self.kernel} on {self.device}: {self.moved_bytes / 1e6:.1f} MB moved"
        lines = ["  ".join([r[0].ljust(widths[0]), *(x.rjust(w) for x, w in zip(r[1:], widths[1:], strict=True))])
                 for r in rows]  # fmt: skip
        told = [f"{when}: {c}" for when, c in (("before", self.before), ("after", self.after)) if c]
        return "\n".join([head, *lines, *told])

    def _row(self, timed: Timed, cold: bool) -> tuple[str, ...]:
        name, times = (COLD, timed.cold) if cold else (timed.name, timed.warm)
        rate = f"{self.moved_bytes / times.median / 1e9:.1f}"
        flop = [f"{self.flops / times.median / 1e12:.1f}"] if self.flops else []
        return (name, *_micro(times), rate, *flop, f"{self._of_copy(timed, cold):.3f}")


COLD = "  L2 cold"


def _micro(times: Times) -> tuple[str, str, str]:
    return f"{times.median * 1e6:.1f}", f"{times.p10 * 1e6:.1f}", f"{times.p90 * 1e6:.1f}"


def measure(
    bound: Kernel,
    arrays: Arrays,
    *,
    peers: Mapping[str, Callable[[], Any]] | None = None,
    rounds: int = ROUNDS,
    moved_bytes: int | None = None,
    generated: Generated | None = None,
    device: Device | None = None,
    stamps: bool = False,
) -> Measurement:
    """Measure a bound kernel with arrays on the device, and the device's copy, and *peers* that launch work.

    A peer works on the default stream, or on one that waits for it, as those of torch and CuPy do by default.
    *moved_bytes* is what a launch has to move; without it each tensor counts once if it is read and once if it is
    written. With *stamps* one more launch takes times of itself, by role and iteration, in machine code of its own
    (``gpu.stamped``). Nothing is compared here: ``differential_test`` does that. Raises LayoutError for fewer than one
    round, LaunchError for an array of NumPy, DeviceError where a launch faults or reaches the device's limit.
    """
    if rounds < 1:
        raise LayoutError(f"expected at least 1 round, got {rounds}")
    on = device or current_device()
    code = generated or Generated(bound)
    prepared = code.prepare(bound, arrays, on)
    before = conditions(on)
    bench = _Bench(on)
    try:
        calls = {bound.name: prepared.send, **(peers or {})}
        timed = bench.measured(calls, rounds)
    finally:
        bench.free()
    return Measurement(
        _named(bound),
        (bound.origin or bound).digest,
        on.facts.name,
        least_moved(bound) if moved_bytes is None else moved_bytes,
        products(bound),
        timed[0],
        tuple(timed[1:-1]),
        timed[-1],
        bench.copied,
        before,
        conditions(on),
        launched(bound, arrays, on) if stamps else None,
    )


def measured_at(packed: bytes, sizes: Mapping[str, int], ordinal: int = 0, stamps: bool = False) -> Measurement:
    """The measurement of a pickled kernel at some sizes, with random numbers; what a child process is asked for.

    Floats are random, not small integers: zeros and repeated digits take less power, and so run at higher clocks.
    """
    kernel: Kernel = pickle.loads(packed)
    bound = kernel.bind(**sizes) if kernel.dims else kernel
    (_, inputs), draw = next(iter(data_sets(bound))), np.random.default_rng(0)
    for name in {t.name for t in bound.tensors if t.dtype.kind == "float"} & set(inputs):
        inputs[name] = draw.standard_normal(inputs[name].shape, np.float32).astype(inputs[name].dtype)
    with Device(ordinal) as device:
        given: dict[str, Any] = {p.name: inputs[p.name] for p in bound.parameters}
        for t in bound.tensors:
            if t.space is MemorySpace.GLOBAL:
                given[t.name] = placed(device, t, inputs.get(t.name))
        return measure(bound, given, device=device, stamps=stamps)


def placed(device: Device, tensor: KernelTensor, x: Any = None) -> Buffer:
    """Device memory with the elements of an array where a tensor has them, or with zeros."""
    held = np.zeros(int(tensor.layout.cosize()) * tensor.dtype.bytes, np.uint8)
    if x is not None:
        view(tensor, held)[...] = x
    return device.upload(held)


class _Bench:
    """State that measurements share: buffers to copy and to sweep L2 with, and events."""

    def __init__(self, device: Device) -> None:
        self._device = device
        room = device.driver.free_bytes()
        self.copied = max(1 << 20, min(COPY_BYTES, room // 4) >> 20 << 20)
        self._buffers = [device.allocate(self.copied) for _ in range(2)]
        self._swept = device.allocate(min(SWEPT_BYTES, self.copied))
        self._none = device.allocate(4)
        for each in (*self._buffers, self._swept):
            each.fill(0)
        self._module = load(compile(SWEEP, _arch(device), name="sweep.cu"), device)
        args = [self._swept, np.uint64(self._swept.nbytes // 16), self._none]
        self._sweep = self._module.prepare("sweep", device.facts.multiprocessors * 2, 1024, args)

    def copy(self) -> None:
        to, source = self._buffers
        self._device.driver.copy(to.address, source.address, self.copied)

    def measured(self, calls: Mapping[str, Callable[[], Any]], rounds: int) -> list[Timed]:
        """Seconds of a launch of each, a sample for each round, warm and cold; the copy of the device is the last."""
        every = {**calls, f"copy of {self.copied >> 20} MiB": self.copy}
        for call in every.values():
            self.seconds(call, 1)  # the first launch loads code
        launches = {name: self._launches(call) for name, call in every.items()}
        warm: dict[str, list[float]] = {name: [] for name in every}
        cold: dict[str, list[float]] = {name: [] for name in every}
        names = list(every)
        for i in range(rounds):
            first = i % len(names)
            for name in (*names[first:], *names[:first]):
                n, host = launches[name]
                warm[name].append(self.seconds(every[name], n, HELD * n * host))
                cold[name].append(self.seconds(every[name], 1, HELD * COLD_HOST * host, cold=True))
        return [Timed(name, Times(tuple(warm[name])), Times(tuple(cold[name]))) for name in names]

    def _launches(self, call: Callable[[], Any]) -> tuple[int, float]:
        """The number of launches that take about BATCH_S, and how long the host takes to send one."""
        start = time.perf_counter()
        for _ in range(FEW):
            call()
        host = (time.perf_counter() - start) / FEW
        self._device.synchronize()
        each = self.seconds(call, FEW, HELD * FEW * host)
        n = max(1, min(MOST_LAUNCHES, round(BATCH_S / max(1e-7, each)), int(MOST_HELD_S / max(1e-7, HELD * host))))
        return n, host

    def seconds(self, call: Callable[[], Any], launches: int, held_s: float = 0.0, cold: bool = False) -> float:
        """The time of one of some launches, behind all work that there is; cold ones behind a sweep of L2.

        Warm ones are behind another launch of the same: where a sample has few, the first would find what others left.
        """
        driver = self._device.driver
        self._device.synchronize()
        if cold:
            self._sweep.send()
        if held_s:
            self._module.prepare("hold", 1, 1, [np.uint64(1e9 * held_s)]).send()
        if not cold:
            call()
        first = driver.stamp()
        for _ in range(launches):
            call()
        last = driver.stamp()
        Pending(self._device, "a measurement", last, ()).wait()
        return driver.seconds_between(first, last) / launches

    def free(self) -> None:
        self._module.free()
        for each in (*self._buffers, self._swept, self._none):
            each.free()


def _arch(device: Device) -> str:
    major, minor = device.facts.compute_capability
    return f"sm_{major}{minor}"


def _named(bound: Kernel) -> str:
    return f"{bound.name}({', '.join(f'{k} = {v}' for k, v in bound.sizes)})"


# -- what a launch has to do ---------------------------------------------------------------------------------


def least_moved(bound: Kernel) -> int:
    """Bytes that a launch has to move: each tensor once where it is read, once where it is written or added to.

    >>> from symlayout import dim
    >>> from symlayout.kernels import vector_copy
    >>> least_moved(vector_copy(dim("N")).bind(N=100))
    800

    A tensor that is added to counts as read and written. Of one that is read by indices from memory all counts.
    """
    seen = {(bound.touched(t), t.kind) for op in bound.walk() for t in op.touches()}
    ways = {(name, way) for name, kind in seen for way in WAYS[kind]}
    sizes = {t.name: elements_bytes(t) for t in bound.tensors if t.space is MemorySpace.GLOBAL}
    return sum(sizes[name] for name, _ in ways if name in sizes)


WAYS = {
    AccessKind.READ: ("read",),
    AccessKind.WRITE: ("write",),
    AccessKind.REDUCE: ("read", "write"),
}


def elements_bytes(tensor: Any) -> int:
    """The bytes of the elements of a tensor, without gaps between its rows."""
    return int(tensor.layout.size()) * DType.of(tensor.dtype).bytes


def products(bound: Kernel) -> int:
    """Floating-point operations of the sums of products that a kernel computes: two for each term."""
    total = 0
    for r in bound.results:
        count = int(bound.tensor(r.tensor).layout.size())
        total += sum(2 * count * int(x.extent) for x in sums(r.value) if isinstance(x, Dot))
    return total

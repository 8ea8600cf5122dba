"""What a lane that sleeps between a tensor store and its commit does to the store, on a device.

    python -m benchmarks.hardware.asleep [--launches 40] [--out FILE]

Two experiments. *passed*: one lane of a warp waits in a branch, by sleep, by a loop over the timer or by tries of an
mbarrier; when do the others pass the place where the branch ends? *store*: each CTA stores two boxes by one lane, which
waits before the commit. In its machine code what follows the branch writes a uniform register: one that nothing else
has, or the one that has the address and the coordinates of the second box. Each case has a process of its own. Exit
status 1 where a case does otherwise than stated here, 4 where there is no device.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import gpu
from benchmarks.hardware.command import NO_DEVICE, is_missing, parser_of, write
from gpu import child
from gpu.cubin.elf import Elf
from symlayout.tma import TensorMap, TmaType

SIDE, BOX, BOX_BYTES = 4096, 64, 64 * 64 * 2
CTAS = (SIDE // (2 * BOX)) * (SIDE // BOX)
SHARED = 2 * BOX_BYTES + 1024
LIMIT_S = 30.0

HEAD = r"""
#include <cuda.h>
#include <cstdint>
__device__ inline bool elect_one() {
    uint32_t elected;
    asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p;}" : "=r"(elected));
    return elected;
}
__device__ inline uint32_t at(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ inline uint64_t now() { uint64_t ns; asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns)); return ns; }
__device__ inline void store(const CUtensorMap& map, int c0, int c1, const void* from) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
        ::"l"(&map), "r"(c0), "r"(c1), "r"(at(from)) : "memory");
}
__device__ inline void spin(uint64_t ns) { for (const uint64_t begin = now(); now() - begin < ns;) {} }
__device__ inline void tries(uint64_t* barrier, uint64_t ns) {
    uint32_t done = 0;
    for (const uint64_t begin = now(); !done && now() - begin < ns;)
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
            : "=r"(done) : "r"(at(barrier)) : "memory");
}
"""
PASSED = r"""
extern "C" __global__ void __launch_bounds__(64) passed(uint64_t* out) {
    __shared__ uint64_t barrier;
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&barrier)) : "memory");
    __syncthreads();
    const uint64_t begin = now();
    if (threadIdx.x < 32 && elect_one()) {
        WAIT
        out[0] = now() - begin;
    }
    const uint64_t after = now() - begin;
    if (threadIdx.x == 31) out[1] = after;
    if (elect_one()) out[2 + threadIdx.x / 32] = begin;
}
"""
# The lanes come apart before, so that the second election is compiled for lanes that may not have met.
STORE = r"""
extern "C" __global__ void __launch_bounds__(160) stored(const __grid_constant__ CUtensorMap map, int32_t columns) {
    extern __shared__ __align__(1024) uint8_t shared[];
    for (int i = threadIdx.x; i < 8192; i += 160) reinterpret_cast<uint16_t*>(shared)[i] = blockIdx.x;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x % 2) __nanosleep(500 + threadIdx.x);
    else if (threadIdx.x % 3) __nanosleep(1000);
    if (threadIdx.x < 32 && elect_one()) {
        const int block = blockIdx.x, tiles = (columns + 127) / 128;
        store(map, 128 * (block % tiles), 64 * (block / tiles), shared);
        store(map, 128 * (block % tiles) + 64, 64 * (block / tiles), shared + 8192);
        WAIT
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
    if (threadIdx.x < 32 && elect_one()) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
"""
WAITS = {
    "no wait": "",
    "sleep": "__nanosleep((blockIdx.x * 2654435761u >> 20) % 200);",
    "timer": "spin((blockIdx.x * 2654435761u >> 20) % 200);",
}
# Of the 128 bits of an instruction: those that name the barriers it waits for, the register that a UMOV writes, and
# the one that a BRA.DIV reads.
AWAITED, WRITTEN, READ = 116, 16, 24
FREE_REGISTER = 40
CASES: dict[str, tuple[str, str]] = {  # wait, change of the machine code
    **{name: (name, "apart") for name in WAITS},
    **{f"{name}, one register": (name, "clash") for name in WAITS},
    "sleep until the store has read, one register": ("sleep", "clash and wait"),
}
FAULTS = ("sleep, one register",)


def image(wait: str, change: str) -> bytes:
    """The machine code of a store that waits, with changes in it.

    After the branch all lanes meet, and a UMOV writes what the next instruction reads: either to a register that
    nothing else has (*apart*), or to the one that has the address and the coordinates of the second box (*clash*).
    With *wait* the sleep before the commit also waits for what the commit does: until the store has read its registers.
    Raises StopIteration where the instructions are not those that are known.
    """
    cubin = gpu.compile(HEAD + STORE.replace("WAIT", WAITS[wait]), name="asleep.cu")
    text = Elf(cubin.image).section(".text.stored")
    assert text is not None
    code, every = bytearray(cubin.image), cubin.instructions("stored").every
    flush = next(i for i, x in enumerate(every) if x.base == "UTMACMDFLUSH")
    store = max(i for i in range(flush) if every[i].base == "UTMASTG")

    def word(i: int) -> int:
        at = text.offset + every[i].address
        return int.from_bytes(code[at : at + 16], "little")

    def put(i: int, new: int) -> None:
        at = text.offset + every[i].address
        code[at : at + 16] = new.to_bytes(16, "little")

    move = next(i for i in range(flush, len(every)) if every[i].base == "UMOV" and "0xffffffff" in every[i].operands)
    box = int(every[store].operands.removeprefix("[UR").partition("]")[0])
    for i, place in ((move, WRITTEN), (move + 1, READ)):
        put(i, word(i) & ~(0xFF << place) | (box if "clash" in change else FREE_REGISTER) << place)
    if "wait" in change:
        sleep = max(i for i in range(flush) if every[i].base == "NANOSLEEP")
        put(sleep, word(sleep) | word(flush) & 63 << AWAITED)
    return bytes(code)


def stored(case: str, launches: int) -> str:
    """Run a case many times: "same bytes", or what is otherwise."""
    with gpu.Device() as device:
        module = gpu.load(image(*CASES[case]), device)
        out = device.allocate(2 * SIDE * SIDE)
        m = TensorMap(TmaType.BFLOAT16, 0, (SIDE, SIDE), (2 * SIDE,), (BOX, BOX))
        args = [gpu.Mapped(m, out), SIDE]
        tile = np.arange(CTAS, dtype=np.uint16).reshape(SIDE // BOX, SIDE // (2 * BOX))
        wanted = np.repeat(np.repeat(tile, BOX, 0), 2 * BOX, 1)
        for _ in range(launches):
            out.fill(0xEE)
            module.launch("stored", CTAS, 160, args, shared=SHARED).wait(limit_s=5)
            if (out.download(np.uint16, (SIDE, SIDE)) != wanted).any():
                return "other bytes"
    return "same bytes"


def passed(wait: str) -> dict[str, float]:
    """When the lane that waits goes on, and when another of its warp passes the end of the branch, in nanoseconds."""
    with gpu.Device() as device:
        module = gpu.load(gpu.compile(HEAD + PASSED.replace("WAIT", wait), name="passed.cu"), device)
        out = np.zeros(4, np.uint64)
        for _ in range(3):
            module.launch("passed", 1, 64, [out]).wait()
    return {"waited_ns": int(out[0]), "another_passed_ns": int(out[1])}


LONG = {"sleep": "__nanosleep(20000);", "timer": "spin(20000);", "tries of an mbarrier": "tries(&barrier, 20000);"}


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--launches", type=int, default=40)
    options = parser.parse_args()
    if is_missing():
        return NO_DEVICE
    rows: list[dict[str, Any]] = []
    there = child.call("benchmarks.hardware.launch_check:device_text", limit_s=LIMIT_S)
    for name, wait in LONG.items():
        told = child.call("benchmarks.hardware.asleep:passed", wait, limit_s=LIMIT_S)
        rows.append({"experiment": "passed", "device": there, "wait": name, **told})
    cases = [(name, options.launches) for name in CASES]
    for (name, n), end in zip(
        cases, child.each("benchmarks.hardware.asleep:stored", cases, limit_s=LIMIT_S), strict=True
    ):
        said = str(end.error) if end.error else end.value
        rows.append({"experiment": "store", "device": there, "case": name, "launches": n, "said": said[:300]})
    for row in rows:
        print({k: v for k, v in row.items() if k != "device"}, flush=True)
    write(options.out, rows)
    return 0 if all(map(is_as_stated, rows)) else 1


def is_as_stated(row: dict[str, Any]) -> bool:
    """Whether a sleep faults, and nothing else does."""
    if row["experiment"] == "passed":
        return (row["another_passed_ns"] < row["waited_ns"] / 2) == (row["wait"] != "timer")
    return (row["said"] == "same bytes") == (row["case"] not in FAULTS)


if __name__ == "__main__":
    sys.exit(main())

"""M14: the source of chains of wgmma, m64nNk16 of bf16 with f32 sums, for some N and both places of A.

>>> KERNELS[:3]
('wgmma_ss_64_1', 'wgmma_ss_64_4', 'wgmma_ss_64_16')

A kernel issues as many wgmmas as its name ends with, commits them and waits for all, *count* times. Each warpgroup has
its own rows of A and all share B, in 128-byte swizzle as in a main loop. Its data are random, since zeros take less
power.
"""

from __future__ import annotations

WIDTHS = (64, 128, 192, 256)
PLACES = ("ss", "rs")  # of A: shared memory, registers
DEPTHS = (1, 4, 16)
KERNELS = tuple(f"wgmma_{place}_{n}_{depth}" for n in WIDTHS for place in PLACES for depth in DEPTHS)

HEAD = """\
#include "ptx.cuh"

// Start address, leading and stride byte offsets in units of 16 bytes, 128-byte swizzle (PTX ISA, matrix descriptor).
__device__ inline u64 descriptor(u32 address) {
    return u64(address >> 4 & 0x3fff) | u64(1) << 16 | u64(64) << 32 | u64(1) << 62;
}

// 16-bit floats between 1 and 2 in size, of either sign: the exponent of 1, random digits.
__device__ inline void fill(u32 at, u32 bytes) {
    for (u32 k = 4 * threadIdx.x; k < bytes; k += 4 * blockDim.x) {
        u32 x = (k + 77 * blockIdx.x) * 2654435761u;
        x ^= x >> 15;
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(at + k), "r"((x & 0x807f807f) | 0x3f803f80) : "memory");
    }
}
"""

KERNEL = """
extern "C" __global__ void __launch_bounds__(384) {name}(Stamp* out, u32 count) {{
    extern __shared__ char shared[];
    const u32 a = (shared_address(shared) + 1023) / 1024 * 1024 + 8192 * (threadIdx.x / 128);
    const u32 b = (shared_address(shared) + 1023) / 1024 * 1024 + 3 * 8192;
    fill(b - 3 * 8192, 3 * 8192 + {n} * 128);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    float d[{sums}] = {{}};
    u32 r0 = 0x3f803f81 + threadIdx.x, r1 = r0 * 3 & 0x3fff3fff, r2 = r0 ^ 0x00510013, r3 = r1 ^ 0x00190042;
    __syncthreads();
    Stamp s = {{}};
    begin(s);
    for (u32 i = 0; i < count; ++i) {{
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (u32 k = 0; k < {depth}; ++k) {{
            asm volatile("wgmma.mma_async.sync.aligned.m64n{n}k16.f32.bf16.bf16 "
                         "{{{outs}}}, {left}, %{right}, 1, 1, 1{trans};"
                         : {constraints} : {given}, "l"(descriptor(b + 32 * (k & 3))));
        }}
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        if (i == 0) s.a = cycles() - s.clock0;
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }}
    end(s);
    float sum = 0;
#pragma unroll
    for (int k = 0; k < {sums}; ++k) sum += d[k];
    s.sum = u64(sum != 0);
    if (threadIdx.x == 0) out[blockIdx.x] = s;
    else if (sum == 1.2345e-30f) out[blockIdx.x].b = 1;
}}
"""


def source() -> str:
    """The text of all kernels."""
    return HEAD + "".join(map(_kernel, KERNELS))


def _kernel(name: str) -> str:
    _, place, *numbers = name.split("_")
    n, depth = map(int, numbers)
    sums = n // 2
    outs = ", ".join(f"%{k}" for k in range(sums))
    in_registers = place == "rs"
    left = f"{{%{sums}, %{sums + 1}, %{sums + 2}, %{sums + 3}}}" if in_registers else f"%{sums}"
    given = '"r"(r0), "r"(r1), "r"(r2), "r"(r3)' if in_registers else '"l"(descriptor(a + 32 * (k & 3)))'
    return KERNEL.format(
        name=name,
        n=n,
        depth=depth,
        sums=sums,
        outs=outs,
        left=left,
        right=sums + (4 if in_registers else 1),
        constraints=", ".join(f'"+f"(d[{k}])' for k in range(sums)),
        given=given,
        trans=", 0" if in_registers else ", 0, 0",
    )

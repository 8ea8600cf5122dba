// M4, M7, M13: persistent CTAs that move chunks of *bytes* through a ring of slots. Chunk number block + grid * i of a
// CTA lies at *first* plus that many chunks, modulo *chunks*. One thread loads, another waits, adds up the first word of
// each chunk, may store the chunk, and gives the slot back when the store has read it. Mode 1 loads, 2 stores, 3 both.
// *share* CTAs load the same chunks (M21), each *apart* from the next in the grid.
#include "ptx.cuh"

extern "C" __global__ void ring(Stamp* out, const char* src, char* dst, u32 bytes, u32 slots, u32 trips, u64 first,
                                u64 chunks, u32 mode, u32 share, u32 apart) {
    extern __shared__ __align__(128) char shared[];
    const u32 tiles = shared_address(shared), full = tiles + slots * bytes, empty = full + 8 * slots;
    if (threadIdx.x == 0) {
        for (u32 s = 0; s < slots; ++s) mbarrier_init(full + 8 * s, 1), mbarrier_init(empty + 8 * s, 1);
        fence_init();
    }
    __syncthreads();
    const u64 grid = gridDim.x / share;
    u64 chunk = (first + blockIdx.x / (apart * share) * apart + blockIdx.x % apart) % chunks;
    Cursor at(slots);
    if (threadIdx.x < 32 && (mode & 1)) {
        if (!elect_one()) return;
        for (u32 i = 0; i < trips; ++i, at.advance()) {
            wait(empty + 8 * at.slot, at.parity ^ 1);
            expect(full + 8 * at.slot, bytes);
            bulk_load(tiles + at.slot * bytes, src + chunk * bytes, bytes, full + 8 * at.slot);
            chunk += grid;
            if (chunk >= chunks) chunk -= chunks;
        }
    } else if (threadIdx.x >= 32) {
        if (!elect_one()) return;
        Stamp s = {};
        u32 sum = 0;
        begin(s);
        for (u32 i = 0; i < trips; ++i, at.advance()) {
            const u32 tile = tiles + at.slot * bytes;
            if (mode & 1) {
                wait(full + 8 * at.slot, at.parity);
                u32 word;
                asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(tile) : "memory");
                sum ^= word;
            }
            if (mode & 2) {
                bulk_store(dst + chunk * bytes, tile, bytes);
                commit();
                if (mode & 1) wait_read<0>(); else wait_read<3>();
                chunk += grid;
                if (chunk >= chunks) chunk -= chunks;
            }
            if (mode & 1) arrive(empty + 8 * at.slot);
        }
        wait_all();
        end(s);
        s.sum = sum;
        out[blockIdx.x] = s;
    }
}

// M22: loops as generated code has them: four slots, pointers, 64-bit iterations, chunk (block + grid * i) of so many that
// a mask does for a remainder. What is measured is the trip of the slower of the two loops.
template <bool COPY>
__device__ inline void trips(Stamp* out, const char* src, char* dst, int bytes, i64 count, i64 mask) {
    extern __shared__ __align__(1024) char shared[];
    __shared__ u64 full[4], empty[4];
    if (threadIdx.x < 32 && elect_one()) {
        for (int s = 0; s < 4; ++s) mbarrier_init(shared_address(full + s), 1), mbarrier_init(shared_address(empty + s), 1);
        fence_init();
    }
    __syncthreads();
    const int block_x = blockIdx.x, grid = gridDim.x;
    if (threadIdx.x / 32 == 0) {
        if (elect_one()) {
#pragma unroll 1
            for (i64 i = 0; i < count; ++i) {
                wait(shared_address(empty + (i & 3)), ((i >> 2) + 1) & 1);
                expect(shared_address(full + (i & 3)), bytes);
                bulk_load(shared_address(shared + bytes * (i & 3)), src + bytes * ((block_x + grid * i) & mask), bytes,
                          shared_address(full + (i & 3)));
            }
        }
    }
    if (threadIdx.x / 32 == 1) {
        if (elect_one()) {
            Stamp s = {};
            begin(s);
#pragma unroll 1
            for (i64 i = 0; i < count; ++i) {
                wait(shared_address(full + (i & 3)), (i >> 2) & 1);
                if (COPY) {
                    bulk_store(dst + bytes * ((block_x + grid * i) & mask), shared_address(shared + bytes * (i & 3)), bytes);
                    commit();
                    wait_read<0>();
                }
                arrive(shared_address(empty + (i & 3)));
            }
            wait_all();
            end(s);
            out[blockIdx.x] = s;
        }
    }
}

extern "C" __global__ void trips_load(Stamp* out, const char* src, char* dst, int bytes, i64 count, i64 mask) {
    trips<false>(out, src, dst, bytes, count, mask);
}

extern "C" __global__ void trips_copy(Stamp* out, const char* src, char* dst, int bytes, i64 count, i64 mask) {
    trips<true>(out, src, dst, bytes, count, mask);
}

// M22: the same loops with iterations of 32 bits, and slots that are counted: *Count* of them, with the phase of each pass.
template <bool COPY, int COUNT, bool COUNTED>
__device__ inline void counted(Stamp* out, const char* src, char* dst, int bytes, i64 count, i64 mask) {
    extern __shared__ __align__(1024) char shared[];
    __shared__ u64 full[COUNT], empty[COUNT];
    if (threadIdx.x < 32 && elect_one()) {
        for (int s = 0; s < COUNT; ++s) mbarrier_init(shared_address(full + s), 1), mbarrier_init(shared_address(empty + s), 1);
        fence_init();
    }
    __syncthreads();
    const int block_x = blockIdx.x, grid = gridDim.x;
    if (threadIdx.x / 32 == 0) {
        if (elect_one()) {
            int slot = 0, phase = 0;
#pragma unroll 1
            for (int i = 0; i < int(count); ++i) {
                const int at = COUNTED ? slot : i % COUNT, parity = COUNTED ? phase : i / COUNT & 1;
                wait(shared_address(empty + at), parity ^ 1);
                expect(shared_address(full + at), bytes);
                bulk_load(shared_address(shared + bytes * at), src + bytes * ((block_x + i64(grid) * i) & mask), bytes,
                          shared_address(full + at));
                if (++slot == COUNT) slot = 0, phase ^= 1;
            }
        }
    }
    if (threadIdx.x / 32 == 1) {
        if (elect_one()) {
            Stamp s = {};
            begin(s);
            int slot = 0, phase = 0;
#pragma unroll 1
            for (int i = 0; i < int(count); ++i) {
                const int at = COUNTED ? slot : i % COUNT, parity = COUNTED ? phase : i / COUNT & 1;
                wait(shared_address(full + at), parity);
                if (COPY) {
                    bulk_store(dst + bytes * ((block_x + i64(grid) * i) & mask), shared_address(shared + bytes * at), bytes);
                    commit();
                    wait_read<0>();
                }
                arrive(shared_address(empty + at));
                if (++slot == COUNT) slot = 0, phase ^= 1;
            }
            wait_all();
            end(s);
            out[blockIdx.x] = s;
        }
    }
}

#define COUNTED(name, copy, count, by_hand)                                                                        \
    extern "C" __global__ void name(Stamp* out, const char* src, char* dst, int bytes, i64 trips, i64 mask) { \
        counted<copy, count, by_hand>(out, src, dst, bytes, trips, mask);                                           \
    }
COUNTED(narrow_load, false, 4, false)
COUNTED(narrow_copy, true, 4, false)
COUNTED(counted_load, false, 4, true)
COUNTED(counted_copy, true, 4, true)
COUNTED(counted_load_6, false, 6, true)
COUNTED(counted_copy_6, true, 6, true)

// M17: the same, loads only, in clusters: each CTA loads its part of a chunk for all of them. *share* clusters load the same
// chunks (M42), each *apart* from the next in the grid.
extern "C" __global__ void ring_multicast(Stamp* out, const char* src, u32 bytes, u32 slots, u32 trips, u64 first,
                                          u64 chunks, u32 ctas, u32 share, u32 apart) {
    extern __shared__ __align__(128) char shared[];
    const u32 tiles = shared_address(shared), full = tiles + slots * bytes, empty = full + 8 * slots;
    const u32 rank = cluster_rank(), part = bytes / ctas;
    if (threadIdx.x == 0) {
        for (u32 s = 0; s < slots; ++s) mbarrier_init(full + 8 * s, 1), mbarrier_init(empty + 8 * s, ctas);
        fence_init();
    }
    cluster_sync();
    const u32 cluster = blockIdx.x / ctas;
    const u64 grid = gridDim.x / ctas / share;
    u64 chunk = (first + cluster / (apart * share) * apart + cluster % apart) % chunks;
    Cursor at(slots);
    if (threadIdx.x < 32 && elect_one()) {
        for (u32 i = 0; i < trips; ++i, at.advance()) {
            wait(empty + 8 * at.slot, at.parity ^ 1);
            expect(full + 8 * at.slot, bytes);
            bulk_load_multicast(tiles + at.slot * bytes + rank * part, src + chunk * bytes + rank * part, part,
                                full + 8 * at.slot, (1u << ctas) - 1);
            chunk += grid;
            if (chunk >= chunks) chunk -= chunks;
        }
    } else if (threadIdx.x >= 32 && elect_one()) {
        Stamp s = {};
        u32 sum = 0;
        begin(s);
        for (u32 i = 0; i < trips; ++i, at.advance()) {
            wait(full + 8 * at.slot, at.parity);
            u32 word;
            asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(tiles + at.slot * bytes) : "memory");
            sum ^= word;
            for (u32 r = 0; r < ctas; ++r) arrive_at(empty + 8 * at.slot, r);
        }
        end(s);
        s.sum = sum;
        out[blockIdx.x] = s;
    }
    __syncthreads();
    cluster_sync();
}

// M5, M13: one thread issues *count* commands of *bytes* to one barrier or group. Kind 0 loads, 1 stores, 2 adds.
// a is the time of the issue; b that until the sources were read (stores); the end is that of all.
extern "C" __global__ void commands(Stamp* out, const char* src, char* dst, u32 bytes, u32 count, u32 kind) {
    extern __shared__ __align__(128) char shared[];
    __shared__ u64 barrier;
    const u32 tiles = shared_address(shared), full = shared_address(&barrier);
    if (!elect_one()) return;
    mbarrier_init(full, 1);
    fence_init();
    Stamp s = {};
    for (u32 round = 0; round < 2; ++round) {  // the first brings the lines into L2, the code into its caches
        begin(s);
        if (kind == 0) {
            expect(full, bytes * count);
            for (u32 k = 0; k < count; ++k) bulk_load(tiles + (k * bytes & 65535), src + k * bytes, bytes, full);
        } else if (kind == 1) {
            for (u32 k = 0; k < count; ++k) bulk_store(dst + k * bytes, tiles + (k * bytes & 65535), bytes);
        } else {
            for (u32 k = 0; k < count; ++k) bulk_add(dst + k * bytes, tiles + (k * bytes & 65535), bytes);
        }
        s.a = cycles() - s.clock0;
        if (kind == 0) {
            wait(full, round);
        } else {
            commit();
            wait_read<0>();
            s.b = cycles() - s.clock0;
            wait_all();
        }
        end(s);
    }
    out[blockIdx.x] = s;
}

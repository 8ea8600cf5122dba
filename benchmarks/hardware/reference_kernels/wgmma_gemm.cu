// C = A B^T in bf16 with f32 sums: A is (M, K), B is (N, K), C is (M, N), all row-major; K and N are multiples of 8.
//
// A cluster of two blocks computes a 256 x 256 tile of C, each block 128 x 256 of it, and walks over K in steps of 64.
//
//     warpgroup 0      producer: one thread loads each step into a ring of STAGES stages of 48 KiB by TMA: the 128 rows
//                      of A that its block needs, and half of the 256 rows of B, sent to both blocks
//     warpgroups 1, 2  consumers: each multiplies 64 rows of A by all of B (wgmma m64n256k16, both from shared memory),
//                      then packs its sums and stores them by TMA while the producer loads the next tile
//
// Blocks are persistent; tiles are taken GROUP cluster tiles of M at a time, so that the tiles under way at once read
// few rows of A and B and find them in L2.
#include "ptx.cuh"

constexpr int STAGES = 4, GROUP = 8;
constexpr int TILE_M = 128, TILE_N = 256, TILE_K = 64;  // of a block; a row of TILE_K is 128 bytes, the swizzle span
constexpr int CLUSTER = 2, CONSUMERS = 2, WARPS = 4 * CONSUMERS;
constexpr int ROW_BYTES = 2 * TILE_K;
constexpr int A_BYTES = TILE_M * ROW_BYTES, B_BYTES = TILE_N * ROW_BYTES;
constexpr int STORE_ROWS = 16, STORE_COLUMNS = 64, STORE_BYTES = STORE_ROWS * STORE_COLUMNS * 2;  // of one warp

struct Shared {
    alignas(1024) uint8_t a[STAGES][A_BYTES];  // 1024 bytes: the repeat of the 128-byte swizzle
    alignas(1024) uint8_t b[STAGES][B_BYTES];
    alignas(1024) uint8_t c[WARPS][2][STORE_BYTES];
    uint64_t full[STAGES], empty[STAGES];
};

// The wgmma descriptor of a K-major tile with the 128-byte swizzle: eight rows of 128 bytes, then the next eight
// (9.7.15.5). Advancing 16 elements along K adds 32 bytes, 2 in units of 16 bytes.
__device__ inline uint64_t wgmma_descriptor(uint32_t address) {
    constexpr uint64_t SWIZZLE_128B = 1ull << 62, STRIDE = 1024 >> 4, LEADING = 1;
    return SWIZZLE_128B | STRIDE << 32 | LEADING << 16 | (address & 0x3FFFF) >> 4;
}

__device__ inline void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void wgmma_commit_group() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

template <int PENDING>
__device__ inline void wgmma_wait_group() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

#define ACCUMULATORS                                                                                      \
    "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),  \
    "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),  \
    "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),  \
    "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),  \
    "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),  \
    "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),  \
    "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),  \
    "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]),  \
    "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]),  \
    "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]),  \
    "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]),  \
    "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]),  \
    "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]),  \
    "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]),  \
    "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]),  \
    "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])

// d = a b^T + (accumulate ? d : 0) for 64 x 16 by 256 x 16.
__device__ inline void wgmma_m64n256k16(float (&d)[128], uint64_t a, uint64_t b, int accumulate) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %130, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47,"
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63,"
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79,"
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95,"
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111,"
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127},"
        " %128, %129, p, 1, 1, 0, 0;\n"
        "}\n" : ACCUMULATORS : "l"(a), "l"(b), "r"(accumulate));
}

// Keeps the compiler from reading the sums before the wait above this line.
__device__ inline void sums_are_final(float (&d)[128]) { asm volatile("" : ACCUMULATORS::"memory"); }

__device__ inline uint32_t pack_bf16(float low, float high) {
    uint32_t packed;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
}

__device__ inline void stmatrix_x4(uint32_t address, uint32_t r0, uint32_t r1, uint32_t r2, uint32_t r3) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 ::"r"(address), "r"(r0), "r"(r1), "r"(r2), "r"(r3) : "memory");
}

// The cluster tiles of C in the order in which the clusters take them.
struct Raster {
    int tiles_m, tiles_n;
    __device__ Raster(int m, int n)
        : tiles_m((m + CLUSTER * TILE_M - 1) / (CLUSTER * TILE_M)), tiles_n((n + TILE_N - 1) / TILE_N) {}
    __device__ int count() const { return tiles_m * tiles_n; }
    __device__ void locate(int tile, int& m, int& n) const {
        int first = tile / (GROUP * tiles_n) * GROUP, within = tile % (GROUP * tiles_n);
        int rows = min(GROUP, tiles_m - first);
        m = (first + within % rows) * CLUSTER * TILE_M;
        n = within / rows * TILE_N;
    }
};

// One thread: fills the ring for all tiles of this cluster.
__device__ inline void produce(Shared& shared, const CUtensorMap& a, const CUtensorMap& b, Raster raster, int steps) {
    constexpr uint16_t ALL = (1 << CLUSTER) - 1;
    constexpr int SHARE = TILE_N / CLUSTER;  // the rows of B that this block loads for all
    uint32_t rank = cluster_ctarank();
    Ring<STAGES> ring;
    for (int tile = blockIdx.x / CLUSTER; tile < raster.count(); tile += gridDim.x / CLUSTER) {
        int m, n;
        raster.locate(tile, m, n);
        for (int k = 0; k < steps; ++k, ring.advance()) {
            uint32_t full = shared_address(&shared.full[ring.stage]);
            mbarrier_wait(shared_address(&shared.empty[ring.stage]), ring.parity ^ 1);
            mbarrier_arrive_expect_tx(full, A_BYTES + B_BYTES);
            tma_load(shared_address(shared.a[ring.stage]), a, k * TILE_K, m + rank * TILE_M, full);
            tma_load_multicast(shared_address(shared.b[ring.stage]) + rank * SHARE * ROW_BYTES, b, k * TILE_K,
                               n + rank * SHARE, full, ALL);
        }
    }
}

// One warp stores its 16 rows of sums at (m, n), 64 columns at a time through two buffers. The sums of columns
// 8j .. 8j+7 are d[4j .. 4j+3] (9.7.15.5, fragment D of wgmma): two for rows 0-7, two for rows 8-15, which are
// two 8 x 8 matrices for stmatrix.
__device__ inline void store(float (&d)[128], uint8_t (&buffer)[2][STORE_BYTES], const CUtensorMap& c, int m, int n) {
    uint32_t lane = threadIdx.x % 32, row = lane % 16, side = lane / 16;
#pragma unroll
    for (int part = 0; part < TILE_N / STORE_COLUMNS; ++part) {
        uint32_t box = shared_address(buffer[part % 2]);
        if (lane == 0) bulk_wait_group_read<1>();
        __syncwarp();
#pragma unroll
        for (int pair = 0; pair < STORE_COLUMNS / 16; ++pair) {
            const float* s = d + 32 * part + 8 * pair;
            uint32_t chunk = (2 * pair + side) ^ (row % 8);  // the 128-byte swizzle
            stmatrix_x4(box + row * 128 + chunk * 16, pack_bf16(s[0], s[1]), pack_bf16(s[2], s[3]),
                        pack_bf16(s[4], s[5]), pack_bf16(s[6], s[7]));
        }
        fence_proxy_async();
        __syncwarp();
        if (lane == 0) {
            tma_store(c, n + part * STORE_COLUMNS, m, box);
            bulk_commit_group();
        }
    }
}

// One warpgroup: multiplies its 64 rows of every tile of this cluster and stores them.
__device__ inline void consume(Shared& shared, const CUtensorMap& c, Raster raster, int steps) {
    uint32_t warp = threadIdx.x / 32 - 4, lane = threadIdx.x % 32, consumer = warp / 4;
    uint32_t rank = cluster_ctarank();
    auto release = [&](uint32_t stage) {  // each warp tells both producers
        if (lane < CLUSTER) mbarrier_arrive_at(shared_address(&shared.empty[stage]), lane);
    };
    Ring<STAGES> ring;
    for (int tile = blockIdx.x / CLUSTER; tile < raster.count(); tile += gridDim.x / CLUSTER) {
        int m, n;
        raster.locate(tile, m, n);
        float d[128];
        uint32_t previous = 0;
        for (int k = 0; k < steps; ++k) {
            mbarrier_wait(shared_address(&shared.full[ring.stage]), ring.parity);
            uint64_t a = wgmma_descriptor(shared_address(shared.a[ring.stage]) + consumer * 64 * ROW_BYTES);
            uint64_t b = wgmma_descriptor(shared_address(shared.b[ring.stage]));
            wgmma_fence();
#pragma unroll
            for (int i = 0; i < TILE_K / 16; ++i) wgmma_m64n256k16(d, a + 2 * i, b + 2 * i, k > 0 || i > 0);
            wgmma_commit_group();
            wgmma_wait_group<1>();
            if (k > 0) release(previous);
            previous = ring.stage;
            ring.advance();
        }
        wgmma_wait_group<0>();
        sums_are_final(d);
        release(previous);
        store(d, shared.c[warp], c, m + rank * TILE_M + warp * STORE_ROWS, n);
    }
    if (lane == 0) bulk_wait_all();
}

extern "C" __global__ void __launch_bounds__(128 * (1 + CONSUMERS), 1)
wgmma_gemm(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
           const __grid_constant__ CUtensorMap c, int M, int N, int K) {
    extern __shared__ __align__(1024) uint8_t dynamic[];
    Shared& shared = *reinterpret_cast<Shared*>(dynamic);
    if (threadIdx.x == 0) {
        prefetch_tensormap(a), prefetch_tensormap(b), prefetch_tensormap(c);
        for (int s = 0; s < STAGES; ++s) {
            mbarrier_init(shared_address(&shared.full[s]), 1);
            mbarrier_init(shared_address(&shared.empty[s]), CLUSTER * WARPS);
        }
        fence_mbarrier_init();
    }
    cluster_sync();

    Raster raster(M, N);
    int steps = (K + TILE_K - 1) / TILE_K;
    if (threadIdx.x < 128) {
        setmaxnreg_dec<24>();
        if (threadIdx.x == 0) produce(shared, a, b, raster, steps);
    } else {
        setmaxnreg_inc<240>();
        consume(shared, c, raster, steps);
    }
    cluster_sync();  // no block leaves while another may still arrive at its barriers
}

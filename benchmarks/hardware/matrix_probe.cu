// Runs matrix instructions on given shared memory and writes what they leave in registers, or in shared memory.
//
//     matrix_probe shared.bin cases.bin out.bin
//
// shared.bin: the SHARED bytes that each case starts with. cases.bin: records of 64 words of 64 bits: kind, then
//     0 wgmma m64n64k16 bf16   descriptor of A, of B (starts count from the 1024-byte aligned shared memory), tnspA, tnspB
//     1 ldmatrix               matrices, trans, 32 lane addresses
//     2 stmatrix               the same; lane l stores the words 4l .. 4l+3
//     3 mma m16n8k16 bf16      lane l holds A in words 8l .. 8l+3 of shared memory, B in 8l+4, 8l+5, C is 0
// out.bin: 8192 words of 32 bits for each case: 32 floats of each of 128 threads; 4 words of each of 32 lanes; the first
// 32 KiB of shared memory; 4 floats of each of 32 lanes.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int SHARED = 192 * 1024, WORDS = 64, OUT = 8192;

#define CHECK(call)                                                                           \
    do {                                                                                      \
        cudaError_t e = (call);                                                               \
        if (e != cudaSuccess) { fprintf(stderr, "%s\n", cudaGetErrorString(e)); exit(1); }    \
    } while (0)

template <int TA, int TB>
__device__ void wgmma(float (&d)[32], uint64_t a, uint64_t b) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, 1, 1, 1, %34, %35;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
          "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
          "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
          "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "l"(a), "l"(b), "n"(TA), "n"(TB));
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
}

template <int N, bool TRANS>
__device__ void load(uint32_t (&r)[4], uint32_t at) {
    if constexpr (N == 1 && !TRANS)
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(at));
    if constexpr (N == 1 && TRANS)
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(at));
    if constexpr (N == 2 && !TRANS)
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(at));
    if constexpr (N == 2 && TRANS)
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(at));
    if constexpr (N == 4 && !TRANS)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
    if constexpr (N == 4 && TRANS)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
}

template <int N, bool TRANS>
__device__ void store(const uint32_t (&r)[4], uint32_t at) {
    if constexpr (N == 1 && !TRANS)
        asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%1], {%0};" ::"r"(r[0]), "r"(at) : "memory");
    if constexpr (N == 1 && TRANS)
        asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%1], {%0};" ::"r"(r[0]), "r"(at) : "memory");
    if constexpr (N == 2 && !TRANS)
        asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%2], {%0, %1};" ::"r"(r[0]), "r"(r[1]), "r"(at) : "memory");
    if constexpr (N == 2 && TRANS)
        asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%2], {%0, %1};" ::"r"(r[0]), "r"(r[1]), "r"(at) : "memory");
    if constexpr (N == 4 && !TRANS)
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%4], {%0, %1, %2, %3};"
                     ::"r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(at) : "memory");
    if constexpr (N == 4 && TRANS)
        asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%4], {%0, %1, %2, %3};"
                     ::"r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(at) : "memory");
}

template <int N, bool TRANS>
__device__ void move(bool stores, uint32_t (&r)[4], uint32_t at) {
    if (stores) store<N, TRANS>(r, at);
    else load<N, TRANS>(r, at);
}

__global__ void __launch_bounds__(128) probe(const uint4* content, const uint64_t* cases, uint32_t* out) {
    extern __shared__ __align__(1024) uint8_t shared[];
    const uint64_t* c = cases + uint64_t(blockIdx.x) * WORDS;
    uint32_t* result = out + uint64_t(blockIdx.x) * OUT;
    uint32_t base = static_cast<uint32_t>(__cvta_generic_to_shared(shared)), t = threadIdx.x;
    if (base % 1024) __trap();
    for (int i = t; i < SHARED / 16; i += 128) reinterpret_cast<uint4*>(shared)[i] = content[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (c[0] == 0) {
        float d[32];
        for (int i = 0; i < 32; ++i) d[i] = 0;
        uint64_t a = c[1] + (base >> 4), b = c[2] + (base >> 4);
        if (c[3] == 0 && c[4] == 0) wgmma<0, 0>(d, a, b);
        else if (c[3] == 0) wgmma<0, 1>(d, a, b);
        else if (c[4] == 0) wgmma<1, 0>(d, a, b);
        else wgmma<1, 1>(d, a, b);
        for (int i = 0; i < 32; ++i) result[32 * t + i] = __float_as_uint(d[i]);
    } else if (t < 32 && c[0] < 3) {
        uint32_t r[4] = {}, at = base + uint32_t(c[3 + t]);
        bool stores = c[0] == 2;
        if (stores)
            for (int i = 0; i < 4; ++i) r[i] = reinterpret_cast<uint32_t*>(shared)[4 * t + i];
        __syncwarp();
        if (c[1] == 1 && !c[2]) move<1, false>(stores, r, at);
        if (c[1] == 1 && c[2]) move<1, true>(stores, r, at);
        if (c[1] == 2 && !c[2]) move<2, false>(stores, r, at);
        if (c[1] == 2 && c[2]) move<2, true>(stores, r, at);
        if (c[1] == 4 && !c[2]) move<4, false>(stores, r, at);
        if (c[1] == 4 && c[2]) move<4, true>(stores, r, at);
        __syncwarp();
        if (stores)
            for (int i = t; i < OUT; i += 32) result[i] = reinterpret_cast<uint32_t*>(shared)[i];
        else
            for (int i = 0; i < 4; ++i) result[4 * t + i] = r[i];
    } else if (t < 32) {
        const uint32_t* r = reinterpret_cast<uint32_t*>(shared) + 8 * t;
        float d[4] = {0, 0, 0, 0};
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
            "{%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(r[4]), "r"(r[5]));
        for (int i = 0; i < 4; ++i) result[4 * t + i] = __float_as_uint(d[i]);
    }
}

static std::vector<char> contents(const char* path) {
    FILE* f = fopen(path, "rb");
    if (!f) { fprintf(stderr, "expected %s\n", path); exit(1); }
    fseek(f, 0, SEEK_END);
    std::vector<char> bytes(ftell(f));
    rewind(f);
    if (fread(bytes.data(), 1, bytes.size(), f) != bytes.size()) exit(1);
    fclose(f);
    return bytes;
}

int main(int, char** arguments) {
    std::vector<char> shared = contents(arguments[1]), cases = contents(arguments[2]);
    size_t n = cases.size() / (8 * WORDS);
    char *s, *c, *o;
    CHECK(cudaMalloc(&s, shared.size()));
    CHECK(cudaMalloc(&c, cases.size()));
    CHECK(cudaMalloc(&o, n * OUT * 4));
    CHECK(cudaMemset(o, 0, n * OUT * 4));
    CHECK(cudaMemcpy(s, shared.data(), shared.size(), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(c, cases.data(), cases.size(), cudaMemcpyHostToDevice));
    CHECK(cudaFuncSetAttribute(probe, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED));
    probe<<<n, 128, SHARED>>>((const uint4*)s, (const uint64_t*)c, (uint32_t*)o);
    CHECK(cudaDeviceSynchronize());
    std::vector<char> result(n * OUT * 4);
    CHECK(cudaMemcpy(result.data(), o, result.size(), cudaMemcpyDeviceToHost));
    FILE* f = fopen(arguments[3], "wb");
    if (!f || fwrite(result.data(), 1, result.size(), f) != result.size() || fclose(f)) return 1;
}

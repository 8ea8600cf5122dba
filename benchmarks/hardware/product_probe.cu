// Runs matrix products on given registers and shared memory and writes the sums that they leave.
//
//     product_probe blob.bin cases.bin out.bin
//
// blob.bin: what cases point into. cases.bin: records of 16 words of 64 bits: variant, offset and bytes of what shared
// memory starts with (a copy of it from its first byte on, ones behind it), descriptors of A and of B (starts count from
// the 1024-byte aligned shared memory), scale-d, offsets of the registers of A, B and C (words of each thread one after
// the other), offset of the result, instructions in a row on the same sums, and what each adds to both descriptors.
// BUILD/variants.h holds a struct for each instruction, written by product_probe.py: threads, words of A, B and C of a
// thread, and run(). The results are words of C of each thread.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int SHARED = 192 * 1024;

struct Case {
    uint64_t variant, shared, bytes, a, b, scale, a_at, b_at, c_at, out, steps, a_step, b_step, spare[3];
};

#define CHECK(call)                                                                                   \
    do {                                                                                              \
        cudaError_t e = (call);                                                                       \
        if (e != cudaSuccess) { fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e)); exit(1); } \
    } while (0)

#include "variants.h"

template <class Op>
__global__ void __launch_bounds__(128) probe(const uint8_t* blob, Case c, uint8_t* out) {
    extern __shared__ __align__(1024) uint8_t shared[];
    const uint32_t base = static_cast<uint32_t>(__cvta_generic_to_shared(shared)), t = threadIdx.x;
    if (base % 1024) __trap();
    if constexpr (Op::THREADS == 128) {
        const uint4* from = reinterpret_cast<const uint4*>(blob + c.shared);
        for (int i = t; i < SHARED / 16; i += 128)
            reinterpret_cast<uint4*>(shared)[i] = i < c.bytes / 16 ? from[i] : uint4{~0u, ~0u, ~0u, ~0u};
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
    }
    uint32_t a[Op::A + 1] = {}, b[Op::B + 1] = {}, d[Op::C];
    for (int i = 0; i < Op::A; ++i) a[i] = reinterpret_cast<const uint32_t*>(blob + c.a_at)[t * Op::A + i];
    for (int i = 0; i < Op::B; ++i) b[i] = reinterpret_cast<const uint32_t*>(blob + c.b_at)[t * Op::B + i];
    for (int i = 0; i < Op::C; ++i) d[i] = reinterpret_cast<const uint32_t*>(blob + c.c_at)[t * Op::C + i];
    if constexpr (Op::THREADS == 128) {
        uint64_t da = c.a + (base >> 4), db = c.b + (base >> 4);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (uint64_t s = 0; s < c.steps; ++s) {
            Op::run(d, a, b, da, db, s ? 1 : int(c.scale));
            da += c.a_step, db += c.b_step;
        }
        asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    } else {
        for (uint64_t s = 0; s < c.steps; ++s) Op::run(d, a, b, 0, 0, 1);
    }
    for (int i = 0; i < Op::C; ++i) reinterpret_cast<uint32_t*>(out + c.out)[t * Op::C + i] = d[i];
}

using Kernel = void (*)(const uint8_t*, Case, uint8_t*);
struct Row { Kernel kernel; int threads, words; };
template <class Op> Row row() { return {probe<Op>, Op::THREADS, Op::C}; }
#include "table.h"

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
    std::vector<char> blob = contents(arguments[1]), text = contents(arguments[2]);
    const Case* cases = reinterpret_cast<const Case*>(text.data());
    size_t n = text.size() / sizeof(Case), bytes = 0;
    for (size_t i = 0; i < n; ++i) {
        const Row& r = TABLE[cases[i].variant];
        bytes = std::max(bytes, size_t(cases[i].out + 4 * r.threads * r.words));
    }
    uint8_t *in, *out;
    CHECK(cudaMalloc(&in, blob.size() + 65536));
    CHECK(cudaMalloc(&out, bytes));
    CHECK(cudaMemset(in, 0, blob.size() + 65536));
    CHECK(cudaMemset(out, 0, bytes));
    CHECK(cudaMemcpy(in, blob.data(), blob.size(), cudaMemcpyHostToDevice));
    for (const Row& r : TABLE)
        if (r.threads == 128) CHECK(cudaFuncSetAttribute(r.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED));
    for (size_t i = 0; i < n; ++i) {
        const Row& r = TABLE[cases[i].variant];
        r.kernel<<<1, r.threads, r.threads == 128 ? SHARED : 0>>>(in, cases[i], out);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaDeviceSynchronize());
    std::vector<char> result(bytes);
    CHECK(cudaMemcpy(result.data(), out, bytes, cudaMemcpyDeviceToHost));
    FILE* f = fopen(arguments[3], "wb");
    if (!f || fwrite(result.data(), 1, bytes, f) != bytes || fclose(f)) return 1;
}

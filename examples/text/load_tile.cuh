// Claims as comments beside the code that they are about: symlayout prove examples/text/load_tile.cuh
#pragma once

#include <cuda_bf16.h>

// symlayout: dims M K(multiple_of=8) ld(at_least=K, multiple_of=8)

constexpr int kRows = 64, kCols = 64, kThreads = 128;

// The tile in shared memory, 16 bytes (8 columns) at a time; the swizzle keeps ldmatrix free of conflicts.
// symlayout: bijective Sw<3,3,3> o 0 o (64,64):(64,1) onto 4096
// symlayout: conflict_free Sw<3,3,3> o 0 o (8,8):(64,8) element_bytes 2 width_bytes 16
// symlayout: conflict_free (8,8):(64,8) element_bytes 2 width_bytes 16 expect refuted
__device__ inline int tile_offset(int row, int col) {
    return row * kCols + ((col / 8 ^ row % 8) * 8 | col % 8);
}

// symlayout: equal row*64 + ((col // 8) ^ (row % 8))*8 + col % 8 and (row*64 + col) ^ (row % 8 * 8)
// ...        over (row, col) < (64, 64)

/*
 * Each thread copies vectors of 8 elements, kThreads vectors at a time.
 *
 * symlayout: partition (128,4,8):(8,1024,1) onto 64*64
 * symlayout: in_bounds (64*b + v // 8)*ld + 8*(v % 8) + e over (b, v, e) < (ceil_div(M, 64), 512, 8)
 * ...        when 64*b + v // 8 < M, 8*(v % 8) + 8 <= K  extent M*ld
 */
__device__ inline void load_tile(__nv_bfloat16* tile, const __nv_bfloat16* a, int M, int K, int ld, int b) {
    for (int v = threadIdx.x; v < kRows * kCols / 8; v += kThreads) {
        int row = v / 8, col = v % 8 * 8;
        // A known limit of this loader: 32-bit offsets.
        // symlayout: fits_in (M,K):(ld,1) bits 32 expect refuted
        if (kRows * b + row < M && col + 8 <= K)
            *reinterpret_cast<uint4*>(tile + tile_offset(row, col)) =
                *reinterpret_cast<const uint4*>(a + (kRows * b + row) * ld + col);
    }
}

// The names of kernels/cuda/device/device.hpp for a CPU: every CUDA thread is a fiber, run in turn
// until it waits (emulate.cpp). Slow, deterministic, exact: it runs the kernels' own text where
// there is no GPU. To be included before anything else.
#pragma once
#include "mdqr/config.hpp"

// Inlining everything takes the compiler long and buys nothing here.
#undef MDQR_FN
#undef MDQR_LAMBDA
#define MDQR_FN inline
#define MDQR_LAMBDA

#include <cstring>

#include "mdqr/number/md.hpp"

namespace mdqr_emulate {

constexpr int warp_size = 32;

struct block {
    long x, y, z;
    double* shared;
};
struct thread {
    const block* in;
    int index;
    int lane() const { return index % warp_size; }
};
// What the lanes of a warp put up for exchange; who is ahead puts up the next on another board.
using board = double[6][warp_size];

extern thread* current;
extern int threads;
extern long grid[3];

void yield();
void sync_block();
void sync_lanes();
board& board_of_warp();

} // namespace mdqr_emulate

#define MDQR_KERNEL(name, arguments, ...) extern "C" void name(const arguments& p)

MDQR_BEGIN

inline int thread_index() { return mdqr_emulate::current->index; }
inline int thread_count() { return mdqr_emulate::threads; }
inline i64 block_x() { return mdqr_emulate::current->in->x; }
inline i64 block_y() { return mdqr_emulate::current->in->y; }
inline i64 blocks_x() { return mdqr_emulate::grid[0]; }
inline i64 blocks_y() { return mdqr_emulate::grid[1]; }
inline void sync_threads() { mdqr_emulate::sync_block(); }
inline void sync_warp() { mdqr_emulate::sync_lanes(); }
inline double* shared_memory() { return mdqr_emulate::current->in->shared; }

inline double exchanged(double x, int from) {
    auto& board = mdqr_emulate::board_of_warp();
    board[0][mdqr_emulate::current->lane()] = x;
    mdqr_emulate::sync_lanes();
    return board[0][from];
}
inline double shuffle_xor(double x, int mask) {
    return exchanged(x, mdqr_emulate::current->lane() ^ mask);
}
inline double shuffle(double x, int lane) { return exchanged(x, lane); }
inline float shuffle_xor(float x, int mask) { return float(shuffle_xor(double(x), mask)); }
inline float shuffle(float x, int lane) { return float(shuffle(double(x), lane)); }
inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline float root(float a) { return __builtin_sqrtf(a); }
// sum + the four products of the bytes of x, not signed, and those of y, signed.
inline int dot_bytes(int sum, unsigned x, int y) {
    for (int i = 0; i < 4; ++i)
        sum += int(x >> 8 * i & 255u) * static_cast<signed char>(y >> 8 * i);
    return sum;
}
// A double holds the sum with a number that leaves 11 bits, or the last bit of a subnormal.
inline unsigned short to_half(float x) {
    unsigned word;
    std::memcpy(&word, &x, 4);
    const unsigned sign = word >> 16 & 0x8000u;
    const double size = __builtin_fabs(double(x));
    if (!(size < 65520.0))
        return static_cast<unsigned short>(sign | (size != size ? 0x7fffu : 0x7c00u));
    int exponent = 0;
    __builtin_frexp(size, &exponent);
    const int place = size > 0.0 && exponent > -13 ? exponent - 11 : -24; // of the last bit
    const double units = __builtin_rint(__builtin_ldexp(size, -place));
    // Bits of subnormals count units; a carry moves to the next exponent.
    const unsigned offset = place > -24 ? unsigned(place + 24) << 10 : 0u;
    return static_cast<unsigned short>(sign | (offset + unsigned(units)));
}
inline float from_half(unsigned short x) {
    const int exponent = x >> 10 & 31, digits = x & 1023;
    const double size = exponent == 31  ? (digits ? __builtin_nan("") : __builtin_inf())
                        : exponent == 0 ? __builtin_ldexp(digits, -24)
                                        : __builtin_ldexp(1024 + digits, exponent - 25);
    return float(x & 0x8000 ? -size : size);
}
inline bool warp_any(bool x) {
    auto& board = mdqr_emulate::board_of_warp();
    board[0][mdqr_emulate::current->lane()] = x ? 1.0 : 0.0;
    mdqr_emulate::sync_lanes();
    bool r = false;
    for (double y : board[0])
        r = r || y == 1.0;
    return r;
}

inline double load_past_cache(const double* address) { return *address; }
inline i64 load_word(const i64* address) { return *address; }
inline void publish(double* address, double x) { *address = x; }
inline void publish(i64* address, i64 x) { *address = x; }
// As coarse as on the device: 20 bits behind the leading one.
inline double cut_to_20_bits(double x) { return from_bits(bits(x) >> 32 << 32); }
inline double near_reciprocal(double x) { return cut_to_20_bits(1.0 / x); }
inline double near_reciprocal_root(double x) { return cut_to_20_bits(1.0 / sqrt(x)); }
inline float near_reciprocal_root(float x) { return float(near_reciprocal_root(double(x))); }
inline void between_looks() { mdqr_emulate::yield(); }
inline i64 atomic_add(i64* address, i64 x) {
    const i64 old = *address;
    *address += x;
    return old;
}
inline i64 atomic_max(i64* address, i64 x) {
    const i64 old = *address;
    *address = old > x ? old : x;
    return old;
}
inline void signal(i64* counter) {
    sync_threads();
    if (thread_index() == 0)
        ++*counter;
}
inline void wait_for(const i64* counter, i64 goal) {
    if (thread_index() == 0)
        while (*static_cast<const volatile i64*>(counter) < goal)
            mdqr_emulate::yield();
    sync_threads();
}

inline void prefetch(const void*) {}
inline void copy_async(void* shared, const void* global) { std::memcpy(shared, global, 16); }
inline void end_copies() {}
inline void keep_order() {}
template <int Pending> inline void wait_copies() {}

// One step of four products a number, in the order of k.
inline void matrix_multiply_add(double (&c)[4], double a0, double a1, double b) {
    auto& board = mdqr_emulate::board_of_warp();
    const int lane = mdqr_emulate::current->lane();
    board[0][lane] = a0;
    board[1][lane] = a1;
    board[2][lane] = b;
    mdqr_emulate::sync_lanes();
    for (int r = 0; r < 2; ++r)
        for (int j = 0; j < 2; ++j)
            for (int k = 0; k < 4; ++k)
                c[2 * r + j] = fma(board[r][4 * (lane / 4) + k],
                                   board[2][4 * (2 * (lane % 4) + j) + k], c[2 * r + j]);
}

// One step of 32 products of bytes a number.
inline void matrix_multiply_add(int (&r)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                                const int (&c)[4]) {
    auto& board = mdqr_emulate::board_of_warp();
    const int lane = mdqr_emulate::current->lane();
    for (int i = 0; i < 4; ++i)
        board[i][lane] = a[i];
    board[4][lane] = b[0];
    board[5][lane] = b[1];
    mdqr_emulate::sync_lanes();
    for (int i = 0; i < 4; ++i) {
        r[i] = c[i];
        for (int word = 0; word < 8; ++word) {
            const int row = 4 * (lane / 4) + word % 4, column = 4 * (2 * (lane % 4) + i % 2);
            r[i] = dot_bytes(r[i], unsigned(board[4 + word / 4][column + word % 4]),
                             int(unsigned(board[2 * (word / 4) + i / 2][row])));
        }
    }
}

MDQR_END

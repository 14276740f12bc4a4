// The names of kernels/cuda/device.hpp for a CPU: every CUDA thread is a fiber, run in turn until
// it waits. Slow, deterministic, exact: it runs the kernels' own text where there is no GPU.
#pragma once
#include <ucontext.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "mdqr/md.hpp"

namespace mdqr_emulate {

constexpr int warp_size = 32;

struct warp_state {
    double a[3][warp_size]; // what the lanes put up for exchange
    int arrived = 0;
    long generation = 0;
};
struct block_state {
    long x, y, z;
    int alive = 0, arrived = 0;
    long generation = 0;
    std::vector<double> shared;
    std::vector<warp_state> warps;
    std::vector<int> warp_alive;
};
struct fiber {
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    block_state* block;
    int index;
    bool done = false;
};

inline fiber* current;
inline ucontext_t scheduler;
inline int threads;
inline long grid[3];
inline void (*entry)(const void*);
inline const void* entry_arguments;

inline void yield() { swapcontext(&current->context, &scheduler); }

inline void sync_block() {
    block_state& b = *current->block;
    const long seen = b.generation;
    if (++b.arrived == b.alive) {
        b.arrived = 0;
        ++b.generation;
    }
    while (b.generation == seen)
        yield();
}
inline warp_state& warp() { return current->block->warps[size_t(current->index / warp_size)]; }
inline void sync_lanes() {
    warp_state& w = warp();
    const long seen = w.generation;
    if (++w.arrived == current->block->warp_alive[size_t(current->index / warp_size)]) {
        w.arrived = 0;
        ++w.generation;
    }
    while (w.generation == seen)
        yield();
}

inline void run_fiber() {
    entry(entry_arguments);
    block_state& b = *current->block;
    const size_t w = size_t(current->index / warp_size);
    current->done = true;
    // As on the device, threads that have left count as arrived.
    --b.alive;
    --b.warp_alive[w];
    if (b.alive > 0 && b.arrived == b.alive) {
        b.arrived = 0;
        ++b.generation;
    }
    swapcontext(&current->context, &scheduler);
}

inline void run_blocks(std::vector<std::unique_ptr<block_state>>& blocks) {
    constexpr size_t stack_size = 512 * 1024;
    std::vector<std::unique_ptr<fiber>> fibers;
    for (auto& b : blocks)
        for (int t = 0; t < threads; ++t) {
            auto f = std::make_unique<fiber>();
            f->stack.reset(new char[stack_size]);
            f->block = b.get();
            f->index = t;
            getcontext(&f->context);
            f->context.uc_stack.ss_sp = f->stack.get();
            f->context.uc_stack.ss_size = stack_size;
            f->context.uc_link = &scheduler;
            makecontext(&f->context, run_fiber, 0);
            fibers.push_back(std::move(f));
        }
    size_t left = fibers.size();
    while (left > 0)
        for (auto& f : fibers)
            if (!f->done) {
                current = f.get();
                swapcontext(&scheduler, &f->context);
                left -= f->done ? 1 : 0;
            }
}

// Shared memory starts as NaN, so that reads of what nobody wrote show.
inline std::unique_ptr<block_state> new_block(long x, long y, long z, long shared_bytes) {
    auto b = std::make_unique<block_state>();
    b->x = x;
    b->y = y;
    b->z = z;
    b->alive = threads;
    b->shared.assign(size_t(shared_bytes + 7) / 8, __builtin_nan(""));
    b->warps.resize(size_t(threads + warp_size - 1) / warp_size);
    for (int t = 0; t < threads; t += warp_size)
        b->warp_alive.push_back(threads - t < warp_size ? threads - t : warp_size);
    return b;
}

} // namespace mdqr_emulate

// Run `kernel` over the grid; the blocks of a cooperative launch run side by side.
extern "C" inline void mdqr_emulate_launch(void (*kernel)(const void*), const void* arguments,
                                           const long* grid, int threads, long shared_bytes,
                                           int cooperative) {
    using namespace mdqr_emulate;
    entry = kernel;
    entry_arguments = arguments;
    mdqr_emulate::threads = threads;
    std::memcpy(mdqr_emulate::grid, grid, sizeof mdqr_emulate::grid);
    std::vector<std::unique_ptr<block_state>> blocks;
    for (long z = 0; z < grid[2]; ++z)
        for (long y = 0; y < grid[1]; ++y)
            for (long x = 0; x < grid[0]; ++x) {
                blocks.push_back(new_block(x, y, z, shared_bytes));
                if (!cooperative) {
                    run_blocks(blocks);
                    blocks.clear();
                }
            }
    if (cooperative)
        run_blocks(blocks);
}
// An inline function that nobody calls is not emitted: this keeps it.
__attribute__((used)) static void (*const mdqr_emulate_keep)(void (*)(const void*), const void*,
                                                             const long*, int, long,
                                                             int) = mdqr_emulate_launch;

#define MDQR_KERNEL(name, arguments, ...) extern "C" void name(const arguments& p)

MDQR_BEGIN

inline int thread_index() { return mdqr_emulate::current->index; }
inline int thread_count() { return mdqr_emulate::threads; }
inline i64 block_x() { return mdqr_emulate::current->block->x; }
inline i64 block_y() { return mdqr_emulate::current->block->y; }
inline i64 blocks_x() { return mdqr_emulate::grid[0]; }
inline i64 blocks_y() { return mdqr_emulate::grid[1]; }
inline void sync_threads() { mdqr_emulate::sync_block(); }
inline void sync_warp() { mdqr_emulate::sync_lanes(); }
inline double* shared_memory() { return mdqr_emulate::current->block->shared.data(); }

inline double exchanged(double x, int from) {
    auto& w = mdqr_emulate::warp();
    w.a[0][mdqr_emulate::current->index % mdqr_emulate::warp_size] = x;
    mdqr_emulate::sync_lanes();
    const double r = w.a[0][from];
    mdqr_emulate::sync_lanes();
    return r;
}
inline double shuffle_xor(double x, int mask) {
    return exchanged(x, (mdqr_emulate::current->index % mdqr_emulate::warp_size) ^ mask);
}
inline double shuffle(double x, int lane) { return exchanged(x, lane); }
inline float shuffle_xor(float x, int mask) { return float(shuffle_xor(double(x), mask)); }
inline float shuffle(float x, int lane) { return float(shuffle(double(x), lane)); }
inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline float root(float a) { return __builtin_sqrtf(a); }
// A double has room for the sum with a number that leaves 11 bits, or the last bit of a subnormal.
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
    auto& w = mdqr_emulate::warp();
    w.a[0][mdqr_emulate::current->index % mdqr_emulate::warp_size] = x ? 1.0 : 0.0;
    mdqr_emulate::sync_lanes();
    bool r = false;
    for (double y : w.a[0])
        r = r || y == 1.0;
    mdqr_emulate::sync_lanes();
    return r;
}

inline double load_fresh(const double* address) { return *address; }
inline i64 look_at(const i64* address) { return *address; }
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
    auto& w = mdqr_emulate::warp();
    const int lane = mdqr_emulate::current->index % mdqr_emulate::warp_size;
    w.a[0][lane] = a0;
    w.a[1][lane] = a1;
    w.a[2][lane] = b;
    mdqr_emulate::sync_lanes();
    for (int r = 0; r < 2; ++r)
        for (int j = 0; j < 2; ++j)
            for (int k = 0; k < 4; ++k)
                c[2 * r + j] = fma(w.a[r][4 * (lane / 4) + k], w.a[2][4 * (2 * (lane % 4) + j) + k],
                                   c[2 * r + j]);
    mdqr_emulate::sync_lanes();
}

MDQR_END

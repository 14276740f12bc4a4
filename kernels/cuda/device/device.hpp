// What the CUDA entry points use of the device, and nothing else.
//
// An entry point is `MDQR_KERNEL(name, arguments, threads) { ... }`: one struct of 64-bit fields,
// passed by value as `p`. Shared memory is dynamic only. Blocks have at most `threads` threads in
// x; a fourth argument is the number of blocks that must fit on a multiprocessor.
// tests/support/devices/emulation/emulate.hpp gives these names to threads that a CPU runs in turn.
#pragma once
#include "mdqr/number/md.hpp"

#if defined(MDQR_EMULATE)
#include "emulate.hpp"
#else

// Ten times the compute capability. Tests ask for the code of an older device.
#if !defined(MDQR_CAPABILITY) && defined(__CUDA_ARCH__)
#define MDQR_CAPABILITY (__CUDA_ARCH__ / 10)
#endif

#define MDQR_KERNEL(name, arguments, ...)                                                          \
    extern "C" __global__ void __launch_bounds__(__VA_ARGS__)                                      \
        name(const __grid_constant__ arguments p)

MDQR_BEGIN

MDQR_FN int thread_index() { return int(threadIdx.x); }
MDQR_FN int thread_count() { return int(blockDim.x); }
MDQR_FN i64 block_x() { return i64(blockIdx.x); }
MDQR_FN i64 block_y() { return i64(blockIdx.y); }
MDQR_FN i64 blocks_x() { return i64(gridDim.x); }
MDQR_FN i64 blocks_y() { return i64(gridDim.y); }

MDQR_FN void sync_threads() {
#if defined(__CUDA_ARCH__)
    __syncthreads();
#endif
}
MDQR_FN void sync_warp() {
#if defined(__CUDA_ARCH__)
    __syncwarp();
#endif
}

// Loads stay on their side of this: keeps the compiler from holding more than fits in registers.
MDQR_FN void keep_order() {
#if defined(__CUDA_ARCH__)
    asm volatile("" ::: "memory");
#endif
}

// The dynamic shared memory of the block, 16-byte aligned.
MDQR_FN double* shared_memory() {
#if defined(__CUDA_ARCH__)
    extern __shared__ double2 mdqr_shared[];
    return reinterpret_cast<double*>(mdqr_shared);
#else
    return nullptr;
#endif
}

// The value that the lane `lane ^ mask` (or lane `lane`) of the warp holds; all lanes take part.
MDQR_FN double shuffle_xor(double x, int mask) {
#if defined(__CUDA_ARCH__)
    return __shfl_xor_sync(0xffffffffu, x, mask);
#else
    return x + 0.0 * mask;
#endif
}
MDQR_FN double shuffle(double x, int lane) {
#if defined(__CUDA_ARCH__)
    return __shfl_sync(0xffffffffu, x, lane);
#else
    return x + 0.0 * lane;
#endif
}
MDQR_FN float shuffle_xor(float x, int mask) {
#if defined(__CUDA_ARCH__)
    return __shfl_xor_sync(0xffffffffu, x, mask);
#else
    return x + 0.0f * float(mask);
#endif
}
MDQR_FN float shuffle(float x, int lane) {
#if defined(__CUDA_ARCH__)
    return __shfl_sync(0xffffffffu, x, lane);
#else
    return x + 0.0f * float(lane);
#endif
}
// True if `x` holds in any lane of the warp.
MDQR_FN bool warp_any(bool x) {
#if defined(__CUDA_ARCH__)
    return __any_sync(0xffffffffu, x) != 0;
#else
    return x;
#endif
}

// float32: one rounding each.
MDQR_FN float fused(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
    return __fmaf_rn(a, b, c);
#else
    return a * b + c;
#endif
}
MDQR_FN float root(float a) {
#if defined(__CUDA_ARCH__)
    return __fsqrt_rn(a);
#else
    return a;
#endif
}
// The nearest number of binary16 (bfloat16), ties to even, as its 16 bits, and back.
MDQR_FN unsigned short to_half(float x) {
    unsigned short r = 0;
#if defined(__CUDA_ARCH__)
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x));
#endif
    return r;
}
MDQR_FN float from_half(unsigned short x) {
    float r = 0.0f;
#if defined(__CUDA_ARCH__)
    asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x));
#endif
    return r;
}

// Memory that other blocks of the same launch write: past the first-level cache.
MDQR_FN double load_past_cache(const double* address) {
#if defined(__CUDA_ARCH__)
    return __ldcg(address);
#else
    return *address;
#endif
}
// Load a word that another block may be changing at this moment: in a loop a plain load would
// be taken as constant.
MDQR_FN i64 load_word(const i64* address) {
#if defined(__CUDA_ARCH__)
    i64 seen;
    asm volatile("ld.relaxed.gpu.global.s64 %0, [%1];" : "=l"(seen) : "l"(address) : "memory");
    return seen;
#else
    return *address;
#endif
}
// One word, as a message to those who wait for it.
MDQR_FN void publish(i64* address, i64 x) {
#if defined(__CUDA_ARCH__)
    asm volatile("st.relaxed.gpu.global.s64 [%0], %1;" : : "l"(address), "l"(x) : "memory");
#else
    *address = x;
#endif
}
MDQR_FN void publish(double* address, double x) {
#if defined(__CUDA_ARCH__)
    __stcg(address, x);
#else
    *address = x;
#endif
}
// 1 / x and 1 / sqrt(x) to some 20 bits, for positive numbers far from the ends of the range.
MDQR_FN double near_reciprocal(double x) {
    double r = x;
#if defined(__CUDA_ARCH__)
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
#endif
    return r;
}
MDQR_FN double near_reciprocal_root(double x) {
    double r = x;
#if defined(__CUDA_ARCH__)
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
#endif
    return r;
}
MDQR_FN float near_reciprocal_root(float x) {
    float r = x;
#if defined(__CUDA_ARCH__)
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
#endif
    return r;
}
// Between two calls of load_past_cache that wait for what another block will publish.
MDQR_FN void between_looks() {
#if defined(__CUDA_ARCH__)
    asm volatile("" ::: "memory");
#endif
}
MDQR_FN i64 atomic_add(i64* address, i64 x) {
#if defined(__CUDA_ARCH__)
    return i64(atomicAdd(reinterpret_cast<u64*>(address), u64(x)));
#else
    const i64 old = *address;
    *address += x;
    return old;
#endif
}
MDQR_FN i64 atomic_max(i64* address, i64 x) {
#if defined(__CUDA_ARCH__)
    return atomicMax(address, x);
#else
    const i64 old = *address;
    *address = old > x ? old : x;
    return old;
#endif
}

// Wait until *counter >= goal; what was written before the matching `signal` is visible then. Every
// thread of the block calls; needs a cooperative launch.
MDQR_FN void signal(i64* counter) {
#if defined(__CUDA_ARCH__)
    __syncthreads();
    if (threadIdx.x == 0) {
        // A release orders what the barrier above has gathered; a full fence would take longer.
        asm volatile("red.release.gpu.global.add.u64 [%0], 1;" : : "l"(counter) : "memory");
    }
#else
    ++*counter;
#endif
}
MDQR_FN void wait_for(const i64* counter, i64 goal) {
#if defined(__CUDA_ARCH__)
    if (threadIdx.x == 0) {
        i64 seen;
        do {
            asm volatile("ld.acquire.gpu.global.s64 %0, [%1];"
                         : "=l"(seen)
                         : "l"(counter)
                         : "memory");
        } while (seen < goal);
    }
    __syncthreads();
#else
    (void)counter;
    (void)goal;
#endif
}

// Ask for a line of global memory to come to the second-level cache.
MDQR_FN void prefetch(const void* address) {
#if defined(__CUDA_ARCH__)
    asm volatile("prefetch.global.L2 [%0];" : : "l"(address));
#else
    (void)address;
#endif
}

// Start a copy of 16 bytes from global to shared memory, both 16-byte aligned. Copies belong to the
// batch that the next `end_copies` closes; `wait_copies<P>` waits until at most P of this thread's
// batches are under way. Before compute capability 8.0 the copy is done at once.
MDQR_FN void copy_async(void* shared, const void* global) {
#if !defined(__CUDA_ARCH__)
    (void)shared;
    (void)global;
#elif MDQR_CAPABILITY >= 80
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                     unsigned(__cvta_generic_to_shared(shared))),
                 "l"(global)
                 : "memory");
#else
    *static_cast<int4*>(shared) = __ldcg(static_cast<const int4*>(global));
#endif
}
MDQR_FN void end_copies() {
#if defined(__CUDA_ARCH__) && MDQR_CAPABILITY >= 80
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int Pending> MDQR_FN void wait_copies() {
#if defined(__CUDA_ARCH__) && MDQR_CAPABILITY >= 80
    asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
#endif
}

MDQR_END
#endif

MDQR_BEGIN

template <int N> MDQR_FN md<double, N> shuffle_xor(const md<double, N>& x, int mask) {
    md<double, N> r;
    static_for<0, N>([&](auto i) MDQR_LAMBDA { r.limb[i] = shuffle_xor(x.limb[i], mask); });
    return r;
}
template <int N> MDQR_FN cmd<double, N> shuffle_xor(const cmd<double, N>& x, int mask) {
    return {shuffle_xor(x.re, mask), shuffle_xor(x.im, mask)};
}

template <int N> MDQR_FN md<double, N> shuffle(const md<double, N>& x, int lane) {
    md<double, N> r;
    static_for<0, N>([&](auto i) MDQR_LAMBDA { r.limb[i] = shuffle(x.limb[i], lane); });
    return r;
}

// A barrier for all blocks of one group of `count`; `step` counts them from 1 on.
MDQR_FN void sync_blocks(i64* counter, i64 count, i64 step) {
    if (count == 1) {
        sync_threads();
        return;
    }
    signal(counter);
    wait_for(counter, count * step);
}

// Where the blocks of a launch keep what they work on: in their shared memory or, where a device
// has too little of it, with -DMDQR_GLOBAL in `words` doubles each of global memory. They are few
// then, and take the units of work in turn.
struct workspace {
    double* memory;
    i64 words, units;
};
MDQR_FN double* block_memory(const workspace& work) {
#if defined(MDQR_GLOBAL)
    return work.memory + block_x() * work.words;
#else
    (void)work;
    return shared_memory();
#endif
}
// f(unit) for the units of a block, by all of its threads.
template <class F> MDQR_FN void for_units(const workspace& work, F&& f) {
#if defined(MDQR_GLOBAL)
    for (i64 unit = block_x(); unit < work.units; unit += blocks_x()) {
        f(unit);
        sync_threads();
    }
#else
    (void)work;
    f(block_x());
#endif
}

MDQR_END

// Everything that differs between the host compilers and NVRTC, and nothing else.
#pragma once

#if defined(__FAST_MATH__)
#error "mdqr: -ffast-math deletes the error terms that multiple-double arithmetic is made of"
#endif

// 0, 1 and the widths up to 64 leave double alone; 2 is x87, -1 a compiler that does not say.
#if !defined(__CUDACC_RTC__) && !defined(__CUDACC__) && defined(__FLT_EVAL_METHOD__)
#if __FLT_EVAL_METHOD__ < 0 || __FLT_EVAL_METHOD__ == 2 || __FLT_EVAL_METHOD__ > 64
#error                                                                                             \
    "mdqr: doubles must be evaluated as doubles; on x86 compile for SSE2 (-msse2 -mfpmath=sse), not x87"
#endif
#endif

#if defined(__CUDACC_RTC__) || defined(__CUDACC__)
#define MDQR_DEVICE 1
#define MDQR_FN __host__ __device__ __forceinline__
#define MDQR_LAMBDA
#else
#define MDQR_DEVICE 0
#define MDQR_FN inline __attribute__((always_inline))
#define MDQR_LAMBDA __attribute__((always_inline))
#endif

// Long networks are called, not inlined: passing limbs through memory costs little against hundreds
// of operations.
#if MDQR_DEVICE
#define MDQR_CALL __host__ __device__ __noinline__
#else
#define MDQR_CALL __attribute__((noinline))
#endif

// Special-case code that is rarely run stays out of line.
#if MDQR_DEVICE
#define MDQR_COLD __host__ __device__ __noinline__
#else
#define MDQR_COLD __attribute__((noinline, cold))
#endif

// Tables of constants, indexed at run time.
#if MDQR_DEVICE
#define MDQR_TABLE static __device__ constexpr
#else
#define MDQR_TABLE inline constexpr
#endif

// Loops over digits have bounds known at compile time; unrolled, their arrays are registers. Of
// many limbs they stay loops.
#if defined(MDQR_LIMBS)
#if MDQR_LIMBS > 9
#define MDQR_UNROLL
#endif
#endif
#if defined(MDQR_UNROLL)
#elif MDQR_DEVICE
#define MDQR_UNROLL _Pragma("unroll")
#else
#define MDQR_UNROLL _Pragma("GCC unroll 32")
#endif

// One namespace a CPU level: without it the linker would keep one copy of an inline function for
// all levels.
#if !defined(MDQR_LEVEL)
#define MDQR_LEVEL generic
#endif
#define MDQR_BEGIN                                                                                 \
    namespace mdqr {                                                                               \
    inline namespace MDQR_LEVEL {
#define MDQR_END                                                                                   \
    }                                                                                              \
    }

MDQR_BEGIN

using i32 = int;
using i64 = long long;
using u64 = unsigned long long;
static_assert(sizeof(i64) == 8 && sizeof(double) == 8, "64-bit integers and doubles are assumed");

// A compile-time index: `static_for<0, N>([&](auto i) { use x[i]; })` is straight-line code under
// every compiler.
template <int I> struct index {
    MDQR_FN constexpr operator int() const { return I; }
    static constexpr int value = I;
};

template <int I, int End, class F> MDQR_FN void static_for(F&& f) {
    if constexpr (I < End) {
        f(index<I>{});
        static_for<I + 1, End>(f);
    }
}

// From Last down to End, both included.
template <int I, int Last, class F> MDQR_FN void static_for_down(F&& f) {
    if constexpr (I >= Last) {
        f(index<I>{});
        static_for_down<I - 1, Last>(f);
    }
}

MDQR_END

// Vectors of doubles as a lane type (GCC and Clang vector extensions): the names of lane.hpp.
#pragma once
#include "mdqr/number/lane.hpp"
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(MDQR_NEON)
#include <arm_neon.h>
#endif

MDQR_BEGIN

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#define MDQR_HOST_LANES 8
#elif defined(__AVX2__) && defined(__FMA__)
#define MDQR_HOST_LANES 4
#elif defined(MDQR_NEON)
#define MDQR_HOST_LANES 2
#else
#define MDQR_HOST_LANES 1
#endif

#if MDQR_HOST_LANES > 1

typedef double vec __attribute__((vector_size(MDQR_HOST_LANES * 8)));
typedef i64 ivec __attribute__((vector_size(MDQR_HOST_LANES * 8)));
typedef double vec_unaligned
    __attribute__((vector_size(MDQR_HOST_LANES * 8), aligned(8), may_alias));

template <> struct lane_traits<vec> {
    using mask = ivec;
    using ints = ivec;
    static constexpr int lanes = MDQR_HOST_LANES;
};

MDQR_FN vec one_sum(vec a, vec b) { return a + b; }
MDQR_FN vec one_prod(vec a, vec b) { return a * b; }
MDQR_FN ivec bits(vec a) { return (ivec)a; }
MDQR_FN vec from_bits(ivec a) { return (vec)a; }
MDQR_FN vec select(ivec m, vec a, vec b) { return m ? a : b; }
MDQR_FN ivec select_ints(ivec m, ivec a, ivec b) { return m ? a : b; }
MDQR_FN vec abs(vec a) { return (vec)((ivec)a & 0x7fffffffffffffffLL); }
#if MDQR_HOST_LANES == 8
MDQR_FN vec fma(vec a, vec b, vec c) {
    return (vec)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}
MDQR_FN vec sqrt(vec a) { return (vec)_mm512_sqrt_pd((__m512d)a); }
MDQR_FN bool any(ivec m) { return _mm512_movepi64_mask((__m512i)m) != 0; }
MDQR_FN vec gather(const double* table, ivec at) {
    return (vec)_mm512_i64gather_pd((__m512i)at, table, 8);
}
#elif MDQR_HOST_LANES == 4
MDQR_FN vec fma(vec a, vec b, vec c) {
    return (vec)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}
MDQR_FN vec sqrt(vec a) { return (vec)_mm256_sqrt_pd((__m256d)a); }
MDQR_FN bool any(ivec m) { return _mm256_movemask_pd((__m256d)m) != 0; }
MDQR_FN vec gather(const double* table, ivec at) {
    return (vec)_mm256_i64gather_pd(table, (__m256i)at, 8);
}
#else
MDQR_FN vec fma(vec a, vec b, vec c) {
    return (vec)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}
MDQR_FN vec sqrt(vec a) { return (vec)vsqrtq_f64((float64x2_t)a); }
MDQR_FN bool any(ivec m) { return (m[0] | m[1]) != 0; }
MDQR_FN vec gather(const double* table, ivec at) { return vec{table[at[0]], table[at[1]]}; }
#endif
MDQR_FN double lane_get(vec a, int i) { return a[i]; }
MDQR_FN void lane_set(vec& a, int i, double b) { a[i] = b; }
MDQR_FN bool mask_get(ivec m, int i) { return m[i] != 0; }
template <> MDQR_FN vec broadcast<vec>(double a) { return a - (vec){}; }
template <> MDQR_FN vec load<vec>(const double* p) {
    return *reinterpret_cast<const vec_unaligned*>(p);
}
MDQR_FN void store(double* p, vec a) { *reinterpret_cast<vec_unaligned*>(p) = a; }

using lane = vec;
#else
using lane = double;
#endif

MDQR_END

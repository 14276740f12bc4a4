// Vectors of integers of 32 bits, as wide as the CPU level has them, and sums of products of bytes.
#pragma once
#include "level/level.hpp"

MDQR_BEGIN

#if defined(__AVX512BW__)
inline constexpr int byte_lanes = 16;
#elif defined(__AVX2__)
inline constexpr int byte_lanes = 8;
#else
inline constexpr int byte_lanes = 4;
#endif

typedef int int_lanes __attribute__((vector_size(4 * byte_lanes)));
typedef int int_lanes_unaligned __attribute__((vector_size(4 * byte_lanes), aligned(4), may_alias));
typedef float float_lanes __attribute__((vector_size(4 * byte_lanes)));
typedef int half_lanes __attribute__((vector_size(2 * byte_lanes)));
typedef short short_lanes __attribute__((vector_size(byte_lanes)));
typedef short short_lanes_unaligned __attribute__((vector_size(byte_lanes), aligned(2), may_alias));
typedef double double_lanes __attribute__((vector_size(4 * byte_lanes)));

MDQR_FN int_lanes splat(int x) { return x - (int_lanes){}; }
MDQR_FN int_lanes load_ints(const void* p) { return *static_cast<const int_lanes_unaligned*>(p); }
MDQR_FN void store_ints(void* p, int_lanes x) { *static_cast<int_lanes_unaligned*>(p) = x; }

// sum + the four products of the bytes of x, not signed, and those of y, signed.
MDQR_FN int_lanes dot_bytes(int_lanes sum, int_lanes x, int_lanes y) {
#if defined(__AVX512VNNI__)
    return (int_lanes)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)x, (__m512i)y);
#elif defined(__AVX512BW__)
    const __m512i low = _mm512_madd_epi16(_mm512_and_si512((__m512i)x, _mm512_set1_epi16(255)),
                                          _mm512_srai_epi16(_mm512_slli_epi16((__m512i)y, 8), 8));
    const __m512i high =
        _mm512_madd_epi16(_mm512_srli_epi16((__m512i)x, 8), _mm512_srai_epi16((__m512i)y, 8));
    return sum + (int_lanes)low + (int_lanes)high;
#elif defined(__AVX2__)
    const __m256i low = _mm256_madd_epi16(_mm256_and_si256((__m256i)x, _mm256_set1_epi16(255)),
                                          _mm256_srai_epi16(_mm256_slli_epi16((__m256i)y, 8), 8));
    const __m256i high =
        _mm256_madd_epi16(_mm256_srli_epi16((__m256i)x, 8), _mm256_srai_epi16((__m256i)y, 8));
    return sum + (int_lanes)low + (int_lanes)high;
#else
    for (int shift = 0; shift < 32; shift += 8)
        sum += ((x >> shift) & 255) * ((y << (24 - shift)) >> 24);
    return sum;
#endif
}

// x modulo m, nearest to zero, for any x: the quotient of doubles is far enough from halves.
MDQR_FN half_lanes nearest_residues(double_lanes x, double m, double inverse) {
    const double_lanes magic = 0x1.8p52 - (double_lanes){};
    return __builtin_convertvector(x - ((x * inverse + magic) - magic) * m, half_lanes);
}
MDQR_FN half_lanes nearest_residues(half_lanes x, double m, double inverse) {
    return nearest_residues(__builtin_convertvector(x, double_lanes), m, inverse);
}

// The same for |x| < 2^23 by floats, or one farther from zero: quotients err by less than 1 / m
// there, or not at all for m = 256, and bytes hold what they lead to.
MDQR_FN int_lanes nearest_residues(int_lanes x, float m, float inverse) {
    const float_lanes y = __builtin_convertvector(x, float_lanes),
                      magic = 0x1.8p23f - (float_lanes){};
    const float_lanes q = (y * inverse + magic) - magic;
    return __builtin_convertvector(y - q * m, int_lanes);
}

// Integers of 64 bits in lanes, from and to memory.
MDQR_FN ints_t<lane> load_lanes(const i64* p) { return bits(load<lane>((const double*)p)); }
MDQR_FN void store_lanes(i64* p, ints_t<lane> x) { store((double*)p, from_bits(x)); }
MDQR_FN void store_narrow(int* p, ints_t<lane> x) {
#if MDQR_HOST_LANES > 1
    typedef int narrow __attribute__((vector_size(MDQR_HOST_LANES * 4)));
    typedef int narrow_unaligned
        __attribute__((vector_size(MDQR_HOST_LANES * 4), aligned(4), may_alias));
    *reinterpret_cast<narrow_unaligned*>(p) = __builtin_convertvector(x, narrow);
#else
    *p = int(x);
#endif
}

// Both halves of a vector.
struct half_pair {
    half_lanes half[2];
};
MDQR_FN half_pair halves_of(int_lanes x) {
    half_pair r;
    __builtin_memcpy(&r, &x, sizeof r);
    return r;
}
MDQR_FN int_lanes joined(const half_pair& x) {
    int_lanes r;
    __builtin_memcpy(&r, &x, sizeof r);
    return r;
}

MDQR_END

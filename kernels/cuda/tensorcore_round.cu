// The operands of low-precision products. One module a format: -DMDQR_FORMAT=half, bfloat, tf32 or
// split; split is two binary16 numbers, x + y / 2^11.
#include "floats.hpp"

MDQR_BEGIN

inline constexpr int round_threads = 256;

// The nearest number with `Bits` fewer bits, ties to even; infinities and NaN stay.
template <int Bits> MDQR_FN unsigned shorter(float x) {
    const unsigned word = word_of(x), odd = word >> Bits & 1u;
    if ((word & 0x7fffffffu) >= 0x7f800000u)
        return word | ((word & 0x7fffffu) ? 0x400000u : 0u);
    return (word + ((1u << (Bits - 1)) - 1u + odd)) & ~((1u << Bits) - 1u);
}

struct half {
    using stored = unsigned short;
    static constexpr bool has_low = false, is_scaled = true;
    MDQR_FN static stored of(float x) { return to_half(x); }
    MDQR_FN static float rest(float, stored) { return 0.0f; }
};
struct split {
    using stored = unsigned short;
    static constexpr bool has_low = true, is_scaled = true;
    MDQR_FN static stored of(float x) { return to_half(x); }
    MDQR_FN static float rest(float x, stored high) { return 2048.0f * (x - from_half(high)); }
};
struct bfloat {
    using stored = unsigned short;
    static constexpr bool has_low = false, is_scaled = false;
    MDQR_FN static stored of(float x) { return static_cast<stored>(shorter<16>(x) >> 16); }
    MDQR_FN static float rest(float, stored) { return 0.0f; }
};
struct tf32 {
    using stored = float;
    static constexpr bool has_low = false, is_scaled = false;
    MDQR_FN static stored of(float x) { return float_of(shorter<13>(x)); }
    MDQR_FN static float rest(float, stored) { return 0.0f; }
};
using format = MDQR_FORMAT;

struct alignas(16) four_floats {
    float x[4];
};
struct alignas(4 * sizeof(format::stored)) four_stored {
    format::stored x[4];
};

struct round_arguments {
    float_matrix x;
    format::stored* high;
    format::stored* low;
    i64 column; // stride of the columns of high and low
    i64 exponent;
    i64 by_four; // all columns and strides are multiples of four
};

// Formats with the range of float32 are rounded by integers alone: a product would lose subnormal
// numbers where the compiler flushes them.
MDQR_FN float scaled(float x, float factor) { return format::is_scaled ? x * factor : x; }

MDQR_END

// Grid: rows, columns. A thread has one or four rows of every column of its place in the grid.
MDQR_KERNEL(mdqr_tensorcore_round, mdqr::round_arguments, mdqr::round_threads) {
    using namespace mdqr;
    const float factor = float(power_of_two(p.exponent));
    const i64 k = block_x() * round_threads + thread_index();
    for (i64 j = block_y(); j < p.x.columns; j += blocks_y()) {
        if (p.by_four) {
            const i64 i = 4 * k;
            if (i >= p.x.rows)
                return;
            const four_floats x = *reinterpret_cast<const four_floats*>(&p.x.at(i, j));
            four_stored high, low;
            for (int e = 0; e < 4; ++e) {
                high.x[e] = format::of(scaled(x.x[e], factor));
                low.x[e] = format::of(format::rest(scaled(x.x[e], factor), high.x[e]));
            }
            *reinterpret_cast<four_stored*>(p.high + i + j * p.column) = high;
            if constexpr (format::has_low)
                *reinterpret_cast<four_stored*>(p.low + i + j * p.column) = low;
        } else {
            if (k >= p.x.rows)
                return;
            const float x = scaled(p.x.at(k, j), factor);
            const format::stored high = format::of(x);
            p.high[k + j * p.column] = high;
            if constexpr (format::has_low)
                p.low[k + j * p.column] = format::of(format::rest(x, high));
        }
    }
}

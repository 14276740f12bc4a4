// The operands of low-precision products: half, bfloat, tf32, and split, which is two binary16
// numbers, x + y / 2^11.
#pragma once
#include "device/floats.hpp"

MDQR_BEGIN

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

// Formats with the range of float32 are rounded by integers alone: a product would lose subnormal
// numbers where the compiler flushes them.
template <class Format> MDQR_FN float scaled(float x, float factor) {
    return Format::is_scaled ? x * factor : x;
}

// Where a kernel that makes a matrix puts it as operand too; `format` is one of those below.
struct operand_matrix {
    void* high;
    void* low;
    i64 column, exponent, format;
};
enum : i64 { no_format, half_format, split_format, bfloat_format, tf32_format };

// f(half{}) and so on; nothing without a format.
template <class F> MDQR_FN void with_format(i64 format, F&& f) {
    if (format == half_format)
        f(half{});
    else if (format == split_format)
        f(split{});
    else if (format == bfloat_format)
        f(bfloat{});
    else if (format == tf32_format)
        f(tf32{});
}

template <class Format>
MDQR_FN void put_operand(const operand_matrix& y, i64 i, i64 j, float x, float factor) {
    using stored = typename Format::stored;
    const float value = scaled<Format>(x, factor);
    const stored high = Format::of(value);
    static_cast<stored*>(y.high)[i + j * y.column] = high;
    if constexpr (Format::has_low)
        static_cast<stored*>(y.low)[i + j * y.column] = Format::of(Format::rest(value, high));
}

MDQR_END

// float32 matrices, column by column, and powers of two.
#pragma once
#include "device/device.hpp"

MDQR_BEGIN

// Element (i, j) is data[i + j * column].
struct float_matrix {
    float* data;
    i64 column, rows, columns;
    MDQR_FN float& at(i64 i, i64 j) const { return data[i + j * column]; }
    MDQR_FN bool has(i64 i, i64 j) const { return i < rows && j < columns; }
};

MDQR_FN float* shared_floats() { return reinterpret_cast<float*>(shared_memory()); }

MDQR_FN unsigned word_of(float x) {
    union {
        float f;
        unsigned u;
    } both;
    both.f = x;
    return both.u;
}
MDQR_FN float float_of(unsigned x) {
    union {
        float f;
        unsigned u;
    } both;
    both.u = x;
    return both.f;
}

// 2^e for -1074 <= e <= 1023.
MDQR_FN double power_of_two(i64 e) {
    return e < -1022 ? from_bits(i64(1) << (e + 1074)) : from_bits((e + 1023) << 52);
}

// Compiled with -ftz=true: conversions make zeros of subnormal float32 numbers. These do not.
MDQR_FN double widened(unsigned word) {
    if (word & 0x7f800000u)
        return double(float_of(word));
    const double size = one_prod(double(word & 0x7fffffu), power_of_two(-149));
    return word >> 31 ? -size : size;
}
MDQR_FN float narrowed(double x) {
    const double size = from_bits(bits(x) & ~(i64(1) << 63)), unit = power_of_two(-97);
    if (!(size < power_of_two(-126)))
        return float(x);
    // The last bit of numbers from 2^-97 on is 2^-149, as of subnormal float32.
    const unsigned units = unsigned(bits(one_sum(size, unit)) - bits(unit));
    return float_of(units | (bits(x) < 0 ? 1u << 31 : 0u));
}

MDQR_END

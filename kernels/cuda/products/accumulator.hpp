// Exact sums of products by a warp: every lane has a column of 32-bit digits in shared memory, as
// superacc.hpp has them in one thread; sums of integers do not depend on the order.
#pragma once
#include "device/device.hpp"

#include "mdqr/superacc.hpp"
#include "device/views.hpp"

MDQR_BEGIN

// Digit i has weight 2^(32 i - 2176), as in superacc.hpp: products of doubles begin at 2^-2148 and
// end below 2^2048. A product makes 9 deposits, each below 2^32 in a digit: those of a lane stay
// below 2^57.2 between two carries, and those of a warp below 2^62.2.
#ifndef MDQR_PRODUCTS_A_CARRY
#define MDQR_PRODUCTS_A_CARRY (1 << 22)
#endif
inline constexpr int accumulator_digits = 136, accumulator_bias = 2176, warp_lanes = 32;

class accumulator_column {
public:
    MDQR_FN accumulator_column()
        : digit(reinterpret_cast<i64*>(shared_memory()) + thread_index()) {}

    MDQR_FN void clear() const {
        for (int i = 0; i < accumulator_digits; ++i)
            digit[i * warp_lanes] = 0;
    }

    // += x y for finite x, y.
    MDQR_FN void add_product(double x, double y) {
        if (x == 0.0 || y == 0.0)
            return;
        if (++products % MDQR_PRODUCTS_A_CARRY == 0)
            carry();
        const bool negative = (bits(x) < 0) != (bits(y) < 0);
        const int e = exponent_of(x) + exponent_of(y);
        const u64 a = mantissa(x), b = mantissa(y);
        const u64 a0 = a & mask, a1 = a >> 32, b0 = b & mask, b1 = b >> 32;
        deposit(a0 * b0, e, negative);
        deposit(a0 * b1 + a1 * b0, e + 32, negative);
        deposit(a1 * b1, e + 64, negative);
    }

    // The digits of all lanes summed into those of lane 0, by all lanes.
    MDQR_FN void gather() const {
        sync_warp();
        for (int i = thread_index(); i < accumulator_digits; i += warp_lanes) {
            i64* row = digit - thread_index() + i * warp_lanes;
            i64 sum = 0;
            for (int l = 0; l < warp_lanes; ++l)
                sum += row[l];
            row[0] = sum;
        }
        sync_warp();
    }

    // acc += sign * the digits of this lane.
    MDQR_FN void add_to(superacc& acc, i64 sign) const {
        for (int i = 0; i < accumulator_digits; ++i)
            if (digit[i * warp_lanes] != 0)
                acc.add_scaled(sign * digit[i * warp_lanes], 32 * i - accumulator_bias);
    }

private:
    static constexpr u64 mask = 0xffffffffULL;
    static constexpr i64 radix = i64(1) << 32;
    i64* digit;
    unsigned products = 0;

    // The sum as it is, every digit between -2^32 and 2^32: the sign goes along, so that nothing
    // is borrowed from digits above the sum.
    MDQR_FN void carry() const {
        i64 over = 0;
        for (int i = 0; i < accumulator_digits; ++i) {
            const i64 all = digit[i * warp_lanes] + over;
            over = all / radix;
            digit[i * warp_lanes] = all - over * radix;
        }
    }

    MDQR_FN static int exponent_of(double x) {
        const int field = int((bits(x) >> 52) & 0x7ff);
        return field != 0 ? field - 1075 : -1074;
    }
    MDQR_FN static u64 mantissa(double x) {
        const u64 fraction = u64(bits(x)) & 0xfffffffffffffULL;
        return ((bits(x) >> 52) & 0x7ff) != 0 ? fraction | 0x10000000000000ULL : fraction;
    }
    MDQR_FN void deposit(u64 magnitude, int e, bool negative) const {
        const int position = e + accumulator_bias, i = position >> 5, shift = position & 31;
        const u64 a = (magnitude & mask) << shift, b = (magnitude >> 32) << shift;
        const i64 sign = negative ? -1 : 0;
        i64* to = digit + i * warp_lanes;
        to[0] += (i64(a & mask) ^ sign) - sign;
        to[warp_lanes] += (i64((a >> 32) + (b & mask)) ^ sign) - sign;
        to[2 * warp_lanes] += (i64(b >> 32) ^ sign) - sign;
    }
};

MDQR_END

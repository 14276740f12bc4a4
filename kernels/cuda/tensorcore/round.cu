// Rounding to the operands of low-precision products. One module a format: -DMDQR_FORMAT=half,
// bfloat, tf32 or split.
#include "tensorcore/formats.hpp"

MDQR_BEGIN

inline constexpr int round_threads = 256;

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
                high.x[e] = format::of(scaled<format>(x.x[e], factor));
                low.x[e] = format::of(format::rest(scaled<format>(x.x[e], factor), high.x[e]));
            }
            *reinterpret_cast<four_stored*>(p.high + i + j * p.column) = high;
            if constexpr (format::has_low)
                *reinterpret_cast<four_stored*>(p.low + i + j * p.column) = low;
        } else {
            if (k >= p.x.rows)
                return;
            const float x = scaled<format>(p.x.at(k, j), factor);
            const format::stored high = format::of(x);
            p.high[k + j * p.column] = high;
            if constexpr (format::has_low)
                p.low[k + j * p.column] = format::of(format::rest(x, high));
        }
    }
}

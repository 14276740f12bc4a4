// A matrix of float32 or float64 as float32, column by column, each column times a power of two
// that makes its norm at most 1.
#include "device/floats.hpp"

MDQR_BEGIN

// Largest absolute values as bits of doubles, which order as integers; NaN is above infinity.
struct input_matrix {
    const void* data;
    i64 rows, columns, row_stride, column_stride, is_double;
    MDQR_FN double at(i64 i, i64 j) const {
        const i64 k = i * row_stride + j * column_stride;
        return is_double ? static_cast<const double*>(data)[k]
                         : widened(static_cast<const unsigned*>(data)[k]);
    }
};
inline constexpr int scale_threads = 256, scale_warps = scale_threads / 32, tile = 32;
inline constexpr i64 infinity_bits = i64(0x7ff) << 52;

struct maxima_arguments {
    input_matrix x;
    i64* maxima;
    i64 rows_a_block;
};
struct load_arguments {
    input_matrix x;
    const i64* maxima;
    i64* exponents;
    i64* status; // nonzero: something is not finite
    float_matrix out;
    i64 rows_a_block, headroom, scaled;
};

struct squares_arguments {
    float_matrix x;
    double* sums;
};

MDQR_FN i64 size_bits(double x) { return bits(x) & ~(i64(1) << 63); }
MDQR_FN i64 larger(i64 a, i64 b) { return a > b ? a : b; }
MDQR_FN i64 smaller(i64 a, i64 b) { return a < b ? a : b; }

// 2^exponent is above the maximum of the column; headroom makes it above the norm.
MDQR_FN i64 column_exponent(const load_arguments& p, i64 column) {
    const i64 most = p.maxima[column];
    if (!p.scaled || most == 0 || most >= infinity_bits)
        return 0;
    return larger(most >> 52, 1) - 1022 + p.headroom;
}

// Lanes read along the axis whose elements lie next to each other.
MDQR_FN void maxima_of_rows(const maxima_arguments& p, i64 first, i64 last, i64 column) {
    const int lane = thread_index() % 32, warp = thread_index() / 32;
    for (int c = warp; c < tile && column + c < p.x.columns; c += scale_warps) {
        i64 most = 0;
        for (i64 i = first + lane; i < last; i += 32)
            most = larger(most, size_bits(p.x.at(i, column + c)));
        for (int mask = 16; mask > 0; mask /= 2)
            most = larger(most, bits(shuffle_xor(from_bits(most), mask)));
        if (lane == 0)
            atomic_max(p.maxima + column + c, most);
    }
}
MDQR_FN void maxima_of_columns(const maxima_arguments& p, i64 first, i64 last, i64 column) {
    const int lane = thread_index() % 32, warp = thread_index() / 32;
    i64 most = 0;
    if (column + lane < p.x.columns)
        for (i64 i = first + warp; i < last; i += scale_warps)
            most = larger(most, size_bits(p.x.at(i, column + lane)));
    double* shared = shared_memory();
    shared[thread_index()] = from_bits(most);
    sync_threads();
    for (int w = 1; w < scale_warps && warp == 0; ++w)
        most = larger(most, bits(shared[32 * w + lane]));
    if (warp == 0 && column + lane < p.x.columns)
        atomic_max(p.maxima + column + lane, most);
}

MDQR_END

// Grid: groups of rows, groups of 32 columns.
MDQR_KERNEL(mdqr_tensorcore_maxima, mdqr::maxima_arguments, mdqr::scale_threads) {
    using namespace mdqr;
    const i64 first = block_x() * p.rows_a_block, column = block_y() * tile;
    const i64 last = smaller(first + p.rows_a_block, p.x.rows);
    if (p.x.row_stride == 1)
        maxima_of_rows(p, first, last, column);
    else
        maxima_of_columns(p, first, last, column);
}

MDQR_KERNEL(mdqr_tensorcore_load, mdqr::load_arguments, mdqr::scale_threads) {
    using namespace mdqr;
    const int lane = thread_index() % 32, warp = thread_index() / 32;
    const i64 first = block_x() * p.rows_a_block, column = block_y() * tile;
    const i64 last = smaller(first + p.rows_a_block, p.x.rows);
    float* shared = shared_floats();
    if (block_x() == 0 && warp == 0 && column + lane < p.x.columns) {
        p.exponents[column + lane] = column_exponent(p, column + lane);
        if (p.maxima[column + lane] >= infinity_bits)
            atomic_max(p.status, 1);
    }
    const bool across = p.x.row_stride != 1;
    for (i64 top = first; top < last; top += tile) {
        for (int k = warp; k < tile; k += scale_warps) {
            const int i = across ? k : lane, j = across ? lane : k;
            if (top + i < last && column + j < p.x.columns) {
                const double factor = power_of_two(-column_exponent(p, column + j));
                shared[j * (tile + 1) + i] =
                    narrowed(one_prod(p.x.at(top + i, column + j), factor));
            }
        }
        sync_threads();
        for (int j = warp; j < tile; j += scale_warps)
            if (top + lane < last && column + j < p.x.columns)
                p.out.at(top + lane, column + j) = shared[j * (tile + 1) + lane];
        sync_threads();
    }
}

// Grid: columns. The squares of their lengths, in float64.
MDQR_KERNEL(mdqr_tensorcore_squares, mdqr::squares_arguments, mdqr::scale_threads) {
    using namespace mdqr;
    const int t = thread_index();
    double* const shared = shared_memory();
    for (i64 j = block_x(); j < p.x.columns; j += blocks_x()) {
        double sum = 0.0;
        for (i64 i = t; i < p.x.rows; i += scale_threads) {
            const double x = double(p.x.at(i, j));
            sum = mdqr::fma(x, x, sum);
        }
        shared[t] = sum;
        sync_threads();
        for (int half = scale_threads / 2; half > 0; half /= 2) {
            if (t < half)
                shared[t] += shared[t + half];
            sync_threads();
        }
        if (t == 0)
            p.sums[j] = shared[0];
        sync_threads();
    }
}

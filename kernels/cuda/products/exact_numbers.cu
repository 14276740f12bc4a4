// From sums of products of bytes to residues, and from these to numbers. -DMDQR_PIECES is the
// number of digits of an integer; see mdqr/residues.hpp.
#include "products/exact.hpp"
#include "products/matmul_range.hpp"

MDQR_BEGIN

inline constexpr int number_threads = 128, pieces = MDQR_PIECES;

struct reduce_arguments {
    const int* sums; // (planes, size): three planes of digits a channel if `is_wide`
    i64 size, is_wide;
    const int* modulus; // of the channels, one a row of blocks
    short* out;         // (channels, size)
};

struct number_arguments {
    const short* residue; // (channels, rows, columns), padded
    i64 size, across;     // of a channel, and of its rows
    i64 rows, columns;
    const i64 *row_exponent, *column_exponent;
    i64 moduli, width, unit, scale;
    const double* table; // weight (parts, moduli, pieces), fraction (parts, moduli), product
    matrix_view c, out;
    i64 subtract;
};

// Of a real number, or the sum and the difference of those of x + i y and x - i y.
MDQR_FN double residue_of(const short* at, i64 size, int modulus, int part) {
#if MDQR_COMPLEX
    const double u = at[2 * modulus * size], v = at[(2 * modulus + 1) * size];
    return part == 0 ? one_sum(u, v) : one_sum(u, -v);
#else
    return part == 0 ? double(at[modulus * size]) : 0.0;
#endif
}

// One part of the number at `at`, in units of its line and column.
MDQR_CALL md<double, limbs> number_of(const number_arguments& p, const short* at, int part) {
    const double* weight = p.table + part * p.moduli * pieces;
    const double* fraction = p.table + parts * p.moduli * pieces + part * p.moduli;
    const double* product = p.table + parts * p.moduli * (pieces + 1);
    double sum[pieces], quotient = 0.0;
    static_for<0, pieces>([&](auto l) MDQR_LAMBDA { sum[l] = 0.0; });
    for (int i = 0; i < p.moduli; ++i, weight += pieces) {
        const double r = residue_of(at, p.size, i, part);
        quotient = fma(r, fraction[i], quotient);
        static_for<0, pieces>([&](auto l) MDQR_LAMBDA { sum[l] = fma(r, weight[l], sum[l]); });
    }
    const double turns = one_sum(one_sum(quotient, digit_rest), -digit_rest);
    static_for<0, pieces>([&](auto l) MDQR_LAMBDA { sum[l] = fma(-turns, product[l], sum[l]); });
    carry_pieces(sum, pieces, int(p.width));
    return from_pieces<limbs>(sum, int(p.width), int(p.unit));
}

MDQR_END

MDQR_KERNEL(mdqr_exact_reduce, mdqr::reduce_arguments, mdqr::number_threads) {
    using namespace mdqr;
    const i64 e = block_x() * number_threads + thread_index(), c = block_y();
    if (e >= p.size)
        return;
    const int* sum = p.sums + (p.is_wide ? 3 : 1) * c * p.size + e;
    double x = sum[0];
    if (p.is_wide) {
        const double low = sum[p.size], middle = double(sum[2 * p.size]) - x - low;
        x = x * 16384.0 + middle * 128.0 + low;
    }
    const double m = p.modulus[c];
    p.out[c * p.size + e] = short(nearest_residue(x, m, 1.0 / m));
}

MDQR_KERNEL(mdqr_exact_numbers, mdqr::number_arguments, mdqr::number_threads) {
    using namespace mdqr;
    const i64 flat = block_x() * number_threads + thread_index();
    const i64 i = flat / p.columns, j = flat % p.columns;
    if (i >= p.rows)
        return;
    const i64 e = p.row_exponent[i] + p.column_exponent[j] + p.scale;
    number r;
    for_parts(r, [&](md<double, limbs>& part, int which) MDQR_LAMBDA {
        part = times_power(number_of(p, p.residue + i * p.across + j, which), e);
    });
    put_result(p.c, p.out, 0, i, j, p.subtract != 0, r);
}

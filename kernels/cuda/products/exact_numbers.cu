// From sums of products of bytes to residues, and from these to numbers. -DMDQR_PIECES is the
// number of digits of an integer; see mdqr/residues.hpp.
#include "products/exact.hpp"
#include "products/matmul_range.hpp"

MDQR_BEGIN

// Digits are even in number. A thread has two entries where their digits and limbs leave registers
// for warps enough to hide what rounding waits for.
inline constexpr int number_threads = 128, pieces = MDQR_PIECES;
inline constexpr int entries = pieces > 8 || limbs > 4 ? 1 : 2;
inline constexpr int ahead = 8; // moduli

struct reduce_arguments {
    const int* sums; // (planes, size): three planes of digits a channel if `is_wide`
    i64 size, is_wide;
    const double* modulus; // of the channels, one a row of blocks, and its inverse
    short* out;            // (channels, size)
};

struct alignas(16) four_sums {
    int at[4];
};

struct alignas(8) four_residues {
    short at[4];
};

struct number_arguments {
    const short* residue; // (channels, rows, columns), padded
    i64 size, across;     // of a channel, and of its rows
    i64 rows, columns;
    const i64 *row_exponent, *column_exponent;
    i64 moduli, known, width, unit, scale; // moduli with padding, and without
    const double* table; // weight (parts, moduli, pieces), fraction (parts, moduli), product
    matrix_view c, out;
    i64 subtract;
};

// Of a real number, or the sum and the difference of those of x + i y and x - i y.
MDQR_FN double residue_of(const short* at, i64 size, i64 modulus, int part) {
#if MDQR_COMPLEX
    const double u = at[2 * modulus * size], v = at[(2 * modulus + 1) * size];
    return part == 0 ? one_sum(u, v) : one_sum(u, -v);
#else
    return part == 0 ? double(at[modulus * size]) : 0.0;
#endif
}

struct alignas(16) two_doubles {
    double at[2];
};

// Digits += those of one modulus.
MDQR_FN void add_pieces_of(const double (&r)[entries], const double* weight, double fraction,
                           double (&sum)[entries][pieces], double (&quotient)[entries]) {
    static_for<0, entries>([&](auto e)
                               MDQR_LAMBDA { quotient[e] = fma(r[e], fraction, quotient[e]); });
    static_for<0, pieces / 2>([&](auto pair) MDQR_LAMBDA {
        const two_doubles w = reinterpret_cast<const two_doubles*>(weight)[pair];
        static_for<0, 2>([&](auto k) MDQR_LAMBDA {
            constexpr int l = 2 * decltype(pair)::value + k.value;
            static_for<0, entries>([&](auto e)
                                       MDQR_LAMBDA { sum[e][l] = fma(r[e], w.at[k], sum[e][l]); });
        });
    });
}

// Digits of one part of the numbers at `at`. A thread has some, so that a weight serves all.
MDQR_FN void add_pieces(const number_arguments& p, const double* table, const short* const* at,
                        int part, double (&sum)[entries][pieces]) {
    const double* weight = table + part * p.moduli * pieces;
    const double* fraction = table + parts * p.moduli * pieces + part * p.moduli;
    const double* product = table + parts * p.moduli * (pieces + 1);
    double quotient[entries];
    static_for<0, entries>([&](auto e) MDQR_LAMBDA {
        quotient[e] = 0.0;
        static_for<0, pieces>([&](auto l) MDQR_LAMBDA { sum[e][l] = 0.0; });
    });
    // Residues of some moduli are asked for before the first is used.
    for (int i = 0; i < p.moduli; i += ahead) {
        double r[ahead][entries];
        static_for<0, ahead>([&](auto k) MDQR_LAMBDA {
            // Weights beyond the moduli are 0.
            const i64 modulus = i + k.value < p.known ? i + k.value : p.known - 1;
            static_for<0, entries>([&](auto e) MDQR_LAMBDA {
                r[decltype(k)::value][e] = residue_of(at[e], p.size, modulus, part);
            });
        });
        static_for<0, ahead>([&](auto k) MDQR_LAMBDA {
            add_pieces_of(r[k], weight + k.value * pieces, fraction[i + k.value], sum, quotient);
        });
        weight += ahead * pieces;
    }
    static_for<0, entries>([&](auto e) MDQR_LAMBDA {
        const double turns = one_sum(one_sum(quotient[e], digit_rest), -digit_rest);
        static_for<0, pieces>([&](auto l)
                                  MDQR_LAMBDA { sum[e][l] = fma(-turns, product[l], sum[e][l]); });
    });
}

// The number of its digits, in units of its line and column.
MDQR_FN md<double, limbs> number_of(double (&sum)[pieces], int width, int unit) {
    carry_pieces(sum, pieces, width);
    return from_pieces<limbs>(sum, width, unit);
}

MDQR_END

MDQR_KERNEL(mdqr_exact_reduce, mdqr::reduce_arguments, mdqr::number_threads) {
    using namespace mdqr;
    const i64 e = 4 * (block_x() * number_threads + thread_index()), c = block_y();
    if (e >= p.size)
        return;
    const int* sum = p.sums + (p.is_wide ? 3 : 1) * c * p.size + e;
    const double m = p.modulus[2 * c], inverse = p.modulus[2 * c + 1];
    const auto four = [&](i64 plane)
                          MDQR_LAMBDA { return *reinterpret_cast<const four_sums*>(sum + plane); };
    const four_sums first = four(0);
    four_residues r;
    if (p.is_wide) {
        const four_sums low = four(p.size), all = four(2 * p.size);
        static_for<0, 4>([&](auto s) MDQR_LAMBDA {
            const double x = first.at[s], y = low.at[s], middle = double(all.at[s]) - x - y;
            r.at[s] = short(nearest_residue(x * 16384.0 + middle * 128.0 + y, m, inverse));
        });
    } else {
        static_for<0, 4>([&](auto s) MDQR_LAMBDA {
            r.at[s] = short(nearest_residue(double(first.at[s]), m, inverse));
        });
    }
    *reinterpret_cast<four_residues*>(p.out + c * p.size + e) = r;
}

MDQR_KERNEL(mdqr_exact_numbers, mdqr::number_arguments, mdqr::number_threads) {
    using namespace mdqr;
    double* table = reinterpret_cast<double*>(shared_memory());
    const int count = int(parts * p.moduli * (pieces + 1) + pieces);
    for (int l = thread_index(); l < count; l += number_threads)
        table[l] = p.table[l];
    sync_threads();
    const i64 flat = block_x() * number_threads * entries + thread_index();
    const short* at[entries];
    static_for<0, entries>([&](auto e) MDQR_LAMBDA {
        const i64 place = flat + e.value * number_threads, i = place / p.columns;
        at[e] = p.residue + (i < p.rows ? i * p.across + place % p.columns : 0);
    });
    md<double, limbs> found[parts][entries];
    static_for<0, parts>([&](auto part) MDQR_LAMBDA {
        double sum[entries][pieces];
        add_pieces(p, table, at, part, sum);
        static_for<0, entries>([&](auto e) MDQR_LAMBDA {
            found[part][e] = number_of(sum[e], int(p.width), int(p.unit));
        });
    });
    static_for<0, entries>([&](auto e) MDQR_LAMBDA {
        const i64 place = flat + e.value * number_threads;
        const i64 i = place / p.columns, j = place % p.columns;
        if (i < p.rows) {
            const i64 power = p.row_exponent[i] + p.column_exponent[j] + p.scale;
            number r;
            for_parts(r, [&](md<double, limbs>& part, int which) MDQR_LAMBDA {
                part = times_power(found[which == 0 ? 0 : parts - 1][e], power);
            });
            put_result(p.c, p.out, 0, i, j, p.subtract != 0, r);
        }
    });
}

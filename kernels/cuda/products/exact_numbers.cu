// From sums of products of bytes to numbers. -DMDQR_PIECES is the number of digits of an integer;
// see mdqr/residues.hpp. With -DMDQR_TABLE_IN_MEMORY a device has too little shared memory for the
// table, which threads read where it is.
#include "products/exact.hpp"
#include "products/matmul_range.hpp"

MDQR_BEGIN

// Digits are even in number. A thread has two entries where their parts, digits and limbs leave
// registers for warps enough to hide what rounding waits for.
inline constexpr int number_threads = 128, pieces = MDQR_PIECES;
inline constexpr int entries = parts > 1 || pieces > 8 || limbs > 4 ? 1 : 2;

// Of a modulus: itself, its inverse, a multiple of it near 2^52 + 2^31, the fractions of the parts,
// padding if there are two, and their weights.
inline constexpr int fraction = 3, header = 2 + 2 * parts, row_size = header + parts * pieces;
// Sums of so many moduli are asked for before the first is used: of those whose residues are one
// digit, and of those that have two.
inline constexpr int ahead = 8, wide_ahead = 4;

struct number_arguments {
    const int* sums;  // (planes, rows, columns), padded: three planes a residue of two digits
    i64 size, across; // of a plane, and of its rows
    i64 rows, columns;
    const i64 *row_exponent, *column_exponent;
    i64 narrow, wide; // moduli
    i64 width, unit, scale;
    const double* table; // rows of the moduli, each kind with padding, and the digits of all
    matrix_view c, out;
    i64 subtract;
};

MDQR_FN i64 padded(i64 count, i64 to) { return (count + to - 1) / to * to; }

struct alignas(16) two_doubles {
    double at[2];
};

// Digits and quotients of the parts of some numbers.
struct digit_sums {
    double digit[parts][entries][pieces], quotient[parts][entries];
};

// What `to`, 2^52 and less than 2^32, and an integer are together, which is no more either.
MDQR_FN double plus_integer(double to, int x) {
    return from_bits((bits(to) & ~i64(0xffffffff)) | i64(unsigned(bits(to)) + unsigned(x)));
}
MDQR_FN double widened(int x) {
    return one_sum(plus_integer(0x1p52 + 0x1p31, x), -(0x1p52 + 0x1p31));
}

// A sum modulo m, (m + 1) / 2 at most: behind a multiple of m near 2^52 its quotient errs by little
// more than 1 / (2 m).
MDQR_FN double residue_of(const int (&sum)[1], const double* row) {
    const double x = plus_integer(row[2], sum[0]);
    const double turns = one_sum(fma(x, row[1], 0x1p52), -0x1p52);
    return fma(-turns, row[0], x);
}
// From the sums of two digits: those of the first and of the second, and of both.
MDQR_FN double residue_of(const int (&sum)[3], const double* row) {
    // Karatsuba: first 128^2 + (both - first - second) 128 + second.
    const double first = widened(sum[0]), second = widened(sum[1]), both = widened(sum[2]);
    const double x = fma(first, 16256.0, fma(both, 128.0, one_prod(second, -127.0)));
    const double turns = one_sum(fma(x, row[1], digit_rest), -digit_rest);
    return fma(-turns, row[0], x);
}

// Digits += those of one modulus. Residues of complex numbers x + i y are those of x + j y and of
// x - j y.
template <int Planes>
MDQR_FN void add_digits_of(const int (&sum)[entries][parts][Planes], const double* row,
                           digit_sums& to) {
    double r[parts][entries];
    static_for<0, entries>([&](auto e) MDQR_LAMBDA {
        const double u = residue_of(sum[e][0], row), v = residue_of(sum[e][parts - 1], row);
        r[0][e] = parts == 1 ? u : one_sum(u, v);
        r[parts - 1][e] = parts == 1 ? u : one_sum(u, -v);
    });
    static_for<0, parts>([&](auto part) MDQR_LAMBDA {
        static_for<0, entries>([&](auto e) MDQR_LAMBDA {
            to.quotient[part][e] =
                fma(r[part][e], row[fraction + part.value], to.quotient[part][e]);
        });
        const two_doubles* weight =
            reinterpret_cast<const two_doubles*>(row + header + part.value * pieces);
        static_for<0, pieces / 2>([&](auto pair) MDQR_LAMBDA {
            const two_doubles w = weight[pair];
            static_for<0, 2>([&](auto k) MDQR_LAMBDA {
                constexpr int l = 2 * decltype(pair)::value + k.value;
                static_for<0, entries>([&](auto e) MDQR_LAMBDA {
                    to.digit[part][e][l] = fma(r[part][e], w.at[k], to.digit[part][e][l]);
                });
            });
        });
    });
}

// Digits += those of `count` moduli, whose sums begin at `from`.
template <int Planes, int Ahead>
MDQR_FN void add_digits(const int* const* from, i64 size, int count, const double* row,
                        digit_sums& to) {
    const int* at[entries];
    static_for<0, entries>([&](auto e) MDQR_LAMBDA { at[e] = from[e]; });
    for (int i = 0; i < count; i += Ahead, row += Ahead * row_size) {
        int sum[Ahead][entries][parts][Planes];
        static_for<0, Ahead>([&](auto k) MDQR_LAMBDA {
            static_for<0, parts * Planes>([&](auto plane) MDQR_LAMBDA {
                static_for<0, entries>([&](auto e) MDQR_LAMBDA {
                    sum[k][e][plane.value / Planes][plane.value % Planes] =
                        at[e][plane.value * size];
                });
            });
            // Behind the last one itself again: weights beyond the moduli are 0.
            const i64 next = i + k.value + 1 < count ? parts * Planes * size : 0;
            static_for<0, entries>([&](auto e) MDQR_LAMBDA { at[e] += next; });
        });
        // Otherwise the compiler moves loads to where they are used, and few are under way.
        sync_warp();
        static_for<0, Ahead>([&](auto k) MDQR_LAMBDA {
            add_digits_of<Planes>(sum[k], row + k.value * row_size, to);
        });
    }
}

// The number of its digits without the multiples of the product, in units of its line and column.
MDQR_FN md<double, limbs> number_of(double (&digit)[pieces], double quotient, const double* product,
                                    int width, int unit) {
    const double turns = one_sum(one_sum(quotient, digit_rest), -digit_rest);
    static_for<0, pieces>([&](auto l)
                              MDQR_LAMBDA { digit[l] = fma(-turns, product[l], digit[l]); });
    carry_pieces(digit, pieces, width);
    return from_pieces<limbs>(digit, width, unit);
}

MDQR_END

MDQR_KERNEL(mdqr_exact_numbers, mdqr::number_arguments, mdqr::number_threads) {
    using namespace mdqr;
    const i64 narrow_rows = padded(p.narrow, ahead);
    const i64 rows = narrow_rows + padded(p.wide, wide_ahead);
#if defined(MDQR_TABLE_IN_MEMORY)
    const double* table = p.table;
#else
    double* table = reinterpret_cast<double*>(shared_memory());
    for (int l = thread_index(); l < int(rows * row_size + pieces); l += number_threads)
        table[l] = p.table[l];
    sync_threads();
#endif
    const double* product = table + rows * row_size;
    const i64 flat = block_x() * number_threads * entries + thread_index();
    const int *at[entries], *wide_at[entries];
    static_for<0, entries>([&](auto e) MDQR_LAMBDA {
        const i64 place = flat + e.value * number_threads, i = place / p.columns;
        at[e] = p.sums + (i < p.rows ? i * p.across + place % p.columns : 0);
        wide_at[e] = at[e] + p.narrow * parts * p.size;
    });
    digit_sums sum = {};
    add_digits<1, ahead>(at, p.size, int(p.narrow), table, sum);
    add_digits<3, wide_ahead>(wide_at, p.size, int(p.wide), table + narrow_rows * row_size, sum);
    md<double, limbs> found[parts][entries];
    static_for<0, parts>([&](auto part) MDQR_LAMBDA {
        static_for<0, entries>([&](auto e) MDQR_LAMBDA {
            found[part][e] = number_of(sum.digit[part][e], sum.quotient[part][e], product,
                                       int(p.width), int(p.unit));
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

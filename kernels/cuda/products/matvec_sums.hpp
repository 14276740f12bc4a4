// Sums of products along rows, one thread a part of a row: exact sums of 51-bit digits
// (digits.hpp).
//
// A column of B is divided by 2^(f+1), f the exponent of its maximum in a split. The values of a
// row are divided by 2^(e+1) where e grows as the thread comes to larger ones: its sums are then
// shifted to the right. Most values are cut into digits in a shorter way: limb l of a value that is
// not much below the largest reaches the digits l and l + 1 only, which are left without carries:
// |d_i| <= 1.25 2^50 + 1. A term then adds less than 1.7 D 2^50 to a word, and chunk_limit<D> terms
// less than 2^61.8.
//
// Error, in units of 2^(-51D) alpha beta for each term: pairs left out 1.25 (D - 1), l left out 2
// D, cutting 1.5 (B) and 1.5 (A, where the longer way is taken). A shift loses at most 3/4 of the
// last word, 3 units, which the next shift halves: 6 for the shifts of a thread, and 3 for each of
// those that bring the sums of lanes, of warps and of splits to one exponent: 3.25 D + 17 together.
// K terms err by at most K eps sum|a||b| if sum|a||b| >= 2^-L 2^(e+f+2), L = 51 D - log2(1/eps) -
// log2(3.25 D + 17), two bits less for complex sums (products/slices.hpp). Residuals: the same with
// 1/eps^2.
#pragma once
#include "mdqr/digits.hpp"

#include "products/matmul_range.hpp"

MDQR_BEGIN

inline constexpr bool is_residual = MDQR_RESIDUAL;
inline constexpr int D = is_residual ? residual_digits<limbs> : result_digits<limbs>;
static_assert(D <= digits_in_range, "mdqr: digits of so many limbs leave the range of doubles");
// Digits of a value of A that is cut in the short way.
inline constexpr int short_digits = limbs + 1;
static_assert(short_digits <= D);

// The largest L in use; above 40 bits the exact accumulator is asked in any case, but for
// residuals.
inline constexpr int digit_span =
    51 * D - (is_residual ? 2 : 1) * eps_bits<limbs> - ceil_log2((13 * D + 68) / 4);
inline constexpr int used_span =
    (digit_span < 40 || is_residual ? digit_span : 40) - (MDQR_COMPLEX ? 2 : 0);

// Digits are kept with their weights: digit i is a multiple of digit_weight(i).
MDQR_FN constexpr double digit_weight(int i) { return two_to(-50 - 51 * i); }
// What splits a product of digits i + j = k, and what its rest is read from.
MDQR_FN constexpr double split_of(int k) { return digit_split * two_to(-100 - 51 * k); }
MDQR_FN constexpr double rest_of(int k) { return digit_rest * two_to(-100 - 51 * k); }

MDQR_FN void weigh_digits(double* digit) {
    static_for<0, D>([&](auto i) MDQR_LAMBDA {
        constexpr double weight = digit_weight(i.value);
        digit[i] = one_prod(digit[i], weight);
    });
}

// A bound of a scaled magnitude, which may have underflowed, that is 0 for zeros alone.
MDQR_FN double raised(double value, double scaled) {
    return value == 0.0 ? 0.0 : scaled < 0x1p-500 ? 0x1p-500 : scaled;
}
MDQR_FN unsigned upper(double x) { return unsigned(u64(bits(x)) >> 32) & 0x7fffffffu; }

// Carried words divided by 2^by, rounded to the last word.
MDQR_FN void shift_words(i64* word, i64 by) {
    for (; by >= 51; by = by > 51 * (D + 1) ? 51 * (D + 1) : by - 51) {
        static_for_down<D, 1>([&](auto k) MDQR_LAMBDA { word[k] = word[k - 1]; });
        word[0] = 0;
    }
    if (by == 0)
        return;
    word[D] += i64(1) << (by - 1);
    static_for_down<D, 1>([&](auto k) MDQR_LAMBDA {
        const i64 rest = word[k - 1] & ((i64(1) << by) - 1);
        word[k] = (word[k] >> by) + (rest << (51 - by));
    });
    word[0] >>= by;
}

class digit_sums {
public:
    // A prepared part of a value of B: its digits, and the size of the leading limb.
    static constexpr int words = parts * (D + 2), vector_words = D + 1;
    // Values that a thread loads before it uses the first.
    static constexpr int ahead = parts * (D + limbs) < 12 ? 2 : 1;

    MDQR_FN digit_sums() {
        static_for<0, parts>([&](auto part) MDQR_LAMBDA {
            static_for<0, D + 1>([&](auto i) MDQR_LAMBDA { word[part][i] = 0; });
            size[part] = 0.0;
        });
        set_exponent(-1023);
    }

    // += the values x, of one row and with `held` limbs, times those of the vector from y on,
    // `step` apart; word w of part P lies at y[((D + 1) P + w) * Plane].
    template <int Plane>
    MDQR_FN void add(const double (&x)[ahead][parts][limbs], int held, bool conjugate,
                     const double* y, int step) {
        unsigned peak = 0;
        static_for<0, ahead>([&](auto u) MDQR_LAMBDA {
            static_for<0, parts>([&](auto part) MDQR_LAMBDA {
                const unsigned size = upper(x[u][part][0]);
                peak = size > peak ? size : peak;
            });
        });
        if (peak >= limit)
            grow(int(peak >> 20));
        static_for<0, ahead>([&](auto u) MDQR_LAMBDA {
            static_for<0, parts>([&](auto part) MDQR_LAMBDA {
                add_part<part.value, Plane>(x[u][part], held, conjugate, y + u * step);
            });
        });
        if (terms[0] + terms[1] + terms[2] > chunk_limit<D> - parts * ahead)
            carry();
    }

    // Leaves |word| <= 2^50 but for the first.
    MDQR_FN void carry() {
        static_for<0, parts>([&](auto part) MDQR_LAMBDA {
            static_for<0, D>([&](auto i) MDQR_LAMBDA {
                const i64 h = bits(split_of(i)), l = bits(rest_of(i > 0 ? i - 1 : 0));
                const u64 bias = u64(digit_bias<short_digits, D>(i, h, l)) * u64(terms[0]) +
                                 u64(digit_bias<D, D>(i, h, l)) * u64(terms[1]) +
                                 u64(digit_bias<2, D>(i, h, l)) * u64(terms[2]);
                word[part][i + 1] = wrapping_add(word[part][i + 1], i64(u64(0) - bias));
            });
            carry_words<D>(word[part]);
        });
        terms[0] = terms[1] = terms[2] = 0;
        is_zero = false;
    }

    // Bring the sums to an exponent that is at least as large.
    MDQR_FN void raise_to(int to) {
        if (e != not_finite && to != not_finite && to > e) {
            if (!is_zero || terms[0] + terms[1] + terms[2] != 0)
                shift(to - e);
        }
        set_exponent(to);
    }
    MDQR_FN void shift(int by) {
        carry();
        static_for<0, parts>([&](auto part) MDQR_LAMBDA {
            shift_words(word[part], by);
            const double before = size[part];
            size[part] = scale(before, -by);
            // A zero by underflow is none.
            size[part] = size[part] == 0.0 && before != 0.0 ? 0x1p-1074 : size[part];
        });
    }

    MDQR_FN int exponent() const { return e; }
    MDQR_FN void get(double* to) const {
        static_for<0, parts>([&](auto part) MDQR_LAMBDA {
            static_for<0, D + 1>(
                [&](auto i) MDQR_LAMBDA { to[part * (D + 2) + i] = from_bits(word[part][i]); });
            to[part * (D + 2) + D + 1] = size[part];
        });
    }
    // Word w of two sums together.
    MDQR_FN static double joined(int w, double x, double y) {
        return w % (D + 2) == D + 1 ? one_sum(x, y) : from_bits(bits(x) + bits(y));
    }

private:
    // Doubles are cut in a way of their own, unless that takes registers which sums need.
    static constexpr bool cuts_doubles = words < 40;

    i64 word[parts][D + 1];
    double size[parts], factor;
    int e, terms[3] = {}; // terms: with short_digits, D and two digits
    unsigned limit;       // upper half of 2^(e+1)
    bool is_zero = true;

    MDQR_FN void set_exponent(int to) {
        e = to;
        if (to == not_finite) {
            limit = 0xffffffffu;
            factor = 0.0;
            return;
        }
        limit = unsigned(e + 1024) << 20;
        const int t = -(e + 1);
        factor = t < -1022 ? from_bits((i64(1) << 52) >> (-1022 - t)) : power_of_two(t);
    }

    // One bit more than needed: values of about one size seldom grow by more.
    MDQR_FN void grow(int field) {
        raise_to(field == 2047 ? int(not_finite) : field - 1022 > 1023 ? 1023 : field - 1022);
    }

    // += part P of the value x times the prepared value at y.
    template <int P, int Plane>
    MDQR_FN void add_part(const double* x, int held, bool conjugate, const double* y) {
        double digit[D];
        const double by = P == 1 && conjugate ? -factor : factor, leading = one_prod(x[0], by);
        double magnitude = abs(leading);
        int kind = 2;
        if (cuts_doubles && held == 1 && double_to_digits(leading, digit))
            magnitude = raised(x[0], magnitude);
        else
            kind = cut(x, by, digit, magnitude);
        static_for<0, parts>([&](auto to) MDQR_LAMBDA {
            constexpr int T = to.value, from = P == T ? 0 : 1;
            const double* b = y + from * (vector_words * Plane);
            size[T] = fma(magnitude, b[D * Plane], size[T]);
            constexpr bool negative = P == 1 && T == 0;
            if (kind == 2)
                multiply<2, Plane, negative>(digit, b, word[T] + 1);
            else if (short_digits < D && kind == 1)
                multiply<D, Plane, negative>(digit, b, word[T] + 1);
            else
                multiply<short_digits, Plane, negative>(digit, b, word[T] + 1);
        });
        terms[0] += kind == 0;
        terms[1] += kind == 1;
        terms[2] += kind == 2;
    }

    // The digits of a value, and which of them are zero.
    MDQR_FN static int cut(const double* x, double by, double* digit, double& magnitude) {
        double limb[limbs];
        static_for<0, limbs>([&](auto l) MDQR_LAMBDA { limb[l] = one_prod(x[l], by); });
        // The last limb that must end within two digits; the one behind it may be cut.
        constexpr int last = limbs + 1 < D ? limbs - 1 : limbs - 2;
        constexpr unsigned least = unsigned(2 - 51 * (last + 1) + 1023) << 20;
        if (upper(limb[last]) >= least) {
            limbs_to_digits(limb, digit);
            return 0;
        }
        to_digits<D, limbs>(limb, digit);
        bool is_long = false;
        static_for<2, D>([&](auto i) MDQR_LAMBDA { is_long = is_long || digit[i] != 0.0; });
        weigh_digits(digit);
        magnitude = raised(x[0], magnitude);
        return !is_long ? 2 : short_digits < D ? 1 : 0;
    }

    // One limb into two digits; false if it needs more.
    MDQR_FN static bool double_to_digits(double x, double* digit) {
        constexpr double first = digit_rest * digit_weight(0),
                         second = digit_rest * digit_weight(1);
        digit[0] = one_sum(one_sum(x, first), -first);
        const double rest = one_sum(x, -digit[0]);
        digit[1] = one_sum(one_sum(rest, second), -second);
        return rest == digit[1];
    }

    // Every limb into two digits.
    MDQR_FN static void limbs_to_digits(const double* x, double* digit) {
        double rest = 0.0;
        static_for<0, limbs>([&](auto l) MDQR_LAMBDA {
            constexpr double magic = digit_rest * digit_weight(l.value);
            const double part = one_sum(one_sum(x[l], magic), -magic);
            digit[l] = l == 0 ? part : one_sum(part, rest);
            rest = one_sum(x[l], -part);
        });
        digit[limbs] = rest;
        static_for<limbs + 1, D>([&](auto i) MDQR_LAMBDA { digit[i] = 0.0; });
    }

    // As digit_multiply_add, with two patterns an addition.
    template <int DA, int Plane, bool Negative>
    MDQR_FN static void multiply(const double* a, const double* b, i64* word) {
        static_for<0, D>([&](auto j) MDQR_LAMBDA {
            constexpr int J = j.value, most = DA < D - J ? DA : D - J;
            const double y = Negative ? -b[J * Plane] : b[J * Plane];
            i64 rest = 0;
            static_for<0, most>([&](auto i) MDQR_LAMBDA {
                constexpr int k = i.value + J;
                constexpr double split = split_of(k), sum = split + rest_of(k);
                const double h = fma(a[i], y, split);
                word[k] = wrapping_add(word[k], wrapping_add(bits(h), rest));
                if constexpr (k + 1 < D) {
                    const double l = fma(a[i], y, one_sum(sum, -h));
                    rest = bits(l);
                }
            });
            if constexpr (most + J < D)
                word[most + J] = wrapping_add(word[most + J], rest);
        });
    }
};

MDQR_END

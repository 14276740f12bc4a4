// The operands of a small system: a matrix in memory as a real one, its powers of two, its digits.
//
// A complex matrix is taken as the real one [re, -im; im, re], a complex vector as [re; im].
#pragma once
#include "mdqr/small/team.hpp"
#include "mdqr/small/words.hpp"

MDQR_BEGIN

inline constexpr double unit_roundoff = 0x1p-53;
// What sums of rounding errors are multiplied by: they are formed in doubles themselves.
inline constexpr double outward = 1.0 + 0x1p-40;

// Why a system was not served.
enum small_status {
    served = 0,
    not_finite = 1,
    singular = 2,
    ill_conditioned = 3,
    diverging = 4,
    unproven = 5,
    out_of_doubles = 6,
};

struct small_outcome {
    i64 status;
    int steps;
    double condition;
};

// One matrix of a batch. imag == 0: real.
struct small_operand {
    double* data;
    int limbs;
    i64 plane, imag, row, column;
    int m, n; // of the values

    MDQR_FN int rows() const { return imag != 0 ? 2 * m : m; }
    MDQR_FN int columns() const { return imag != 0 ? 2 * n : n; }
    // Where entry (i, j) of the real form lies, and whether its sign is the other one.
    MDQR_FN i64 offset(int i, int j) const {
        const bool lower = i >= m, right = j >= n;
        return (i - (lower ? m : 0)) * row + (j - (right ? n : 0)) * column +
               (lower != right ? imag : 0);
    }
    MDQR_FN bool negative(int i, int j) const { return i < m && j >= n; }
};

// Working memory by pieces of 64 bytes; without a base it only counts.
struct memory_part {
    double* base;
    i64 used;
    MDQR_FN double* take(i64 count) {
        double* p = base ? base + used : nullptr;
        used += (count + 7) / 8 * 8;
        return p;
    }
};
struct small_memory : memory_part {
    memory_part digits; // much, read in order
    // Arrays as teams have them, all of `count`.
    template <class... A> MDQR_FN void take_each(i64 count, A&... array) {
        (take_one(count, array), ...);
    }
    template <class P> MDQR_FN void take_one(i64 count, P*& to) {
        to = reinterpret_cast<P*>(take((count * i64(sizeof(P)) + 7) / 8));
    }
    template <class A> MDQR_FN void take_one(i64 count, A& to) {
        to = A(take((count * i64(sizeof(typename A::element)) + 7) / 8));
    }
};

MDQR_FN int padded(int n) { return (n + 7) / 8 * 8; }

// Below all exponents: that of zero.
inline constexpr int no_exponent = -100000;
MDQR_FN int exponent_of(double x) {
    const i64 magnitude = bits(x) & 0x7fffffffffffffffLL;
    const int field = int(magnitude >> 52);
    return field != 0       ? field - 1023
           : magnitude == 0 ? no_exponent
                            : int(bits(double(magnitude)) >> 52) - (1023 + 1074);
}

// e with max |x| < 2^e; no_exponent + 1 for zeros.
MDQR_FN int bound_exponent(double largest) { return exponent_of(largest) + 1; }

// 2^e in two factors, so that a value and its product may lie anywhere in the range.
MDQR_FN void split_power(int e, double& first, double& second) {
    e = e < -2044 ? -2044 : e > 2044 ? 2044 : e;
    first = power_of_two(e >> 1);
    second = power_of_two(e - (e >> 1));
}

// `lanes` entries of the real form, along the rows or along the columns, times powers of two.
template <class T, bool AlongColumns> struct scaled_entries {
    static constexpr int L = lanes<T>;
    const small_operand& x;
    i64 offset[L];
    T first, second;
    mutable mask_t<T> vanished; // where a limb became zero

    // Entries (at + l, other), or (other, at + l), of `rows` or `columns`; those beyond are zero.
    MDQR_FN scaled_entries(const small_operand& x, int at, int limit, int other, const i64* powers,
                           i64 other_power)
        : x(x) {
        const int count = limit - at < L ? limit - at : L;
        split_powers(bits(load<T>(reinterpret_cast<const double*>(powers + at))) + other_power);
        alignas(64) double sign[L];
        for (int l = 0; l < L; ++l) {
            const int p = l < count ? at + l : at, i = AlongColumns ? other : p,
                      j = AlongColumns ? p : other;
            offset[l] = x.offset(i, j);
            sign[l] = l >= count ? 0.0 : x.negative(i, j) ? -1.0 : 1.0;
        }
        first = one_prod(first, load<T>(sign));
        vanished = first != first;
    }

    MDQR_FN T operator()(int limb) const {
        alignas(64) double v[L];
        for (int l = 0; l < L; ++l)
            v[l] = x.data[limb * x.plane + offset[l]];
        const T given = load<T>(v), r = one_prod(one_prod(given, first), second);
        const T zero = broadcast<T>(0.0);
        vanished = vanished | ((given != zero) & (first != zero) & (r == zero));
        return r;
    }

private:
    // 2^e in two factors, as split_power.
    MDQR_FN void split_powers(ints_t<T> e) {
        const ints_t<T> zero = e - e;
        e = select_ints(e < zero - i64(2044), zero - i64(2044), e);
        e = select_ints(e > zero + i64(2044), zero + i64(2044), e);
        const ints_t<T> half = e >> 1;
        first = from_bits((half + i64(1023)) << 52);
        second = from_bits((e - half + i64(1023)) << 52);
    }
};

// Digits of the scaled matrix, [group of rows][column][digit][lane], or with rows and columns
// exchanged. Returns twice how many of `count` digits are used, 2 count + 1 where something was cut
// off.
template <class T, bool AlongColumns, class Team>
MDQR_CALL int matrix_digits(Team team, small_operand x, const i64* row_powers,
                            const i64* column_powers, int count, double* to, double* slots) {
    constexpr int L = lanes<T>, S = side_by_side<T>;
    const int along = AlongColumns ? x.columns() : x.rows(),
              across = AlongColumns ? x.rows() : x.columns();
    const i64* powers = AlongColumns ? column_powers : row_powers;
    const i64* other = AlongColumns ? row_powers : column_powers;
    return int(team.largest_task(padded(along) / L, across, slots, [&](int g, int j) {
        const T zero = broadcast<T>(0.0);
        const bool inside = g * L < along;
        const scaled_entries<T, AlongColumns> entries(x, inside ? g * L : 0, inside ? along : 0, j,
                                                      powers, other[j]);
        T digit[most_digits];
        const mask_t<T> lost =
            cut_to_digits<T>(x.limbs, entries, -50, count, digit) | entries.vanished;
        double* at = to + lanes_at<T>(g, i64(across) * count) + i64(j) * count * S;
        int last = 1;
        each_index<most_digits, T>(0, count, [&](auto d) MDQR_LAMBDA {
            store(at + d * S, digit[d]);
            last = any(digit[d] != zero) ? d + 1 : last;
            return true;
        });
        return double(any(lost) ? 2 * count + 1 : 2 * last);
    }));
}

// The leading limbs of the scaled matrix, by columns of `stride` entries; those beyond are zero.
template <class T, class Team>
MDQR_CALL void leading_limbs(Team team, small_operand x, const i64* row_powers,
                             const i64* column_powers, int stride, double* to) {
    constexpr int L = lanes<T>;
    const int apart = Team::apart(stride);
    team.each_pair(x.columns(), stride / L, [&](int j, int g) {
        const int i = g * L;
        const bool inside = i < x.rows();
        const scaled_entries<T, false> entries(x, inside ? i : 0, inside ? x.rows() : 0, j,
                                               row_powers, column_powers[j]);
        store(to + i64(j) * apart + i, entries(0));
    });
}

// Powers of two that bring the largest entry of each column, then (if `rows`) of each row, to at
// least 1/2 and below 1; padded with zeros.
template <class Team>
MDQR_CALL i64 equilibrate(Team team, small_operand x, bool rows, i64* row_powers,
                          i64* column_powers) {
    const bool is_complex = x.imag != 0;
    auto entry = [&](int i, int j) {
        const double* p = x.data + x.offset(i, j);
        const int e = exponent_of(p[0]), f = is_complex ? exponent_of(p[x.imag]) : no_exponent;
        return e > f ? e : f;
    };
    team.each(padded(x.columns()), [&](int j) {
        int most = j < x.n ? no_exponent : 0;
        for (int i = 0; i < x.m && j < x.n; ++i) {
            const int e = entry(i, j);
            most = e > most ? e : most;
        }
        column_powers[j] = most;
    });
    const double worst = team.largest(x.n, [&](int j) {
        return column_powers[j] == 1024 ? 2.0 : column_powers[j] == no_exponent ? 1.0 : 0.0;
    });
    if (worst > 0.0)
        return worst > 1.0 ? not_finite : singular;
    team.each(x.n, [&](int j) {
        column_powers[j] = -column_powers[j] - 1;
        if (is_complex)
            column_powers[x.n + j] = column_powers[j];
    });
    team.each(padded(x.rows()), [&](int i) {
        if (i >= x.m && i < x.rows())
            return;
        i64 most = -1;
        for (int j = 0; j < x.n && rows && i < x.m; ++j) {
            const i64 e = entry(i, j) + column_powers[j];
            most = j == 0 || e > most ? e : most;
        }
        row_powers[i] = -most - 1;
        if (is_complex && i < x.m)
            row_powers[x.m + i] = row_powers[i];
    });
    const bool full =
        team.largest(x.m, [&](int i) { return double(row_powers[i]); }) <= -no_exponent / 2;
    return full ? served : singular;
}

MDQR_END

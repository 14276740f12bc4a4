// Fixed-point vectors for refinement: residuals and solutions as integers, sums of products exact.
//
// In units of a power of two that the vector shares, word k of a number counts multiples of
// 2^(2-51k); word 0 takes carries, word D is the last. A matrix has balanced 51-bit digits, digit d
// in units of 2^(-50-51d), and a correction is one integer of at most 2^50 in units of 2^-50: the
// upper half of their product goes to word d + 1, the lower one to word d + 2 (digits.hpp).
// A term adds at most 1.5 * 2^50 to a word, so 2^10 terms stay below 2^62.
//
// Vectors lie as [group of lanes][word][lane], matrices as [group][column][digit][lane]; single
// lanes lie side by side in groups of 8, so that threads of a GPU read what is together.
#pragma once
#include "mdqr/digits.hpp"
#include "mdqr/small/team.hpp"

MDQR_BEGIN

// A matrix, a right-hand side and a solution of up to 11 limbs have 14 digits at most, others 20,
// the last whose weights are normal numbers. A GPU, which keeps them in registers, has one module
// for each.
#if !defined(MDQR_MOST_DIGITS)
#define MDQR_MOST_DIGITS 20
#endif
inline constexpr int few_digits = 14, most_digits = MDQR_MOST_DIGITS;
static_assert(few_digits <= most_digits && most_digits <= 20);
MDQR_FN constexpr int digits_for(int limbs) { return limbs <= 11 ? few_digits : most_digits; }
// The last word: word 0, those of all digits, and one for the last lower half if its weight is a
// normal number.
MDQR_FN constexpr int last_word(int digits) { return digits < 20 ? digits + 1 : 20; }
// Words of a number in memory.
inline constexpr int word_capacity = last_word(most_digits) + 1;

template <class T> inline constexpr int side_by_side = lanes<T> == 1 ? 8 : lanes<T>;
// Where group g of lanes begins, with `count` numbers in each lane.
template <class T> MDQR_FN i64 lanes_at(int g, i64 count) {
    constexpr int S = side_by_side<T>;
    const int i = g * lanes<T>;
    return i64(i / S) * (count * S) + i % S;
}

// 2^e, 0 below the range of normal numbers.
MDQR_FN double two_power(int e) { return e < -1022 ? 0.0 : power_of_two(e > 1023 ? 1023 : e); }

// f(i) for i in [first, last) while it returns true, i an index of an array of Most. Single lanes
// have it as a constant, so that threads of a GPU keep the array in registers.
template <int Most, class T, class F> MDQR_FN void each_index(int first, int last, F&& f) {
    if constexpr (lanes<T> == 1 && !keeps_loops) {
        bool more = true;
        static_for<0, Most>([&](auto i) MDQR_LAMBDA {
            if (more && i >= first && i < last)
                more = f(i);
        });
    } else {
        for (int i = first; i < last && f(i);)
            ++i;
    }
}
// The same from last - 1 down to first.
template <int Most, class T, class F> MDQR_FN void each_index_down(int first, int last, F&& f) {
    if constexpr (lanes<T> == 1 && !keeps_loops) {
        static_for_down<Most - 1, 0>([&](auto i) MDQR_LAMBDA {
            if (i >= first && i < last)
                f(i);
        });
    } else {
        for (int i = last - 1; i >= first; --i)
            f(i);
    }
}

// Digits of the sum of `limbs` numbers limb(l), at most 2^(50+first) in all and normalised, in
// units of 2^(first-51d), d < count; returns where something was cut off.
template <class T, class Limb>
MDQR_FN mask_t<T> cut_to_digits(int limbs, const Limb& limb, int first, int count, T* digit) {
    const T zero = broadcast<T>(0.0);
    mask_t<T> cut = zero != zero;
    each_index<most_digits, T>(0, count, [&](auto d) MDQR_LAMBDA {
        digit[d] = zero;
        return true;
    });
    for (int l = 0; l < limbs; ++l) {
        T x = limb(l);
        each_index<most_digits, T>(l, count, [&](auto d) MDQR_LAMBDA {
            if (!any(x != zero))
                return false;
            const int weight = first - 51 * d;
            const T magic = broadcast<T>(digit_rest * power_of_two(weight));
            const T part = one_sum(one_sum(x, magic), -magic);
            digit[d] = fma(part, broadcast<T>(power_of_two(-weight)), digit[d]);
            x = one_sum(x, -part);
            return true;
        });
        cut = cut | (x != zero);
    }
    each_index_down<most_digits, T>(1, count, [&](auto d) MDQR_LAMBDA {
        const T magic = broadcast<T>(digit_split);
        const T part = one_sum(one_sum(digit[d], magic), -magic);
        digit[d] = one_sum(digit[d], -part);
        digit[d - 1] = fma(part, broadcast<T>(0x1p-51), digit[d - 1]);
    });
    return cut;
}

// An integer of at most 2^51 from a double and back.
template <class T> MDQR_FN ints_t<T> to_integer(T x) {
    const T magic = broadcast<T>(digit_rest);
    return bits(one_sum(x, magic)) - bits(magic);
}
template <class T> MDQR_FN T from_integer(ints_t<T> x) {
    const T magic = broadcast<T>(digit_rest);
    return one_sum(from_bits(x + bits(magic)), -magic);
}

// The words of one group of lanes in memory.
template <class T> struct word_group {
    static constexpr int S = side_by_side<T>;
    double* at;

    MDQR_FN word_group(double* vector, int group)
        : at(vector + lanes_at<T>(group, word_capacity)) {}
    MDQR_FN ints_t<T> get(int k) const { return bits(load<T>(at + k * S)); }
    MDQR_FN void set(int k, ints_t<T> x) const { store(at + k * S, from_bits(x)); }
    MDQR_FN void add(int k, ints_t<T> x) const { set(k, wrapping_add(get(k), x)); }

    MDQR_FN void clear() const {
        for (int k = 0; k < word_capacity; ++k)
            store(at + k * S, broadcast<T>(0.0));
    }

    // Leaves |word k| <= 2^50 for k > 0.
    MDQR_FN void carry(int last) const {
        ints_t<T> c = bits(broadcast<T>(0.0));
        for (int k = last; k > 0; --k) {
            const ints_t<T> w = get(k) + c;
            c = (w + (i64(1) << 50)) >> 51;
            set(k, w - (c << 51));
        }
        add(0, c);
    }

    // The nearest double but for 3u; words are carried.
    MDQR_FN T value(int last) const {
        T sum = broadcast<T>(0.0);
        for (int k = last; k >= 0; --k)
            sum = fma(sum, broadcast<T>(0x1p-51), from_integer<T>(get(k)));
        return one_prod(sum, broadcast<T>(4.0));
    }

    // To units 2^-t times as large, 0 <= t <= 51; words are carried, and what comes to word 0 fits.
    MDQR_FN void shift(int last, int t) const {
        if (t == 51) {
            set(0, wrapping_add(get(0) << 51, get(1)));
            for (int k = 1; k < last; ++k)
                set(k, get(k + 1));
            set(last, bits(broadcast<T>(0.0)));
            return;
        }
        ints_t<T> upper = get(0) << t;
        for (int k = 1; k <= last; ++k) {
            const ints_t<T> w = get(k), c = (w + (i64(1) << (50 - t))) >> (51 - t);
            set(k - 1, wrapping_add(upper, c));
            upper = (w - (c << (51 - t))) << t;
        }
        set(last, upper);
    }

    // += x 2^(-50-down) with integers x, down >= -52; returns where bits below the last word are
    // lost.
    MDQR_FN static int last_of(int down) { return (52 + down) / 51 + 1; }
    MDQR_FN mask_t<T> deposit(T x, int down, int last) const {
        const int k = (52 + down) / 51, right = (52 + down) % 51;
        const T zero = broadcast<T>(0.0);
        if (k > last)
            return x != zero;
        const ints_t<T> amount = to_integer(x), whole = amount >> right,
                        rest = (amount - (whole << right)) << (51 - right);
        add(k, whole);
        if (k < last) {
            add(k + 1, rest);
            return zero != zero;
        }
        return from_integer<T>(rest) != zero;
    }
};

MDQR_FN i64 wrapping_add_each(i64 a, i64 b) { return wrapping_add(a, b); }
template <class I> MDQR_FN I wrapping_add_each(I a, i64 b) { return a + b; }

// word += sum of a[j] x[j], j < count, with K digits of each a[j], `stride` digits apart; without
// Tail the last lower half is left out. The first of those who share the sum reads and writes the
// words.
template <int K, bool Tail, class T, class Share>
MDQR_CALL void add_products(const double* a, int stride, const double* x, int count, double* word,
                            Share share) {
    constexpr int S = side_by_side<T>, W = K + Tail;
    ints_t<T> w[W + 1];
    static_for<1, W + 1>([&](auto k) MDQR_LAMBDA {
        // Others do not read what the first has just written.
        w[k] = share.first == 0 ? bits(load<T>(word + k * S)) : ints_t<T>{};
    });
    const T c = broadcast<T>(digit_split), c2 = broadcast<T>(digit_split + digit_rest);
    auto add_term = [&](T y, auto digit_at) MDQR_LAMBDA {
        static_for<0, K>([&](auto d) MDQR_LAMBDA {
            const T digit = digit_at(d), h = fma(digit, y, c);
            w[d + 1] = wrapping_add(w[d + 1], bits(h));
            if constexpr (d.value + 2 <= W)
                w[d + 2] = wrapping_add(w[d + 2], bits(fma(digit, y, one_sum(c2, -h))));
        });
    };
    auto in_memory = [&](int d) MDQR_LAMBDA { return load<T>(a + d * S); };
    if constexpr (lanes<T> == 1) {
        // Threads of a GPU wait for memory: the next digits are on their way.
        T now[K], next[K];
        a += share.first * stride * S;
        if (share.first < count)
            static_for<0, K>([&](auto d) MDQR_LAMBDA { next[d] = in_memory(d); });
        for (int j = share.first; j < count; j += share.step) {
            static_for<0, K>([&](auto d) MDQR_LAMBDA { now[d] = next[d]; });
            if (j + share.step < count) {
                a += share.step * stride * S;
                static_for<0, K>([&](auto d) MDQR_LAMBDA { next[d] = in_memory(d); });
            }
            add_term(x[j], [&](auto d) MDQR_LAMBDA { return now[d]; });
        }
    } else {
        for (int j = 0; j < count; ++j, a += stride * S)
            add_term(broadcast<T>(x[j]), in_memory);
    }
    const u64 uppers = u64(count) * u64(bits(digit_split)),
              lowers = u64(count) * u64(bits(digit_rest));
    static_for<1, W + 1>([&](auto k) MDQR_LAMBDA {
        const u64 bias = (k.value <= K ? uppers : u64(0)) + (k.value > 1 ? lowers : u64(0));
        const ints_t<T> sum = share.total(w[k]);
        if (share.first == 0)
            store(word + k * S, from_bits(wrapping_add_each(sum, i64(u64(0) - bias))));
    });
}

inline constexpr int digits_at_once = keeps_loops ? 2 : few_digits;
template <int K, class T, class Share>
MDQR_FN void add_few_products(int digits, bool tail, const double* a, int stride, const double* x,
                              int count, double* word, Share share) {
    if constexpr (K <= digits_at_once) {
        if (digits != K)
            return add_few_products<K + 1, T>(digits, tail, a, stride, x, count, word, share);
        if (tail)
            add_products<K, true, T>(a, stride, x, count, word, share);
        else
            add_products<K, false, T>(a, stride, x, count, word, share);
    }
}
// The same with a number of digits known at run time. Words are exact: parts of the digits may come
// one after the other.
template <class T, class Share>
MDQR_FN void add_products_of(int digits, bool tail, const double* a, int stride, const double* x,
                             int count, double* word, Share share) {
    constexpr int K = digits_at_once, S = side_by_side<T>;
    if constexpr (K == most_digits)
        return add_few_products<1, T>(digits, tail, a, stride, x, count, word, share);
    const int parts = (digits + K - 1) / K,
              each = parts > 1 ? (digits + parts - 1) / parts : digits;
    for (; digits > 0; digits -= each, a += each * S, word += each * S)
        add_few_products<1, T>(digits < each ? digits : each, tail || digits > each, a, stride, x,
                               count, word, share);
}

MDQR_END

// Random limbs from counters: mdqr/_backend/draws.py, operation by operation.
#include "device/device.hpp"
#include "device/views.hpp"

MDQR_BEGIN

inline constexpr int draw_threads = 128, together = 4; // values of a thread, and words of a counter
inline constexpr int layers = 256;

struct draw_arguments {
    double* out; // limb l of value i is out[l * plane + i]
    i64 plane, count, key[2];
    const double* tables; // limits, widths and heights of the layers, then the tail
};

struct four {
    u64 word[together];
};

MDQR_FN u64 upper_product(u64 x, u64 y) {
    const u64 lower = 0xffffffffull, x0 = x & lower, x1 = x >> 32, y0 = y & lower, y1 = y >> 32;
    const u64 middle = y1 * x0 + ((y0 * x0) >> 32), other = y0 * x1 + (middle & lower);
    return y1 * x1 + (middle >> 32) + (other >> 32);
}

// Philox 4x64-10.
MDQR_FN four philox(const draw_arguments& p, u64 c0, u64 c1, u64 c2) {
    const u64 by0 = 0xD2E7470EE14C6C93ull, by1 = 0xCA5A826395121157ull;
    u64 c3 = 0, k0 = u64(p.key[0]), k1 = u64(p.key[1]);
    for (int turn = 0; turn < 10; ++turn) {
        const u64 high = upper_product(c0, by0), low = c0 * by0, other = upper_product(c2, by1),
                  lower = c2 * by1;
        c0 = other ^ c1 ^ k0;
        c1 = lower;
        c2 = high ^ c3 ^ k1;
        c3 = low;
        k0 += 0x9E3779B97F4A7C15ull;
        k1 += 0xBB67AE8584CAA73Bull;
    }
    return {{c0, c1, c2, c3}};
}

MDQR_FN i64 number_of(u64 word) { return i64(word >> 11); }

// 2^(-53 place).
MDQR_FN double unit_of(int place) { return from_bits(i64(1023 - 53 * place) << 52); }

// A word in units of 2^(-53 place); what is carried to the one above it is left in `carry`.
MDQR_FN double balance(i64 word, i64& carry, int place, bool is_first) {
    word += carry;
    carry = word >> 52;
    if (!is_first)
        word -= carry * (i64(1) << 53);
    return one_prod(double(word), unit_of(place));
}

MDQR_FN void sweep(double (&v)[limbs]) {
    for (int turn = 0; turn < 2; ++turn)
        static_for<0, limbs - 1>([&](auto i) MDQR_LAMBDA {
            const double total = one_sum(v[i], v[i + 1]);
            v[i + 1] = one_sum(v[i + 1], -one_sum(total, -v[i]));
            v[i] = total;
        });
}

MDQR_FN double size_of(u64 word) { return double(i64(word >> 12)); }
MDQR_FN double try_word(const draw_arguments& p, u64 word, bool& inside) {
    const int layer = int(word & (layers - 1));
    inside = size_of(word) < p.tables[layer];
    return one_prod(size_of(word), p.tables[layers + layer]);
}

// exp(-x^2 / 2).
MDQR_FN double falling(double x) {
    constexpr double c[] = {-1.0 / 362880, 1.0 / 40320, -1.0 / 5040, 1.0 / 720, -1.0 / 120,
                            1.0 / 24,      -1.0 / 6,    1.0 / 2,     -1.0,      1.0};
    const double t = one_prod(one_prod(x, x), 0x1p-7);
    double y = c[0];
    static_for<1, 10>([&](auto k) MDQR_LAMBDA { y = one_sum(one_prod(y, t), c[k]); });
    for (int turn = 0; turn < 6; ++turn)
        y = one_prod(y, y);
    return y;
}

// log((n + 1) / 2^53) for the upper 53 bits n.
MDQR_FN double logarithm(u64 word) {
    const double x = double(number_of(word) + 1); // 2^e m, 1/2 <= m < 1
    const int e = int(bits(x) >> 52) - 1022;
    const double m = one_prod(x, from_bits(i64(1023 - e) << 52)), root = 0.7071067811865476,
                 s = one_sum(m, -root) / one_sum(m, root), t = one_prod(s, s);
    double y = 1.0 / 19;
    static_for<1, 10>([&](auto k)
                          MDQR_LAMBDA { y = one_sum(one_prod(y, t), 1.0 / double(19 - 2 * k)); });
    const double power = one_prod(double(e - 53), 0.6931471805599453);
    return one_sum(one_prod(one_prod(2.0, s), y), one_sum(power, -0.34657359027997264));
}

// The magnitude of value i, whose first word does not lie inside of its layer for certain.
MDQR_COLD double finish(const draw_arguments& p, i64 i, u64 word) {
    const double* const heights = p.tables + 2 * layers;
    const double tail = p.tables[3 * layers];
    for (int step = 0;; ++step) {
        const four words = philox(p, u64(i) + 1, u64(step / 2), 1);
        const u64 u = step % 2 ? words.word[2] : words.word[0],
                  v = step % 2 ? words.word[3] : words.word[1];
        const int layer = int(word & (layers - 1));
        bool inside;
        if (layer == 0) {
            const double beyond = -logarithm(u) / tail;
            if (one_prod(-2.0, logarithm(v)) > one_prod(beyond, beyond))
                return one_sum(tail, beyond);
            continue;
        }
        const double x = try_word(p, word, inside), lower = heights[layer],
                     part = one_prod(double(number_of(u)), 0x1p-53);
        if (one_sum(one_prod(one_sum(heights[layer - 1], -lower), part), lower) < falling(x))
            return x;
        word = v;
        const double again = try_word(p, word, inside);
        if (inside)
            return again;
    }
}

MDQR_FN double normal_double(const draw_arguments& p, i64 i, u64 word) {
    bool inside;
    double x = try_word(p, word, inside);
    if (!inside)
        x = finish(p, i, word);
    return from_bits(bits(x) | i64((word & 256) << 55));
}

// What a thread begins with for the limbs from `first` on: balanced words.
template <bool IsNormal> MDQR_FN void draw(const draw_arguments& p) {
    const i64 start = together * (block_x() * draw_threads + thread_index());
    if (start >= p.count)
        return;
    const u64 counter = u64(start / together) + 1;
    double v[together][limbs], unit[together];
    i64 carry[together] = {0, 0, 0, 0};
    if (IsNormal) {
        const four words = philox(p, counter, 0, 0);
        for (int q = 0; q < together; ++q) {
            v[q][0] = start + q < p.count ? normal_double(p, start + q, words.word[q]) : 0.0;
            unit[q] = one_prod(from_bits(bits(v[q][0]) & (i64(0x7ff) << 52)), 0x1p-52);
        }
    }
    static_for_down<limbs - 1, IsNormal>([&](auto l) MDQR_LAMBDA {
        const four words = philox(p, counter, u64(l), 0);
        for (int q = 0; q < together; ++q) {
            i64 word = number_of(words.word[q]);
            if (IsNormal && l == 1)
                word -= i64(1) << 52;
            v[q][l] = balance(word, carry[q], IsNormal ? int(l) : l + 1, l == int(IsNormal));
            if (IsNormal)
                v[q][l] = one_prod(v[q][l], unit[q]);
        }
    });
    for (int q = 0; q < together && start + q < p.count; ++q) {
        sweep(v[q]);
        static_for<0, limbs>([&](auto l) MDQR_LAMBDA { p.out[l * p.plane + start + q] = v[q][l]; });
    }
}

MDQR_KERNEL(mdqr_uniform, draw_arguments, draw_threads) { draw<false>(p); }
MDQR_KERNEL(mdqr_normal, draw_arguments, draw_threads) { draw<true>(p); }

MDQR_END

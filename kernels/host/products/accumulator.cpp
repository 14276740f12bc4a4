// Single elements of a product, for one level and all limb counts: see products/accumulator.hpp.
#include "level/level.hpp"

#include "products/accumulator.hpp"

MDQR_BEGIN

using u128 = unsigned __int128;
using i128 = __int128;

// magnitude 2^(64 index - bias), the bias of `accumulator_number` or of `accumulator`.
struct accumulator_word {
    u64 magnitude;
    int index;
    bool negative;
};

// The limbs of a finite number cut at multiples of 64 bits: the words of neighbours are one where
// they meet, so that od has 8 of them, not 16.
class accumulator_number {
public:
    int count;
    accumulator_word word[2 * mdqr_host::largest_limb_count];

    void read(const double* limb, int limbs, ptrdiff_t plane, bool negative) {
        count = 0;
        for (int l = 0; l < limbs; ++l)
            add(limb[l * plane], negative);
    }

private:
    static constexpr int bias = 1088;

    void add(double x, bool negative) {
        const i64 b = bits(x);
        const int field = int((b >> 52) & 0x7ff);
        const u64 fraction = u64(b) & 0xfffffffffffffULL;
        const u64 mantissa = field ? fraction | 0x10000000000000ULL : fraction;
        const int position = (field ? field - 1075 : -1074) + bias;
        const u128 shifted = u128(mantissa) << (position & 63);
        add(u64(shifted >> 64), position / 64 + 1, negative != (b < 0));
        add(u64(shifted), position / 64, negative != (b < 0));
    }

    void add(u64 magnitude, int index, bool negative) {
        if (magnitude == 0)
            return;
        if (count > 0 && word[count - 1].index == index) {
            accumulator_word& last = word[count - 1];
            const i128 sum = (last.negative ? -i128(last.magnitude) : i128(last.magnitude)) +
                             (negative ? -i128(magnitude) : i128(magnitude));
            const i128 size = sum < 0 ? -sum : sum;
            if (size >> 64 == 0) {
                last = {u64(size), index, sum < 0};
                return;
            }
        }
        word[count++] = {magnitude, index, negative};
    }
};

// A sum of products: 2^64 terms fit without a carry.
class accumulator {
public:
    void clear() {
        for (int i = 0; i < words; ++i)
            sum[0][i] = sum[1][i] = 0;
        has_terms = false;
    }

    void add(const accumulator_number& a, const accumulator_number& b) {
        has_terms = has_terms || (a.count > 0 && b.count > 0);
        for (int i = 0; i < a.count; ++i)
            for (int j = 0; j < b.count; ++j) {
                const u128 term = u128(a.word[i].magnitude) * b.word[j].magnitude;
                u128* at = sum[a.word[i].negative != b.word[j].negative] + a.word[i].index +
                           b.word[j].index;
                at[0] += u64(term);
                at[1] += u64(term >> 64);
            }
    }

    void move_to(superacc& acc) {
        if (has_terms)
            acc.add(0.0); // an exact zero is +0
        carry(sum[0]);
        carry(sum[1]);
        int top = words - 1;
        while (top > 0 && sum[0][top] == sum[1][top])
            --top;
        const bool negative = sum[0][top] < sum[1][top];
        i128 borrow = 0;
        for (int i = 0; i <= top; ++i) {
            i128 word = i128(sum[negative][i]) - i128(sum[!negative][i]) + borrow;
            borrow = word < 0 ? -1 : 0;
            deposit(acc, u64(word), 64 * i - bias, negative);
        }
    }

private:
    static constexpr int words = 69, bias = 2176;
    u128 sum[2][words]; // of positive and of negative terms
    bool has_terms;

    static void carry(u128* word) {
        for (int i = 0; i + 1 < words; ++i) {
            word[i + 1] += word[i] >> 64;
            word[i] = u64(word[i]);
        }
    }

    static void deposit(superacc& acc, u64 word, int e, bool negative) {
        const i64 half[2] = {i64(word & 0xffffffffULL), i64(word >> 32)};
        for (int i = 0; i < 2; ++i)
            if (half[i] != 0)
                acc.add_scaled(negative ? -half[i] : half[i], e + 32 * i);
    }
};

// Eight rows of an operand, as many k at a time as fit.
struct accumulator_rows {
    static constexpr int side = unserved_elements::side, longest = 32;
    accumulator_number number[side][2][longest];

    void read(const operand& from, ptrdiff_t item, ptrdiff_t first, const bool (&wanted)[side],
              ptrdiff_t k0, ptrdiff_t k, bool negated) {
        for (int r = 0; r < side; ++r)
            for (ptrdiff_t j = 0; j < k && wanted[r]; ++j) {
                const double* p = from.at(item, first + r, k0 + j);
                number[r][0][j].read(p, from.limbs, from.plane, false);
                if (from.imag != 0)
                    number[r][1][j].read(p + from.imag, from.limbs, from.plane,
                                         negated != (from.sign < 0.0));
            }
    }
};

struct accumulator_memory {
    static constexpr int side = unserved_elements::side;
    accumulator_rows p, s;
    accumulator_rows minus; // the rows of s with their imaginary parts negated
    accumulator sum[side * side][2];
};

void accumulate_block(const product_problem& x, const unserved_block& block, finish_element finish,
                      void* context) {
    constexpr int side = unserved_elements::side;
    static_assert(alignof(accumulator_memory) <= 64, "aligned as the working memory is");
    accumulator_memory& memory = *reinterpret_cast<accumulator_memory*>(
        mdqr_host::matmul_scratch(sizeof(accumulator_memory) / sizeof(double)));
    const int parts = x.is_complex ? 2 : 1;
    bool wanted_p[side] = {}, wanted_s[side] = {};
    const auto for_each = [&](auto f) {
        for (int e = 0; e < side * side; ++e)
            if (block.mask >> e & 1)
                f(e, e % side, e / side);
    };
    for_each([&](int e, int i, int j) {
        wanted_p[i] = wanted_s[j] = true;
        for (int part = 0; part < parts; ++part)
            memory.sum[e][part].clear();
    });
    for (ptrdiff_t k0 = 0; k0 < x.k; k0 += accumulator_rows::longest) {
        const ptrdiff_t k =
            x.k - k0 < accumulator_rows::longest ? x.k - k0 : accumulator_rows::longest;
        memory.p.read(x.p, block.item, block.p, wanted_p, k0, k, false);
        memory.s.read(x.s, block.item, block.s, wanted_s, k0, k, false);
        if (x.is_complex)
            memory.minus.read(x.s, block.item, block.s, wanted_s, k0, k, true);
        for_each([&](int e, int i, int j) {
            const auto &p = memory.p.number[i], &s = memory.s.number[j],
                       &minus = memory.minus.number[j];
            for (ptrdiff_t at = 0; at < k; ++at) {
                memory.sum[e][0].add(p[0][at], s[0][at]);
                if (!x.is_complex)
                    continue;
                memory.sum[e][0].add(p[1][at], minus[1][at]);
                memory.sum[e][1].add(p[0][at], s[1][at]);
                memory.sum[e][1].add(p[1][at], s[0][at]);
            }
        });
    }
    superacc acc;
    for_each([&](int e, int i, int j) {
        for (int part = 0; part < parts; ++part) {
            acc.clear();
            memory.sum[e][part].move_to(acc);
            finish(context, block.p + i, block.s + j, part, acc);
        }
    });
}

double non_finite_row(const product_problem& x, ptrdiff_t item, ptrdiff_t p0, ptrdiff_t s0,
                      ptrdiff_t part) {
    double sum = 0.0;
    auto term = [&](double a, double b) {
        if (!is_finite(a) || !is_finite(b))
            sum = one_sum(sum, one_prod(a, b));
    };
    for (ptrdiff_t k = 0; k < x.k; ++k) {
        const double *p = x.p.at(item, p0, k), *s = x.s.at(item, s0, k);
        if (!x.is_complex) {
            term(*p, *s);
            continue;
        }
        const double a = *p, b = p[x.p.imag] * x.p.sign, c = *s, d = s[x.s.imag] * x.s.sign;
        if (part == 0) {
            term(a, c);
            term(-b, d);
        } else {
            term(a, d);
            term(b, c);
        }
    }
    return sum;
}

MDQR_END

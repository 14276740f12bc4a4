// Sums with the lanes along k, for products with one row on the scalar side: matrix times vector,
// dot products. Digit sums are exact, so the result is that of the tile with lanes along the rows.
// Carry-save sums are not: they take this way for single dot products alone, with 8 virtual lanes
// (element k goes to lane k mod 8) and a fixed tree.
#pragma once
#include "level/level.hpp"

#include "products/matmul_engine.hpp"
#include "products/matmul_operand.hpp"
#include "products/matmul_pack.hpp"

MDQR_BEGIN

// Sums of `rows_p` rows with `rows_s` rows, D digits each.
template <int D> class row_sums {
public:
    static constexpr int L = lanes<lane>, W = D, state_words = D + 1;

    // Words of working memory.
    static ptrdiff_t memory(ptrdiff_t rows_p, ptrdiff_t rows_s, int parts) {
        return block * W * L * (1 + rows_s * parts) + rows_p * rows_s * parts * state_words * L;
    }

    row_sums(ptrdiff_t rows_p, ptrdiff_t rows_s, int parts, double* to)
        : rows_p(rows_p), rows_s(rows_s), parts(parts), pack_p(to), pack_s(to + block * W * L),
          states(pack_s + rows_s * parts * block * W * L) {
        for (ptrdiff_t i = 0; i < rows_p * rows_s * parts * state_words * L; ++i)
            states[i] = 0.0;
    }

    // += the elements from p and s on, `k` of each row.
    template <int N>
    void add(const operand& p, const double* from_p, const row_scales& scale_p, const operand& s,
             const double* from_s, const row_scales& scale_s, ptrdiff_t k) {
        for (ptrdiff_t k0 = 0; k0 < k; k0 += block / parts * L) {
            const ptrdiff_t left = k - k0 < block / parts * L ? k - k0 : block / parts * L;
            const int terms = int((left + L - 1) / L) * parts;
            int used_s[row_scales::capacity];
            for (ptrdiff_t r = 0; r < rows_s; ++r)
                used_s[r] = pack_scalars<N>(s, from_s + r * s.row + k0 * s.step, left, scale_s, r);
            double* state = states;
            for (ptrdiff_t i = 0; i < rows_p; ++i) {
                const int used =
                    pack<N>(p, from_p + i * p.row + k0 * p.step, left, scale_p, i, pack_p);
                for (ptrdiff_t r = 0; r < rows_s * parts; ++r, state += state_words * L)
                    digit_engine<D>::template add<lane>(pack_p, used, pack_s + r * block * W * L,
                                                        used_s[r / parts], terms, state);
            }
        }
    }

    // The sum of the lanes of row i with row s (counted with its parts), `apart` words.
    void get(ptrdiff_t i, ptrdiff_t s, double* to, ptrdiff_t apart) const {
        const double* state = states + (i * rows_s * parts + s) * state_words * L;
        i64 total[D + 1];
        for (int w = 0; w <= D; ++w) {
            total[w] = 0;
            for (int l = 0; l < L; ++l)
                total[w] += bits(state[w * L + l]);
        }
        carry_words<D>(total);
        for (int w = 0; w <= D; ++w)
            to[w * apart] = from_bits(total[w]);
    }

private:
    static constexpr ptrdiff_t block = digit_engine<D>::few_terms; // vectors
    const ptrdiff_t rows_p, rows_s;
    const int parts;
    double *pack_p, *pack_s, *states;

    template <int N>
    int pack(const operand& x, const double* from, ptrdiff_t count, const row_scales& scale,
             ptrdiff_t row, double* to) const {
        return pack_vectors<digit_engine<D>, N>({x, from, x.step, (count + L - 1) / L, L * x.step,
                                                 1, count, L, scale.first + row, scale.second + row,
                                                 true, parts, x.row},
                                                to);
    }

    // Rows (re, -im) and (im, re) of S meet (re, im) of P.
    template <int N>
    int pack_scalars(const operand& x, const double* from, ptrdiff_t count, const row_scales& scale,
                     ptrdiff_t row) const {
        double* re = pack_s + row * parts * block * W * L;
        const int used = pack<N>(x, from, count, scale, row, re);
        if (parts == 1)
            return used;
        double* im = re + block * W * L;
        for (ptrdiff_t t = 0; t < (count + L - 1) / L; ++t, re += 2 * W * L, im += 2 * W * L)
            for (int i = 0; i < W * L; ++i) {
                im[W * L + i] = re[i];
                im[i] = re[W * L + i];
                re[W * L + i] = -re[W * L + i];
            }
        return used;
    }
};

// Dot products for N = 2. With T = ceil(K / 8) terms a lane the error is that of T terms (see
// carry_save_engine) plus 3 * 3 u^2 for the tree, which is within (K + 8) eps for all K.
template <int P> class carry_save_dot {
public:
    static constexpr int L = lanes<lane>, vectors = 8 / L;

    carry_save_dot() {
        for (int v = 0; v < vectors; ++v) {
            sum[v].clear();
            total[v] = from_double<lane, 2>(broadcast<lane>(0.0));
        }
    }

    MDQR_FN void add(int v, const md<lane, 2> (&x)[P], const md<lane, 2> (&y)[P]) {
        sum[v].add(x, y);
    }

    MDQR_FN void fold() {
        for (int v = 0; v < vectors; ++v)
            sum[v].move_to(total[v]);
    }

    md<double, 2> result() {
        fold();
        md<double, 2> x[8];
        for (int i = 0; i < 8; ++i)
            x[i] = lane_of(total[i / L], i % L);
        for (int half = 4; half > 0; half /= 2)
            for (int i = 0; i < half; ++i)
                x[i] = add_network(x[i], x[i + half]);
        return x[0];
    }

private:
    carry_save<lane, P> sum[vectors];
    md<lane, 2> total[vectors];
};

// The dot product of a row of p and one of q (their elements from `from_p` and `from_q` on), real
// and imaginary part.
template <int Parts>
void dot_product(const operand& p, const double* from_p, const lane* scale_p, const operand& q,
                 const double* from_q, const lane* scale_q, ptrdiff_t count, md<double, 2>* part) {
    constexpr int L = lanes<lane>;
    carry_save_dot<Parts> sum[Parts];
    const ptrdiff_t steps = fold_length((count + 7) / 8 * Parts, Parts == 2) / Parts;
    auto take = [&](const operand& x, const double* from, const lane* scale, ptrdiff_t at,
                    md<lane, 2>(&values)[Parts]) MDQR_LAMBDA {
        static_for<0, Parts>([&](auto i) MDQR_LAMBDA {
            const lane first = i == 0 ? scale[0] : scale[0] * broadcast<lane>(x.sign);
            gather_scaled<2>(x, from + at * x.step + i * x.imag, x.step, count - at, first,
                             scale[1], values[i].limb);
        });
    };
    for (ptrdiff_t k = 0, step = 1; k < count; k += 8, ++step) {
        for (int v = 0; v < sum[0].vectors && k + v * L < count; ++v) {
            md<lane, 2> x[Parts], y[Parts];
            take(p, from_p, scale_p, k + v * L, x);
            take(q, from_q, scale_q, k + v * L, y);
            if constexpr (Parts == 2) {
                sum[1].add(v, x, {y[1], y[0]});
                x[1] = neg(x[1]);
            }
            sum[0].add(v, x, y);
        }
        if (step % steps == 0)
            for (auto& one : sum)
                one.fold();
    }
    for (int i = 0; i < Parts; ++i)
        part[i] = sum[i].result();
}

MDQR_END

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
struct carry_save_dot {
    static constexpr int L = lanes<lane>, vectors = 8 / L;

    lane s[vectors], t[vectors];
    md<lane, 2> total[vectors];

    carry_save_dot() {
        for (int v = 0; v < vectors; ++v)
            s[v] = t[v] = total[v].limb[0] = total[v].limb[1] = broadcast<lane>(0.0);
    }

    MDQR_FN void add(int v, const lane* x, const lane* y, lane sign) {
        carry_save_term(s[v], t[v], x[0] * sign, x[1] * sign, y[0], y[1]);
    }

    MDQR_FN void fold() {
        for (int v = 0; v < vectors; ++v) {
            carry_save_fold(s[v], t[v], total[v]);
            s[v] = t[v] = broadcast<lane>(0.0);
        }
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

    // The dot product of row p and row s (their elements from `from_p` and `from_s` on), real and
    // imaginary part.
    static void run(const operand& p, const double* from_p, const lane* scale_p, const operand& q,
                    const double* from_q, const lane* scale_q, ptrdiff_t count, int parts,
                    md<double, 2>* part) {
        carry_save_dot sum[2];
        const lane plus = broadcast<lane>(1.0), minus = broadcast<lane>(-1.0);
        const lane sign_p = broadcast<lane>(p.sign), sign_q = broadcast<lane>(q.sign);
        const ptrdiff_t steps = fold_length((count + 7) / 8 * parts, parts == 2) / parts;
        for (ptrdiff_t k = 0, step = 1; k < count; k += 8, ++step) {
            for (int v = 0; v < vectors && k + v * L < count; ++v) {
                const ptrdiff_t at = k + v * L, rest = count - at;
                lane a[2], b[2], c[2], d[2];
                gather_scaled<2>(p, from_p + at * p.step, p.step, rest, scale_p[0], scale_p[1], a);
                gather_scaled<2>(q, from_q + at * q.step, q.step, rest, scale_q[0], scale_q[1], c);
                sum[0].add(v, a, c, plus);
                if (parts == 1)
                    continue;
                gather_scaled<2>(p, from_p + at * p.step + p.imag, p.step, rest,
                                 scale_p[0] * sign_p, scale_p[1], b);
                gather_scaled<2>(q, from_q + at * q.step + q.imag, q.step, rest,
                                 scale_q[0] * sign_q, scale_q[1], d);
                sum[0].add(v, b, d, minus);
                sum[1].add(v, a, d, plus);
                sum[1].add(v, b, c, plus);
            }
            if (step % steps == 0)
                for (int i = 0; i < parts; ++i)
                    sum[i].fold();
        }
        for (int i = 0; i < parts; ++i)
            part[i] = sum[i].result();
    }
};

MDQR_END

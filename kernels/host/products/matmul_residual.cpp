// Residuals, products of twice the accuracy added to given terms and rounded once, for one level
// and limb count.
#include "level/level.hpp"

#include "products/accumulator.hpp"
#include "module/entries.hpp"

MDQR_BEGIN

template <int N> class residual_tile {
public:
    residual_tile(const product_problem& x, const block_view& out, const block_view* terms,
                  const int* signs, int count, bool swapped)
        : x(x), out(out), terms(terms), signs(signs), count(count), swapped(swapped) {}

    void run(ptrdiff_t item, ptrdiff_t p0, ptrdiff_t rows_p, ptrdiff_t s0, ptrdiff_t rows_s,
             unserved_elements& rest) const {
        product_tile<engine> tile(x, item, p0, rows_p, s0, rows_s);
        tile.template accumulate<N>();
        const int limit = span_limit<D, 2 * eps_bits<N>> - (x.is_complex ? 2 : 0);
        for (ptrdiff_t v = 0; v * L < rows_p; ++v)
            for (ptrdiff_t s = 0; s < rows_s; ++s) {
                const mask_t<lane> served = tile.served(v, s, limit);
                for (ptrdiff_t part = 0; part < (x.is_complex ? 2 : 1); ++part)
                    for (ptrdiff_t i = 0; i < tile.count(v); ++i)
                        finish(tile, {item, p0 + v * L + i, s0 + s, part}, mask_get(served, int(i)),
                               v, s, i, rest);
            }
    }

    // The terms less a product.
    void put(ptrdiff_t item, ptrdiff_t p, ptrdiff_t s, ptrdiff_t part, superacc& product) const {
        product.negate();
        put({item, p, s, part}, product);
    }

private:
    static constexpr int D = residual_digits<N>, L = lanes<lane>;
    using engine = digit_engine<D>;
    struct place {
        ptrdiff_t item, p, s, part;
    };

    const product_problem& x;
    const block_view& out;
    const block_view* terms;
    const int* signs;
    const int count;
    const bool swapped;

    ptrdiff_t offset(const block_view& v, const place& at) const {
        const ptrdiff_t row = swapped ? at.s : at.p, column = swapped ? at.p : at.s;
        return at.item * v.stride[0] + row * v.stride[1] + column * v.stride[2] + at.part * v.imag;
    }

    void finish(product_tile<engine>& tile, const place& at, bool served, ptrdiff_t v, ptrdiff_t s,
                ptrdiff_t i, unserved_elements& rest) const {
        const ptrdiff_t row = v * L + i;
        superacc acc;
        if (!tile.scale_p.finite[row] || !tile.scale_s.finite[s]) {
            acc.add(-non_finite_row(x, at.item, at.p, at.s, at.part));
        } else if (!served) {
            return rest.mark(row, s);
        } else {
            const double* word = tile.state(v, s, at.part) + i;
            const int e = tile.scale_p.e[row] + tile.scale_s.e[s] + 4;
            for (int k = 0; k <= D; ++k) {
                const i64 w = bits(word[k * L]);
                if (w != 0)
                    acc.add_scaled(-w, e - 51 * k);
            }
        }
        put(at, acc);
    }

    void put(const place& at, superacc& acc) const {
        for (int t = 0; t < count; ++t) {
            const double* from = terms[t].data + offset(terms[t], at);
            for (int l = 0; l < terms[t].limbs; ++l)
                acc.add(signs[t] < 0 ? -from[l * terms[t].plane] : from[l * terms[t].plane]);
        }
        double limb[N];
        acc.round(limb);
        double* to = out.data + offset(out, at);
        for (int l = 0; l < N; ++l)
            to[l * out.plane] = limb[l];
    }
};

template <int N>
void mdqr_residual(const block_view& out, const block_view* terms, const int* signs, int count,
                   const block_view& a, const block_view& b, bool conj_a) {
    const ptrdiff_t m = out.shape[1], n = out.shape[2];
    if (m == 0 || n == 0 || out.shape[0] == 0)
        return;
    const bool swapped = lanes_along_columns(m, n);
    const product_problem x = make_problem(a, b, conj_a, false, out, 4 * N * N);
    const residual_tile<N> residual(x, out, terms, signs, count, swapped);
    std::vector<unserved_block> list;
    std::mutex lock;
    for_each_tile(
        x, [&](ptrdiff_t item, ptrdiff_t p0, ptrdiff_t rows_p, ptrdiff_t s0, ptrdiff_t rows_s) {
            unserved_elements rest;
            residual.run(item, p0, rows_p, s0, rows_s, rest);
            rest.append_to(list, lock, item, p0, s0, x.k);
        });
    accumulate_each(x, list,
                    [&](ptrdiff_t item, ptrdiff_t p, ptrdiff_t s, ptrdiff_t part,
                        superacc& product) { residual.put(item, p, s, part, product); });
}

template void mdqr_residual<MDQR_LIMBS>(const block_view&, const block_view*, const int*, int,
                                        const block_view&, const block_view&, bool);

MDQR_END

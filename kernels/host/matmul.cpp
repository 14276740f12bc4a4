// Matrix products for one level (MDQR_LEVEL) and limb count (MDQR_LIMBS); see matmul_tile.hpp.
#include "level.hpp"

#include "matmul_exact.hpp"
#include "networks.hpp"
#include "products.hpp"

MDQR_BEGIN

template <int N> struct product_method {
    using engine = digit_engine<result_digits<N>>;
    // Complex sums have twice the terms, and the modulus of an error is up to sqrt 2 times that of
    // a part.
    static int limit(bool is_complex) {
        return span_limit<result_digits<N>, eps_bits<N>> - (is_complex ? 2 : 0);
    }
};

template <> struct product_method<2> {
    using engine = carry_save_engine;
    // Products that leave the range of doubles lose at most 5 * 2^-1074 a term.
    static int limit(bool) { return 900; }
};

template <int N> class matmul_tile {
public:
    matmul_tile(const product_problem& x, const block_view& out, const block_view* c, bool subtract,
                bool swapped)
        : x(x), out(out), c(c), subtract(subtract), swapped(swapped) {}

    void run(ptrdiff_t item, ptrdiff_t p0, ptrdiff_t rows_p, ptrdiff_t s0, ptrdiff_t rows_s) {
        product_tile<engine> tile(x, item, p0, rows_p, s0, rows_s);
        tile.template accumulate<N>();
        for (ptrdiff_t v = 0; v * L < rows_p; ++v)
            for (ptrdiff_t s = 0; s < rows_s; ++s)
                finish(tile, item, p0, s0, v, s);
    }

private:
    using engine = typename product_method<N>::engine;
    static constexpr int L = lanes<lane>;
    const product_problem& x;
    const block_view& out;
    const block_view* c;
    const bool subtract, swapped;

    void finish(product_tile<engine>& tile, ptrdiff_t item, ptrdiff_t p0, ptrdiff_t s0, ptrdiff_t v,
                ptrdiff_t s) {
        const ptrdiff_t p = p0 + v * L;
        const mask_t<lane> served = tile.served(v, s, product_method<N>::limit(x.is_complex));
        for (ptrdiff_t part = 0; part < (x.is_complex ? 2 : 1); ++part) {
            md<lane, N> r = engine::template result<N>(tile.state(v, s, part));
            r = unscaled(r, tile.scale_p.e + v * L, tile.scale_s.e[s] + 2);
            if (any(!served))
                for (ptrdiff_t i = 0; i < tile.count(v); ++i)
                    if (!mask_get(served, int(i))) {
                        const bool finite =
                            tile.scale_p.finite[v * L + i] && tile.scale_s.finite[s];
                        set_lane_of(r, int(i), single(item, p + i, s0 + s, part, finite));
                    }
            put(item, p, s0 + s, part, tile.count(v), r);
        }
    }

    __attribute__((noinline)) md<double, N> single(ptrdiff_t item, ptrdiff_t p, ptrdiff_t s,
                                                   ptrdiff_t part, bool finite) const {
        if (!finite)
            return from_double<double, N>(special_row(x, item, p, s, part));
        superacc acc;
        add_exact_row(acc, x, item, p, s, part, 1.0);
        md<double, N> r;
        acc.round(r.limb);
        return r;
    }

    void put(ptrdiff_t item, ptrdiff_t p, ptrdiff_t s, ptrdiff_t part, ptrdiff_t count,
             md<lane, N> r) const {
        const ptrdiff_t along = swapped ? 2 : 1, across = swapped ? 1 : 2;
        if (c != nullptr) {
            const double* from = c->data + item * c->stride[0] + p * c->stride[along] +
                                 s * c->stride[across] + part * c->imag;
            md<lane, N> start;
            static_for<0, N>([&](auto i) MDQR_LAMBDA {
                start.limb[i] = i < c->limbs ? gather(from + i * c->plane, c->stride[along], count)
                                             : broadcast<lane>(0.0);
            });
            r = subtract ? sub(start, r) : add(start, r);
        } else if (subtract) {
            r = sub(from_double<lane, N>(broadcast<lane>(0.0)), r);
        }
        double* to = out.data + item * out.stride[0] + p * out.stride[along] +
                     s * out.stride[across] + part * out.imag;
        static_for<0, N>([&](auto i) MDQR_LAMBDA {
            scatter(to + i * out.plane, out.stride[along], count, r.limb[i]);
        });
    }
};

template <int N>
void mdqr_matmul(const block_view& out, const block_view* c, const block_view& a,
                 const block_view& b, bool conj_a, bool conj_b, bool subtract) {
    const ptrdiff_t m = out.shape[1], n = out.shape[2];
    if (m == 0 || n == 0 || out.shape[0] == 0)
        return;
    const bool swapped = lanes_along_columns(m, n);
    const product_problem x = make_problem(a, b, conj_a, conj_b, out);
    for_each_tile(
        x, [&](ptrdiff_t item, ptrdiff_t p0, ptrdiff_t rows_p, ptrdiff_t s0, ptrdiff_t rows_s) {
            matmul_tile<N>(x, out, c, subtract, swapped).run(item, p0, rows_p, s0, rows_s);
        });
}

template void mdqr_matmul<MDQR_LIMBS>(const block_view&, const block_view*, const block_view&,
                                      const block_view&, bool, bool, bool);

MDQR_END

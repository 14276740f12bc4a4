// Matrix products for one level (MDQR_LEVEL) and limb count (MDQR_LIMBS); see
// products/matmul_tile.hpp.
#include "level/level.hpp"

#include "products/accumulator.hpp"
#include "level/networks.hpp"
#include "module/entries.hpp"

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

    void run(ptrdiff_t item, ptrdiff_t p0, ptrdiff_t rows_p, ptrdiff_t s0, ptrdiff_t rows_s,
             unserved_elements& rest) const {
        product_tile<engine> tile(x, item, p0, rows_p, s0, rows_s);
        tile.template accumulate<N>();
        for (ptrdiff_t v = 0; v * L < rows_p; ++v)
            for (ptrdiff_t s = 0; s < rows_s; ++s)
                finish(tile, item, p0, s0, v, s, rest);
    }

    void put_accumulated(ptrdiff_t item, ptrdiff_t p, ptrdiff_t s, ptrdiff_t part,
                         superacc& sum) const {
        md<double, N> one;
        sum.round(one.limb);
        md<lane, N> r = from_double<lane, N>(broadcast<lane>(0.0));
        set_lane_of(r, 0, one);
        put(item, p, s, part, 1, r);
    }

private:
    using engine = typename product_method<N>::engine;
    static constexpr int L = lanes<lane>;
    const product_problem& x;
    const block_view& out;
    const block_view* c;
    const bool subtract, swapped;

    void finish(product_tile<engine>& tile, ptrdiff_t item, ptrdiff_t p0, ptrdiff_t s0, ptrdiff_t v,
                ptrdiff_t s, unserved_elements& rest) const {
        const ptrdiff_t p = p0 + v * L;
        const mask_t<lane> served = tile.served(v, s, product_method<N>::limit(x.is_complex));
        const bool all_served = !any(!served);
        for (ptrdiff_t part = 0; part < (x.is_complex ? 2 : 1); ++part) {
            md<lane, N> r = engine::template result<N>(tile.state(v, s, part));
            r = unscaled(r, tile.scale_p.e + v * L, tile.scale_s.e[s] + 2);
            if (all_served)
                put(item, p, s0 + s, part, tile.count(v), r);
            else
                for (int i = 0; i < tile.count(v); ++i)
                    finish_one(tile, {item, p + i, s0 + s, part}, v, s, i, mask_get(served, i), r,
                               rest);
        }
    }

    struct place {
        ptrdiff_t item, p, s, part;
    };

    // Lane i of r, or what stands for it.
    __attribute__((noinline)) void finish_one(const product_tile<engine>& tile, const place& at,
                                              ptrdiff_t v, ptrdiff_t s, int i, bool served,
                                              const md<lane, N>& r, unserved_elements& rest) const {
        const bool finite = tile.scale_p.finite[v * L + i] && tile.scale_s.finite[s];
        if (!served && finite)
            return rest.mark(v * L + i, s);
        const md<double, N> one =
            served ? lane_of(r, i)
                   : from_double<double, N>(non_finite_row(x, at.item, at.p, at.s, at.part));
        md<lane, N> alone = from_double<lane, N>(broadcast<lane>(0.0));
        set_lane_of(alone, 0, one);
        put(at.item, at.p, at.s, at.part, 1, alone);
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
    const product_problem x = make_problem(a, b, conj_a, conj_b, out, N * N);
    const matmul_tile<N> product(x, out, c, subtract, swapped);
    std::vector<unserved_block> list;
    std::mutex lock;
    for_each_tile(
        x, [&](ptrdiff_t item, ptrdiff_t p0, ptrdiff_t rows_p, ptrdiff_t s0, ptrdiff_t rows_s) {
            unserved_elements rest;
            product.run(item, p0, rows_p, s0, rows_s, rest);
            rest.append_to(list, lock, item, p0, s0, x.k);
        });
    accumulate_each(x, list,
                    [&](ptrdiff_t item, ptrdiff_t p, ptrdiff_t s, ptrdiff_t part, superacc& sum) {
                        product.put_accumulated(item, p, s, part, sum);
                    });
}

template void mdqr_matmul<MDQR_LIMBS>(const block_view&, const block_view*, const block_view&,
                                      const block_view&, bool, bool, bool);

MDQR_END

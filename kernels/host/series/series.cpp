// Orders of products of series for one level (MDQR_LEVEL) and limb count (MDQR_LIMBS); see
// mdqr/series.hpp for the order of the sums.
#include "level/elements.hpp"

#include "level/networks.hpp"
#include "mdqr/series.hpp"
#include "module/entries.hpp"

MDQR_BEGIN

namespace {

// Coefficients that follow each other by `step`; those from `count` on are zeros.
template <int N>
MDQR_FN md<lane, N> take_lanes(const block_view& x, const double* from, ptrdiff_t step,
                               ptrdiff_t count) {
    md<lane, N> r;
    for (int l = 0; l < N; ++l) {
        alignas(64) double buffer[host_lanes];
        for (int i = 0; i < host_lanes; ++i)
            buffer[i] = i < count ? from[l * x.plane + i * step] : 0.0;
        r.limb[l] = load<lane>(buffer);
    }
    return r;
}

template <class Number> struct lanes_of;
template <int N> struct lanes_of<md<double, N>> {
    using type = md<lane, N>;
    static type take(const block_view& x, ptrdiff_t at, ptrdiff_t step, ptrdiff_t count) {
        return take_lanes<N>(x, x.data + at, step, count);
    }
    static md<double, N> one(const block_view& x, ptrdiff_t at) { return load_one<N>(x, at); }
    static void put(const block_view& x, ptrdiff_t at, const md<double, N>& r) {
        store_one<N>(x, at, r);
    }
};
template <int N> struct lanes_of<cmd<double, N>> {
    using type = cmd<lane, N>;
    using real = lanes_of<md<double, N>>;
    static type take(const block_view& x, ptrdiff_t at, ptrdiff_t step, ptrdiff_t count) {
        return {real::take(x, at, step, count), real::take(x, at + x.imag, step, count)};
    }
    static cmd<double, N> one(const block_view& x, ptrdiff_t at) {
        return {load_one<N>(x, at), load_one<N>(x, at + x.imag)};
    }
    static void put(const block_view& x, ptrdiff_t at, const cmd<double, N>& r) {
        store_one<N>(x, at, r.re);
        store_one<N>(x, at + x.imag, r.im);
    }
};

template <class Number> class series_products {
public:
    static constexpr int N = Number::limbs, vectors = series_lanes / host_lanes;
    using io = lanes_of<Number>;

    series_products(const block_view& values, const block_view& sums, const series_graph& graph,
                    ptrdiff_t order)
        : values(values), sums(sums), graph(graph), order(order) {}

    ptrdiff_t items() const { return values.shape[0]; }
    ptrdiff_t products() const { return graph.products; }

    void sum_inner(ptrdiff_t item, ptrdiff_t product) const {
        typename io::type sum[vectors]{};
        const ptrdiff_t step = values.stride[2];
        const ptrdiff_t left = at(item, graph.left[product], 1),
                        right = at(item, graph.right[product], order - 1);
        for (ptrdiff_t j = 0; j < order - 1; j += series_lanes)
            for (int v = 0; v < vectors; ++v) {
                const ptrdiff_t k = j + v * host_lanes, count = order - 1 - k;
                if (order - 1 > v * host_lanes)
                    add_series_term(sum[v], io::take(values, left + k * step, step, count),
                                    io::take(values, right - k * step, -step, count));
            }
        Number one[series_lanes];
        for (int i = 0; i < series_lanes; ++i)
            one[i] = lane_of(sum[i / host_lanes], i % host_lanes);
        for (int half = series_lanes / 2; half > 0; half /= 2)
            for (int i = 0; i < half; ++i)
                one[i] = series_sum(one[i], one[i + half]);
        io::put(sums, item * sums.stride[0] + product * sums.stride[1], one[0]);
    }

    void add_ends(ptrdiff_t item, ptrdiff_t product) const {
        const series_ends<Number> left = ends(item, graph.left[product]),
                                  right = ends(item, graph.right[product]);
        Number sum = io::one(sums, item * sums.stride[0] + product * sums.stride[1]);
        // All products of the ends at once, in lanes.
        constexpr int most = 8, groups = (most + host_lanes - 1) / host_lanes;
        md<lane, N> x[groups]{}, y[groups]{};
        int part[most], count = 0;
        for_end_terms(left, right, order == 0,
                      [&](int p, const md<double, N>& a, const md<double, N>& b) {
                          set_lane_of(x[count / host_lanes], count % host_lanes, a);
                          set_lane_of(y[count / host_lanes], count % host_lanes, b);
                          part[count++] = p;
                      });
        for (int g = 0; g * host_lanes < count; ++g)
            x[g] = mul_network(x[g], y[g]);
        for (int i = 0; i < count; ++i) {
            md<double, N>& to = part_of(sum, part[i]);
            to = series_sum(to, lane_of(x[i / host_lanes], i % host_lanes));
        }
        finish_order(sum);
        io::put(values, at(item, graph.first + product, order), sum);
    }

private:
    const block_view &values, &sums;
    const series_graph& graph;
    ptrdiff_t order;

    ptrdiff_t at(ptrdiff_t item, ptrdiff_t node, ptrdiff_t k) const {
        return item * values.stride[0] + node * values.stride[1] + k * values.stride[2];
    }
    series_ends<Number> ends(ptrdiff_t item, ptrdiff_t node) const {
        return {io::one(values, at(item, node, 0)), io::one(values, at(item, node, order))};
    }
};

// Waking a thread costs as much as so many real products of inner terms.
constexpr ptrdiff_t worth_waking = 1024;

template <class Number> void run_order(const series_products<Number>& p, bool again, int order) {
    const ptrdiff_t terms = Number::limbs * Number::limbs * ptrdiff_t(order + 8) * p.products();
    const auto one = [&](ptrdiff_t item, bool inner) {
        if (inner)
            for (ptrdiff_t i = 0; i < p.products(); ++i)
                p.sum_inner(item, i);
        for (ptrdiff_t i = 0; i < p.products(); ++i)
            p.add_ends(item, i);
    };
    if (p.items() * terms < 64 * worth_waking) {
        for (ptrdiff_t item = 0; item < p.items(); ++item)
            one(item, !again);
        return;
    }
    if (p.items() > 1 || again) {
        parallel_for(p.items(), [&](ptrdiff_t item) { one(item, !again); });
        return;
    }
    parallel_for(p.products(), [&](ptrdiff_t i) { p.sum_inner(0, i); });
    one(0, false);
}

} // namespace

template <int N>
void mdqr_series_order(const block_view& values, const block_view& sums, const series_graph& graph,
                       int order, bool again) {
    if (values.imag != 0)
        run_order(series_products<cmd<double, N>>(values, sums, graph, order), again, order);
    else
        run_order(series_products<md<double, N>>(values, sums, graph, order), again, order);
}

template void mdqr_series_order<MDQR_LIMBS>(const block_view&, const block_view&,
                                            const series_graph&, int, bool);

MDQR_END

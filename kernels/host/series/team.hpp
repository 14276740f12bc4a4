// One thread with its lanes as the team of mdqr/series_steps.hpp.
#pragma once
#include "level/networks.hpp"
#include "mdqr/series_steps.hpp"

MDQR_BEGIN

namespace series {

template <class Number> struct lanes_of;
template <int N> struct lanes_of<md<double, N>> {
    using type = md<lane, N>;
    // Lanes from `held` on are zeros.
    static type take(const view& x, const i64* offset, int held) {
        bool is_run = held == host_lanes;
        for (int i = 1; i < held; ++i)
            is_run = is_run && offset[i] == offset[0] + i;
        type r;
        for (int l = 0; l < N; ++l) {
            const double* plane = x.data + l * x.plane;
            if (is_run) {
                r.limb[l] = mdqr::load<lane>(plane + offset[0]);
                continue;
            }
            alignas(64) double buffer[host_lanes];
            for (int i = 0; i < host_lanes; ++i)
                buffer[i] = i < held ? plane[offset[i]] : 0.0;
            r.limb[l] = mdqr::load<lane>(buffer);
        }
        return r;
    }
};
template <int N> struct lanes_of<cmd<double, N>> {
    using type = cmd<lane, N>;
    using real = lanes_of<md<double, N>>;
    static type take(const view& x, const i64* offset, int held) {
        view imag = x;
        imag.data += x.imag;
        return {real::take(x, offset, held), real::take(imag, offset, held)};
    }
};

template <class Number> struct host_team {
    using number = Number;
    using io = lanes_of<Number>;
    static constexpr int N = Number::limbs, vectors = series_lanes / host_lanes;

    void sync() const {}

    template <class Sums> void dots(i64 from, i64 to, const Sums& sums) const {
        for (i64 i = from; i < to; ++i)
            sums.put(i, dot(i, sums));
    }

    // All products of the ends at once, in lanes; products come in an order that serves.
    template <class Start, class Put>
    void ends(const graph& products, const end_places& places, bool is_first, Start start,
              Put put) const {
        const auto of = [&](i64 node) {
            return series_ends<Number>{load<Number>(places.first, places.first_of(node)),
                                       load<Number>(places.last, places.last_of(node))};
        };
        constexpr int most = 8, groups = (most + host_lanes - 1) / host_lanes;
        for (i64 i = 0; i < products.products; ++i) {
            md<lane, N> x[groups]{}, y[groups]{};
            int part[most], count = 0;
            for_end_terms(of(products.left[i]), of(products.right[i]), is_first,
                          [&](int p, const md<double, N>& a, const md<double, N>& b) {
                              set_lane_of(x[count / host_lanes], count % host_lanes, a);
                              set_lane_of(y[count / host_lanes], count % host_lanes, b);
                              part[count++] = p;
                          });
            for (int g = 0; g * host_lanes < count; ++g)
                x[g] = mul_network(x[g], y[g]);
            for (int p = 0; p < number_parts<Number>; ++p) {
                md<double, N> sum = start(i, p);
                for (int k = 0; k < count; ++k)
                    if (part[k] == p)
                        sum = series_sum(sum, lane_of(x[k / host_lanes], k % host_lanes));
                put(i, p, sum);
            }
        }
    }

private:
    template <class Sums> Number dot(i64 i, const Sums& sums) const {
        const i64 count = sums.count(i);
        typename io::type sum[vectors]{};
        for (i64 j = 0; j < count; j += series_lanes)
            for (int v = 0; v < vectors; ++v) {
                const i64 first = j + v * host_lanes, left = count - first;
                if (count <= v * host_lanes)
                    break;
                const int held = int(left < 0 ? 0 : left < host_lanes ? left : host_lanes);
                i64 x[host_lanes], y[host_lanes];
                for (int k = 0; k < held; ++k) {
                    const term t = sums.place(i, first + k);
                    x[k] = t.left;
                    y[k] = t.right;
                }
                add_series_term(sum[v], io::take(sums.x, x, held), io::take(sums.y, y, held));
            }
        Number one[series_lanes];
        for (int k = 0; k < series_lanes; ++k)
            one[k] = lane_of(sum[k / host_lanes], k % host_lanes);
        for (int half = series_lanes / 2; half > 0; half /= 2)
            for (int k = 0; k < half; ++k)
                if (k + half < count)
                    one[k] = series_sum(one[k], one[k + half]);
        return one[0];
    }
};

} // namespace series

MDQR_END

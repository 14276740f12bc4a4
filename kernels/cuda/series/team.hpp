// The threads of a block as the team of mdqr/series_steps.hpp: eight to a sum of products, one to
// the ends of a product.
#pragma once
#include "mdqr/config.hpp"

// Calls save registers, which takes longer than a network of few limbs.
#if MDQR_LIMBS <= 2
#undef MDQR_CALL
#define MDQR_CALL MDQR_FN
#endif
#include "mdqr/series_steps.hpp"

#include "device/device.hpp"
#include "device/views.hpp"

MDQR_BEGIN

namespace series {

inline constexpr int team_threads = 64, team_sums = team_threads / series_lanes;

struct block_team {
    using number = mdqr::number;

    MDQR_FN void sync() const { sync_threads(); }

    template <class F> MDQR_FN void layers(const graph& products, F f) const {
        for (i64 layer = 0; layer < products.layers; ++layer) {
            const i64 end = products.layer[layer + 1];
            for (i64 i = products.layer[layer] + thread_index(); i < end; i += team_threads)
                f(i);
            sync();
        }
    }

    template <class Sums> MDQR_FN void dots(i64 from, i64 to, const Sums& sums) const {
        const int lane = thread_index() % series_lanes;
        // All lanes of a warp exchange their sums.
        for (i64 first = from; first < to; first += team_sums) {
            const i64 i = first + thread_index() / series_lanes;
            const i64 count = i < to ? sums.count(i) : 0;
            number sum{};
            for (i64 j = lane; j < count; j += series_lanes) {
                const term t = sums.place(i, j);
                add_series_term(sum, load<number>(sums.x, t.left), load<number>(sums.y, t.right));
            }
            for (int half = series_lanes / 2; half > 0; half /= 2) {
                const number other = shuffle_xor(sum, half);
                if (lane < half && lane + half < count)
                    sum = series_sum(sum, other);
            }
            if (lane == 0 && i < to)
                sums.put(i, sum);
        }
    }

    MDQR_FN void add_end_terms(number& sum, const series_ends<number>& left,
                               const series_ends<number>& right, bool is_first) const {
        for_end_terms(left, right, is_first,
                      [&](int part, const real_number& x, const real_number& y)
                          MDQR_LAMBDA { add_series_term(part_of(sum, part), x, y); });
    }
};

} // namespace series

MDQR_END

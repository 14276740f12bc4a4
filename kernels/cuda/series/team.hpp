// The threads of a block as the team of mdqr/series_steps.hpp: eight to a sum of products, one to
// each of the real products that the ends of a product are.
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

    template <class Sums> MDQR_FN void dots(i64 from, i64 to, const Sums& sums) const {
        const int lane = thread_index() % series_lanes;
        // All lanes of a warp exchange their sums.
        for (i64 first = from; first < to; first += team_sums) {
            const i64 i = first + thread_index() / series_lanes;
            const i64 count = i < to ? sums.count(i) : 0;
            number sum{};
            // Of the last terms all lanes add one, if only zero, as the lanes of a vector do.
            for (i64 j = lane; j < count + lane; j += series_lanes) {
                number x{}, y{};
                if (j < count) {
                    const term t = sums.place(i, j);
                    x = load<number>(sums.x, t.left);
                    y = load<number>(sums.y, t.right);
                }
                add_series_term(sum, x, y);
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

    // A thread a product of real numbers, in the order of `for_end_terms`; the first threads of a
    // group add them, one for each part.
    template <class Start, class Put>
    MDQR_FN void ends(const graph& products, const end_places& places, bool is_first, Start start,
                      Put put) const {
        const int lane = thread_index() % end_lanes, group = thread_index() % warp_lanes - lane;
        for (i64 layer = 0; layer < products.layers; ++layer) {
            const i64 end = products.layer[layer + 1];
            // All threads of a warp exchange their products.
            for (i64 first = products.layer[layer]; first < end;
                 first += team_threads / end_lanes) {
                const i64 i = first + thread_index() / end_lanes;
                const bool is_one = i < end;
                real_number product{};
                if (is_one && (lane < end_lanes / 2 || !is_first))
                    product = end_product(places, products.left[i], products.right[i], lane);
                real_number sum{};
                if (is_one && lane < number_parts<number>)
                    sum = start(i, lane);
                for (int k = 0; k < end_lanes / number_parts<number>; ++k) {
                    const real_number other = shuffle(product, group + end_of_part(lane, k));
                    if (!is_first || k < end_lanes / number_parts<number> / 2)
                        sum = series_sum(sum, other);
                }
                if (is_one && lane < number_parts<number>)
                    put(i, lane, sum);
            }
            sync();
        }
    }

private:
    static constexpr int warp_lanes = 32,
                         end_lanes = 2 * number_parts<number> * number_parts<number>;

    // Which product is number k of a part: of complex numbers 0, 1, 4, 5 are real, the others not.
    MDQR_FN static int end_of_part(int part, int k) {
        return number_parts<number> == 1 ? k : k % 2 + 4 * (k / 2) + 2 * (part % 2);
    }
    MDQR_FN static real_number end_product(const end_places& places, i64 left, i64 right,
                                           int lane) {
        const bool is_last = lane >= end_lanes / 2;
        const view& a = is_last ? places.last : places.first;
        const view& b = is_last ? places.first : places.last;
        const i64 x = is_last ? places.last_of(left) : places.first_of(left);
        const i64 y = is_last ? places.first_of(right) : places.last_of(right);
        // re re, -im im, re im, im re
        const int kind = number_parts<number> == 1 ? 0 : lane % 4;
        real_number p = load<real_number>(parts_of(a, kind % 2), x);
        const real_number q = load<real_number>(parts_of(b, kind == 1 || kind == 2), y);
        if (kind == 1)
            p = neg(p);
        return mul_network(p, q);
    }
};

} // namespace series

MDQR_END

// One order of products of series: sums of inner terms by many blocks, then the ends by one block
// an item of the batch.
#include "mdqr/config.hpp"

// Calls save registers, which takes longer than a network of few limbs.
#if MDQR_LIMBS <= 2
#undef MDQR_CALL
#define MDQR_CALL MDQR_FN
#endif
#include "mdqr/series.hpp"

#include "device/rows.hpp"

MDQR_BEGIN

struct order_arguments {
    matrix_view values;              // (item, node, order), changed
    matrix_view sums;                // (item, product, 1): of inner terms
    const i64 *left, *right, *layer; // nodes of products; the product that each layer begins with
    i64 first, products, layers, order;
};

MDQR_FN series_ends<number> ends_of(const order_arguments& p, i64 node) {
    return {load_as<number>(p.values.to, p.values.at(block_x(), node, 0)),
            load_as<number>(p.values.to, p.values.at(block_x(), node, p.order))};
}

MDQR_FN void add_ends(const order_arguments& p, i64 i) {
    number sum = load_as<number>(p.sums.to, p.sums.at(block_x(), i, 0));
    for_end_terms(ends_of(p, p.left[i]), ends_of(p, p.right[i]), p.order == 0,
                  [&](int part, const real_number& x, const real_number& y)
                      MDQR_LAMBDA { add_series_term(part_of(sum, part), x, y); });
    finish_order(sum);
    store_number(p.values.to, p.values.at(block_x(), p.first + i, p.order), sum);
}

MDQR_END

// Sums of inner terms, eight threads a product. Grid: items, groups of products.
MDQR_KERNEL(mdqr_series_sums, mdqr::order_arguments, mdqr::row_threads) {
    using namespace mdqr;
    const lane_place here{thread_index() % virtual_lanes, thread_index() / virtual_lanes, 1};
    const i64 i = block_y() * block_tasks + here.slot;
    const bool is_one = i < p.products;
    number sum{};
    for (i64 j = 1 + here.lane; is_one && j < p.order + here.lane; j += virtual_lanes) {
        number x{}, y{};
        if (j < p.order) {
            load_number(p.values.to, p.values.at(block_x(), p.left[i], j), x);
            load_number(p.values.to, p.values.at(block_x(), p.right[i], p.order - j), y);
        }
        add_series_term(sum, x, y);
    }
    combine_lanes(here, virtual_lanes, sum,
                  [](const number& a, const number& b) { return series_sum(a, b); });
    if (is_one && here.lane == 0)
        store_number(p.sums.to, p.sums.at(block_x(), i, 0), sum);
}

// The ends, layer by layer. Grid: items.
MDQR_KERNEL(mdqr_series_ends, mdqr::order_arguments, mdqr::row_threads) {
    using namespace mdqr;
    for (i64 layer = 0; layer < p.layers; ++layer) {
        for (i64 i = p.layer[layer] + thread_index(); i < p.layer[layer + 1]; i += row_threads)
            add_ends(p, i);
        sync_threads();
    }
}

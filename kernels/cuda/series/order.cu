// One order of products of series, and of equations: sums by many blocks, the ends by one block an
// item of the batch.
#include "series/team.hpp"

MDQR_BEGIN

namespace series {

MDQR_FN i64 first_sum() { return block_y() * team_sums; }
MDQR_FN i64 sums_end(i64 count) {
    const i64 end = first_sum() + team_sums;
    return end < count ? end : count;
}

} // namespace series

MDQR_END

// Sums of inner terms. Grid: items, groups of products.
MDQR_KERNEL(mdqr_series_sums, mdqr_series::order_arguments, mdqr::series::team_threads) {
    using namespace mdqr::series;
    const inner_sums<mdqr::number> sums(p.values, p.sums, p.products, mdqr::block_x(), p.order);
    block_team().dots(first_sum(), sums_end(p.products.products), sums);
}

// The ends, layer by layer. Grid: items.
MDQR_KERNEL(mdqr_series_ends, mdqr_series::order_arguments, mdqr::series::team_threads) {
    using namespace mdqr::series;
    add_ends(block_team(), p.values, p.sums, p.products, mdqr::block_x(), p.order);
}

// Rows of equations. Grid: items, groups of rows.
MDQR_KERNEL(mdqr_series_equations, mdqr_series::equation_arguments, mdqr::series::team_threads) {
    using namespace mdqr::series;
    const row_sums<mdqr::number> sums(p.out, p.values, p.terms, mdqr::block_x(), p.order);
    block_team().dots(first_sum(), sums_end(p.terms.rows), sums);
}

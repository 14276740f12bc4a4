// All orders of series that solve equations by one launch: a block an item of the batch.
#include "series/team.hpp"

MDQR_KERNEL(mdqr_series_expand, mdqr_series::expand_arguments, mdqr::series::team_threads) {
    using namespace mdqr::series;
    expand(block_team(), p, mdqr::block_x());
}

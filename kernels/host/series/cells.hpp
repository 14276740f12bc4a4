// Mixed cells of a subdivision of supports by a lifting.
#pragma once
#include <vector>

namespace mdqr_cells {

using word = long long;

// Support i has the points start[i] .. start[i + 1] of `points` (all, variables).
struct problem {
    word supports, variables;
    const word *start, *points;
    const double* lifting;
    word most; // pivots; the search ends behind these
};

struct found {
    std::vector<word> places; // two points of each support, cell after cell
    bool complete = true;
    word pivots = 0;
};

found search(const problem& p);

} // namespace mdqr_cells

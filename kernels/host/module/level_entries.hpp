// The table of the entry points of one CPU level, for every limb count. Included once per level
// with MDQR_LEVEL defined, so there is no include guard. Where MDQR_WIDE_LEVEL is defined, too,
// numbers of more than 8 limbs have that level's entries: long code, compiled once
// (kernels/CMakeLists.txt).
#include "module/entries.hpp"

namespace mdqr {
inline namespace MDQR_LEVEL {

template <int N> constexpr mdqr_host::entry_table entries_of() {
    mdqr_host::entry_table t{};
    t.limbs = N;
    t.unary = mdqr_unary<N>;
    t.binary = mdqr_binary<N>;
    t.compare = mdqr_compare<N>;
    t.ldexp = mdqr_ldexp<N>;
    t.reduce = mdqr_reduce<N>;
    t.cumsum = mdqr_cumsum<N>;
    t.argreduce = mdqr_argreduce<N>;
    if constexpr (N > 1) {
        t.matmul = mdqr_matmul<N>;
        t.residual = mdqr_residual<N>;
        t.qr_panel = mdqr_qr_panel<N>;
    }
    t.solve_triangular_tile = mdqr_solve_triangular_tile<N>;
    t.lu_panel = mdqr_lu_panel<N>;
    t.cholesky_panel = mdqr_cholesky_panel<N>;
    t.window = mdqr_window<N>;
    t.series_order = mdqr_series_order<N>;
    t.series_equations = mdqr_series_equations<N>;
    t.series_expand = mdqr_series_expand<N>;
    t.solve_small = mdqr_solve_small;
    t.lstsq_small = mdqr_lstsq_small;
    return t;
}

template <int N> constexpr mdqr_host::entry_table entries_or_wide() {
#if defined(MDQR_WIDE_LEVEL)
    if constexpr (N > 8) {
        mdqr_host::entry_table t = MDQR_WIDE_LEVEL::entries_of<N>();
        t.solve_small = mdqr_solve_small; // of any limb count
        t.lstsq_small = mdqr_lstsq_small;
        return t;
    } else
#endif
        return entries_of<N>();
}

inline constexpr mdqr_host::entry_table tables[] = {
#define MDQR_LIMB_COUNT(n) entries_or_wide<n>(),
#include "mdqr/limb_counts.def"
};

} // namespace MDQR_LEVEL
} // namespace mdqr

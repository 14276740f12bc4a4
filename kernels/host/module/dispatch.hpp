// The entry points of the level chosen at load.
#pragma once
#include "mdqr/paths/arguments.hpp"
#include "mdqr/series_arguments.hpp"
#include "products/exact/arguments.hpp"
#include "module/ops.hpp"
#include "module/view.hpp"

namespace mdqr_host {

struct entry_table {
    int limbs;
    void (*unary)(unary_op, const block_view&, const block_view&);
    void (*binary)(binary_op, const block_view&, const block_view&, const block_view&);
    void (*compare)(signed char*, const block_view&, const block_view&);
    void (*ldexp)(const block_view&, const block_view&, const index_view&);
    void (*reduce)(reduce_op, const block_view&, const block_view&);
    void (*cumsum)(const block_view&, const block_view&);
    void (*argreduce)(bool, long long*, const block_view&);
    void (*matmul)(const block_view&, const block_view*, const block_view&, const block_view&, bool,
                   bool, bool);
    void (*residual)(const block_view&, const block_view*, const int*, int, const block_view&,
                     const block_view&, bool);
    void (*qr_panel)(const block_view&, const block_view&, const block_view&, const block_view&);
    void (*solve_triangular_tile)(const block_view&, const block_view&, const block_view&, bool,
                                  bool);
    void (*lu_panel)(const block_view&, long long*, ptrdiff_t, int, int);
    void (*cholesky_panel)(const block_view&, const block_view&);
    void (*window)(const block_view&, const block_view*, const block_view*, int, int, bool);
    void (*series_order)(const mdqr_series::order_arguments&, ptrdiff_t, bool, bool);
    void (*series_equations)(const mdqr_series::equation_arguments&, ptrdiff_t, bool);
    void (*series_expand)(const mdqr_series::expand_arguments&, ptrdiff_t, bool);
    void (*solve_small)(const small_outputs&, const block_view&, const block_view&);
    void (*lstsq_small)(const small_outputs&, const block_view&, const block_view&,
                        const block_view&);
};

// Homotopy paths, see series/path_entries.hpp.
using follow_paths_entry = void (*)(const mdqr_paths::arguments&);
struct path_entry {
    int limbs;
    follow_paths_entry follow;
};

// Exact products, see products/exact/entries.hpp.
struct exact_table {
    void (*scan)(const block_view&, const long long*, long long*, long long*);
    void (*residues)(const mdqr_exact::residues&, const mdqr_exact::channels&, const block_view&,
                     const long long*, const long long*, int);
    void (*magnitudes)(const mdqr_exact::residues&, int, const block_view&, const long long*,
                       const long long*);
    int (*least)(const mdqr_exact::residues&, const mdqr_exact::residues&, int);
    void (*product)(const block_view&, const block_view*, bool, const mdqr_exact::residues&,
                    const long long*, const mdqr_exact::residues&, const long long*,
                    const mdqr_exact::channels&, const mdqr_exact::reconstruction&);
};

// Throws std::invalid_argument if MDQR_CPU_LEVEL names no level of this machine.
void choose_level();
const char* level_name();

// Null where there is no such limb count; products and panels are null for one limb, which is
// BLAS's and LAPACK's.
const entry_table* entries(int limbs);

const exact_table& exact_entries();

// Null where there are no paths of so many limbs.
follow_paths_entry follow_paths(int limbs);

} // namespace mdqr_host

// The entry points of one CPU level, explicitly instantiated for every limb count N (products and
// panels: N >= 2).
//
// Included once per level with MDQR_LEVEL defined, so there is no include guard. Operands have at
// most N limbs, results N. A view is complex if its `imag` is not 0; all operands of a call are of
// one field. What each entry computes is said in mdqr/_backend/protocol.py.
#include "module/ops.hpp"
#include "module/view.hpp"
#include "mdqr/series_arguments.hpp"

namespace mdqr {
inline namespace MDQR_LEVEL {

using mdqr_host::binary_op;
using mdqr_host::block_view;
using mdqr_host::index_view;
using mdqr_host::reduce_op;
using mdqr_host::small_outputs;
using mdqr_host::unary_op;

// Operands have the shape of `out`.
template <int N> void mdqr_unary(unary_op op, const block_view& out, const block_view& x);
template <int N>
void mdqr_binary(binary_op op, const block_view& out, const block_view& x, const block_view& y);
template <int N> void mdqr_compare(signed char* out, const block_view& x, const block_view& y);
template <int N>
void mdqr_ldexp(const block_view& out, const block_view& x, const index_view& exponent);

// `x` has one axis more than `out`, the last one; cumsum keeps it.
template <int N> void mdqr_reduce(reduce_op op, const block_view& out, const block_view& x);
template <int N> void mdqr_cumsum(const block_view& out, const block_view& x);
template <int N> void mdqr_argreduce(bool maximum, long long* out, const block_view& x);

// Matrices are (batch, rows, columns): the caller flattens and broadcasts the leading dimensions
// into one.

// out (batch, m, n) = c + a b, or c - a b if `subtract`; a (batch, m, k), b (batch, k, n); c is 0
// if null. `out` may be the memory of `c`.
template <int N>
void mdqr_matmul(const block_view& out, const block_view* c, const block_view& a,
                 const block_view& b, bool conj_a, bool conj_b, bool subtract);

// out (batch, m, n) = sum of signs[i] terms[i] (batch, m, n), i < count, minus a b; as if in 2N
// limbs, rounded once.
template <int N>
void mdqr_residual(const block_view& out, const block_view* terms, const int* signs, int count,
                   const block_view& a, const block_view& b, bool conj_a);

// h (batch, m, w), tau (batch, w), t (batch, w, w) of panels a (batch, m, w), m >= w. `h` may be
// the memory of `a`. The strict lower triangle of t is set to 0.
template <int N>
void mdqr_qr_panel(const block_view& h, const block_view& tau, const block_view& t,
                   const block_view& a);

// out (batch, w, n) with a out = b; a (batch, w, w) triangular, b (batch, w, n). `out` may be the
// memory of `b`.
template <int N>
void mdqr_solve_triangular_tile(const block_view& out, const block_view& a, const block_view& b,
                                bool lower, bool unit_diagonal);

// Columns [first, last) of a (batch, m, n), last <= m, become those of L and U below row `first`;
// whole rows from there on are interchanged. Entries [first, last) of `places`, which lie `apart`
// from item to item, get the rows that pivots came from.
template <int N>
void mdqr_lu_panel(const block_view& a, long long* places, ptrdiff_t apart, int first, int last);

// The first w rows c (batch, w, n) of the upper triangular C with C^H C = A, of whose first w rows
// a (batch, w, n), w <= n, the upper triangle is read.
template <int N> void mdqr_cholesky_panel(const block_view& c, const block_view& a);

// r (batch, m, w) := R, left (batch, m, n) := E^H left, right (batch, k, m) := right E, where r = E
// R is zero below `below` diagonals under the main one; a null block is absent. w <= m <= w +
// below, below < m. A single column with more rows and nothing below rises: E^H r = (beta, 0). Sums
// have `lanes` parts, a power of two up to 8. One limb may be float32 (`single`).
template <int N>
void mdqr_window(const block_view& r, const block_view* left, const block_view* right, int below,
                 int lanes, bool single);

// Order `order` of products in `items` graphs of series, from lower orders and what the factors
// have there; the sums of the terms in between are kept, or taken as they are if `again`.
template <int N>
void mdqr_series_order(const mdqr_series::order_arguments& p, ptrdiff_t items, bool is_complex,
                       bool again);
// One order of equations.
template <int N>
void mdqr_series_equations(const mdqr_series::equation_arguments& p, ptrdiff_t items,
                           bool is_complex);
// Orders of series that solve equations, from `p.first` on.
template <int N>
void mdqr_series_expand(const mdqr_series::expand_arguments& p, ptrdiff_t items, bool is_complex);

// x (batch, n, k) with a x = b, a (batch, n, n), b (batch, n, k), for any limb counts; what else is
// written lies in C order.
void mdqr_solve_small(const small_outputs& out, const block_view& a, const block_view& b);

// x (batch, n, k) with the least |b - a x|, a (batch, m, n), m >= n, b (batch, m, k), and
// residuals (batch, m, k) = b - a x.
void mdqr_lstsq_small(const small_outputs& out, const block_view& residuals, const block_view& a,
                      const block_view& b);

} // namespace MDQR_LEVEL
} // namespace mdqr

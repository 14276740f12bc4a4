// Entry points of the product, panel and triangle kernels, one set a CPU level, explicitly
// instantiated for N = 2, 4, 8.
//
// Matrices are views of shape (batch, rows, columns): the caller flattens and broadcasts the
// leading dimensions into one (stride 0 for a broadcast operand). A view is complex if its `imag`
// is not 0; all views of a call are of one field (that of `out`). Inputs have 1, 2, 4 or 8 limbs,
// at most N; results have N. Strides may be anything, 0 and negative included. The caller has set
// the floating-point environment. Special values and ranges: as `mdqr/_backend/protocol.py` says.
// Included once per level with MDQR_LEVEL defined, so there is no include guard.
#include "module/view.hpp"

namespace mdqr {
inline namespace MDQR_LEVEL {

using mdqr_host::block_view;

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

} // namespace MDQR_LEVEL
} // namespace mdqr

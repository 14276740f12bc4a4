// The entry points of exact products of one level. Included once per level with MDQR_LEVEL defined,
// so there is no include guard. Lines are rows of `x` (lines, k): of the left operand as it is, of
// the right one transposed.
#include "module/view.hpp"
#include "products/exact/arguments.hpp"

namespace mdqr {
inline namespace MDQR_LEVEL {

// For each line the largest E(x) + shift, 2^E above x, and the smallest exponent of a bit, plus
// shift; +-2^40 for zeros and for what is not finite.
void exact_scan(const mdqr_host::block_view& x, const long long* shift, long long* top,
                long long* bottom);

// Residues of the integers nearest to x 2^(tau - exponent of the line + shift of the column).
void exact_residues(const mdqr_exact::residues& out, const mdqr_exact::channels& plan,
                    const mdqr_host::block_view& x, const long long* exponent,
                    const long long* shift, int tau);

// In place of residues a plane or two: floor(|x| 2^(7 - exponent + shift)), and 1 where x is not 0.
void exact_magnitudes(const mdqr_exact::residues& out, int planes, const mdqr_host::block_view& x,
                      const long long* exponent, const long long* shift);

// The least sum over k of products of those magnitudes, with two planes where one of the products
// is not 0; 2^30 at most.
int exact_least(const mdqr_exact::residues& left, const mdqr_exact::residues& right, int planes);

// out (m, n) = c + a b, or c - a b if `subtract`, of what left and right are the residues of; c is
// 0 if null. `out` may be the memory of `c`.
void exact_product(const mdqr_host::block_view& out, const mdqr_host::block_view* c, bool subtract,
                   const mdqr_exact::residues& left, const long long* left_exponent,
                   const mdqr_exact::residues& right, const long long* right_exponent,
                   const mdqr_exact::channels& plan, const mdqr_exact::reconstruction& back);

} // namespace MDQR_LEVEL
} // namespace mdqr

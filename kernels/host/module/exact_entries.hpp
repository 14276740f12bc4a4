// The table of the entry points of exact products of one level. Included once per level with
// MDQR_LEVEL defined, so there is no include guard.
#include "products/exact/entries.hpp"

namespace mdqr {
inline namespace MDQR_LEVEL {

inline constexpr mdqr_host::exact_table exact_products = {
    exact_scan, exact_residues, exact_magnitudes, exact_least, exact_product};

} // namespace MDQR_LEVEL
} // namespace mdqr

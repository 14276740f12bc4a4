// The entry points of homotopy paths of one level. Included once per level with MDQR_LEVEL defined,
// so there is no include guard.
#include "mdqr/paths/arguments.hpp"

namespace mdqr {
inline namespace MDQR_LEVEL {

// Follow paths to a target; points and coefficients have N limbs.
template <int N> void mdqr_follow_paths(const mdqr_paths::arguments& p);

} // namespace MDQR_LEVEL
} // namespace mdqr

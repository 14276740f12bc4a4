// The table of the entry points of homotopy paths of one level, for every limb count. Included once
// per level with MDQR_LEVEL defined, so there is no include guard.
#include "series/path_entries.hpp"

namespace mdqr {
inline namespace MDQR_LEVEL {

// kernels/CMakeLists.txt has the same limit.
template <int N> constexpr mdqr_host::path_entry follower_of() {
    if constexpr (N <= 8)
        return {N, mdqr_follow_paths<N>};
    else
        return {N, nullptr};
}

inline constexpr mdqr_host::path_entry path_followers[] = {
#define MDQR_LIMB_COUNT(n) follower_of<n>(),
#include "mdqr/limb_counts.def"
};

} // namespace MDQR_LEVEL
} // namespace mdqr

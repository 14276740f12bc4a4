// Homotopy paths for one level (MDQR_LEVEL) and limb count (MDQR_LIMBS): a path a lane, every so
// many paths a task.
#include "level/level.hpp"

#include "mdqr/paths/follow.hpp"
#include "products/matmul_scratch.hpp"
#include "series/path_entries.hpp"

MDQR_BEGIN

namespace {
constexpr mdqr_paths::word paths_a_task = 32;
}

template <int N> void mdqr_follow_paths(const mdqr_paths::arguments& p) {
    using worker = path_lanes<typename path_real<lane, N>::type>;
    const mdqr_paths::word tasks = (p.chosen + paths_a_task - 1) / paths_a_task;
    const size_t count = size_t(worker::used(p.system)) * lanes<lane>;
    // Neighbours often take equally long: they go to different tasks.
    parallel_for(ptrdiff_t(tasks), [&](ptrdiff_t task) {
        double* memory = mdqr_host::matmul_scratch(count);
        worker(p, reinterpret_cast<lane*>(memory)).run(mdqr_paths::word(task), tasks);
    });
}

template void mdqr_follow_paths<MDQR_LIMBS>(const mdqr_paths::arguments&);

MDQR_END

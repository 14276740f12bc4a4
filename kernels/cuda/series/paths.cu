// Homotopy paths: each thread follows some. MDQR_PATH_WORDS is the memory of a thread, in doubles.
#include "device/device.hpp"

#include "mdqr/paths/follow.hpp"

MDQR_KERNEL(mdqr_follow_paths, mdqr_paths::arguments, 32) {
    using follower = mdqr::path_lanes<typename mdqr::path_real<double, MDQR_LIMBS>::type>;
    const mdqr::i64 width = mdqr::thread_count(), first = mdqr::block_x() * width;
    // Local memory: threads of a warp find the same place of theirs side by side.
    double memory[MDQR_PATH_WORDS];
    follower(p, memory).run(first + mdqr::thread_index(), mdqr::blocks_x() * width);
}

// Working memory of product tiles: one buffer a thread, grown as needed, shared by all CPU levels.
#pragma once
#include <cstddef>

namespace mdqr_host {

// At least `count` doubles aligned to 64 bytes, valid until this thread asks again.
double* matmul_scratch(std::size_t count);

} // namespace mdqr_host

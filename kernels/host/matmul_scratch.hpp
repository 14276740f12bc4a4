// Working memory of products, panels and triangles: one buffer a thread, grown as needed, shared by
// all CPU levels.
#pragma once
#include <cstddef>

namespace mdqr_host {

// At least `count` doubles aligned to 64 bytes, valid until this thread asks again.
double* matmul_scratch(std::size_t count);

// Give the buffer of this thread back if it is larger than 32 MB.
void trim_matmul_scratch();

} // namespace mdqr_host

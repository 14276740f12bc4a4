// Working memory of products, panels and triangles: one buffer a thread, grown as needed, shared by
// all CPU levels.
#pragma once
#include <cstddef>

namespace mdqr_host {

// At least `count` doubles aligned to 64 bytes, valid until this thread asks again.
double* matmul_scratch(std::size_t count);

// Give the buffer of this thread back if it is larger than 32 MB.
void trim_matmul_scratch();

// Puts the buffer of this thread aside: what asks meanwhile gets another.
class kept_scratch {
public:
    kept_scratch();
    ~kept_scratch();
    kept_scratch(const kept_scratch&) = delete;
    kept_scratch& operator=(const kept_scratch&) = delete;

private:
    double* data;
    std::size_t count;
};

} // namespace mdqr_host

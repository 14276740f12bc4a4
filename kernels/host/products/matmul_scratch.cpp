#include "products/matmul_scratch.hpp"

#include <cstdlib>
#include <new>

namespace mdqr_host {

namespace {
struct buffer {
    double* data = nullptr;
    std::size_t count = 0;
    ~buffer() { std::free(data); }
};
thread_local buffer scratch;
} // namespace

double* matmul_scratch(std::size_t count) {
    if (count > scratch.count) {
        std::free(scratch.data);
        scratch.data = nullptr;
        scratch.count = 0;
        const std::size_t bytes = (count * sizeof(double) + 63) / 64 * 64;
        scratch.data = static_cast<double*>(std::aligned_alloc(64, bytes));
        if (scratch.data == nullptr)
            throw std::bad_alloc();
        scratch.count = bytes / sizeof(double);
    }
    return scratch.data;
}

void trim_matmul_scratch() {
    if (scratch.count <= std::size_t(4) << 20)
        return;
    std::free(scratch.data);
    scratch.data = nullptr;
    scratch.count = 0;
}

kept_scratch::kept_scratch() : data(scratch.data), count(scratch.count) {
    scratch.data = nullptr;
    scratch.count = 0;
}

kept_scratch::~kept_scratch() {
    std::free(scratch.data);
    scratch.data = data;
    scratch.count = count;
}

} // namespace mdqr_host

#include "products/matmul_scratch.hpp"

#include <new>

namespace mdqr_host {

namespace {
constexpr std::align_val_t line{64};
void release(double* data) { ::operator delete(data, line); }

struct buffer {
    double* data = nullptr;
    std::size_t count = 0;
    ~buffer() { release(data); }
};
thread_local buffer scratch;
} // namespace

double* matmul_scratch(std::size_t count) {
    if (count > scratch.count) {
        release(scratch.data);
        scratch.data = nullptr;
        scratch.count = 0;
        const std::size_t bytes = (count * sizeof(double) + 63) / 64 * 64;
        scratch.data = static_cast<double*>(::operator new(bytes, line));
        scratch.count = bytes / sizeof(double);
    }
    return scratch.data;
}

void trim_matmul_scratch() {
    if (scratch.count <= std::size_t(4) << 20)
        return;
    release(scratch.data);
    scratch.data = nullptr;
    scratch.count = 0;
}

kept_scratch::kept_scratch() : data(scratch.data), count(scratch.count) {
    scratch.data = nullptr;
    scratch.count = 0;
}

kept_scratch::~kept_scratch() {
    release(scratch.data);
    scratch.data = data;
    scratch.count = count;
}

} // namespace mdqr_host

#include "module/self_test.hpp"

#include <algorithm>
#include <stdexcept>

#include "module/calls.hpp"

using namespace mdqr_host;

namespace {

// Products of two doubles in [1, 4) and what rounding takes off them, by integers.
struct known_product {
    double x, y, product, error;

    explicit known_product(unsigned long long& state) {
        const unsigned long long a = mantissa(state), b = mantissa(state);
        const unsigned __int128 exact = (unsigned __int128)(a)*b;
        const int cut = exact >> 105 ? 53 : 52;
        const unsigned long long low = (unsigned long long)(exact) & ((1ull << cut) - 1);
        unsigned long long high = (unsigned long long)(exact >> cut);
        const bool up = low > 1ull << (cut - 1) || (low == 1ull << (cut - 1) && (high & 1));
        high += up;
        const double sign = state >> 63 ? -1.0 : 1.0;
        x = sign * double(a) * 0x1p-52;
        y = double(b) * 0x1p-52;
        product = sign * double(high) * (cut == 53 ? 0x1p-51 : 0x1p-52);
        error = sign * double((long long)(low) - (up ? 1ll << cut : 0ll)) * 0x1p-104;
    }

private:
    static unsigned long long mantissa(unsigned long long& state) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        return 1ull << 52 | state >> 12;
    }
};

} // namespace

void mdqr_host::self_test() {
    constexpr int count = 124;
    double x[count], y[count], found[2 * count], product[count], error[count];
    unsigned long long state = 1;
    for (int i = 0; i < count; ++i) {
        const known_product known(state);
        x[i] = known.x;
        y[i] = known.y;
        product[i] = known.product;
        error[i] = known.error;
    }
    block_view a{}, b{}, out{};
    a.data = x;
    b.data = y;
    out.data = found;
    for (block_view* v : {&a, &b, &out}) {
        v->limbs = v == &out ? 2 : 1;
        v->plane = count;
        v->ndim = 1;
        v->shape[0] = count;
        v->stride[0] = 1;
    }
    kernel_call call;
    table(2).binary(binary_op::multiply, out, a, b);
    const bool exact = std::equal(product, product + count, found) &&
                       std::equal(error, error + count, found + count);
    volatile double tiny = 0x1p-1074, half = 0.5;
    if (!exact || tiny * 2.0 * half != tiny)
        throw std::runtime_error(
            "mdqr: the kernels do not keep rounding errors on this machine; please report it");
}

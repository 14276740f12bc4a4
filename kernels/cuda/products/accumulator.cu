// Single elements of products and residuals that slices and digits do not serve: the exact sum
// rounded once, or what IEEE makes of infinities and NaN. The elements stand in a list that the
// kernel before filled; residuals of so many limbs that digits are no doubles are all done here.
#include "device/device.hpp"

#include "products/accumulator.hpp"
#include "products/matmul_range.hpp"
#include "products/residual_terms.hpp"

MDQR_BEGIN

struct accumulator_arguments {
    matrix_view a, b; // (batch, m, k) and (batch, k, n)
    i64 conj_a, conj_b;
    i64 m, n, k;
    const i64* list; // null: all elements
    i64 count;       // the address of their number, and the number of all
    matrix_view out;
#if MDQR_RESIDUAL
    residual_terms terms;
#else
    matrix_view c;
    i64 subtract;
#endif
};

struct element {
    i64 item, i, j;
    MDQR_FN element(const accumulator_arguments& p, i64 flat)
        : item(flat / p.n / p.m), i(flat / p.n % p.m), j(flat % p.n) {}
};

// f(x, y, sign) for the real terms that this lane has of a part of an element: offsets of leading
// limbs.
template <class F>
MDQR_FN void for_terms(const accumulator_arguments& p, const element& at, int part, F f) {
    const double sa = p.conj_a ? -1.0 : 1.0, sb = p.conj_b ? -1.0 : 1.0;
    for (i64 k = thread_index(); k < p.k; k += warp_lanes) {
        const i64 x = p.a.at(at.item, at.i, k), y = p.b.at(at.item, k, at.j);
        const i64 xi = x + p.a.to.imag, yi = y + p.b.to.imag;
        if (!MDQR_COMPLEX) {
            f(x, y, 1.0);
        } else if (part == 0) {
            f(x, y, 1.0);
            f(xi, yi, -sa * sb);
        } else {
            f(x, yi, sb);
            f(xi, y, sa);
        }
    }
}

// True if a factor of the element is not finite.
MDQR_FN bool has_non_finite(const accumulator_arguments& p, const element& at) {
    bool non_finite = false;
    for_terms(p, at, 0, [&](i64 x, i64 y, double) MDQR_LAMBDA {
        non_finite = non_finite || !is_finite(p.a.to.data[x]) || !is_finite(p.b.to.data[y]);
    });
    return warp_any(non_finite);
}

// The sum of those terms that are not finite; the finite ones cannot change it.
MDQR_FN double non_finite_sum(const accumulator_arguments& p, const element& at, int part) {
    double sum = 0.0;
    for_terms(p, at, part, [&](i64 x, i64 y, double sign) MDQR_LAMBDA {
        const double a = p.a.to.data[x], b = p.b.to.data[y];
        if (!is_finite(a) || !is_finite(b))
            sum = one_sum(sum, one_prod(one_prod(sign, a), b));
    });
    for (int mask = 16; mask > 0; mask /= 2)
        sum = one_sum(sum, shuffle_xor(sum, mask));
    return sum;
}

MDQR_FN void accumulate(const accumulator_arguments& p, const element& at, int part,
                        accumulator_column& column) {
    for_terms(p, at, part, [&](i64 x, i64 y, double sign) MDQR_LAMBDA {
        for (int i = 0; i < p.a.to.held; ++i)
            for (int j = 0; j < p.b.to.held; ++j)
                column.add_product(sign * p.a.to.data[x + i * p.a.to.plane],
                                   p.b.to.data[y + j * p.b.to.plane]);
    });
}

// The part of an element into lane 0's accumulator, times `sign`.
MDQR_FN void sum_part(const accumulator_arguments& p, const element& at, int part, i64 sign,
                      superacc& acc) {
    if (has_non_finite(p, at)) {
        acc.add(double(sign) * non_finite_sum(p, at, part));
        return;
    }
    accumulator_column column;
    column.clear();
    accumulate(p, at, part, column);
    column.gather();
    if (thread_index() == 0)
        column.add_to(acc, sign);
    sync_warp();
}

#if MDQR_RESIDUAL
MDQR_FN void put_element(const accumulator_arguments& p, const element& at, superacc& acc) {
    number r;
    for_parts(r, [&](md<double, limbs>& value, int part) MDQR_LAMBDA {
        acc.clear();
        sum_part(p, at, part, -1, acc);
        if (thread_index() == 0) {
            p.terms.add_to(acc, at.item, at.i, at.j, part);
            acc.round(value.limb);
        }
    });
    if (thread_index() == 0)
        store_number(p.out.to, p.out.at(at.item, at.i, at.j), r);
}
#else
MDQR_FN void put_element(const accumulator_arguments& p, const element& at, superacc& acc) {
    number r;
    for_parts(r, [&](md<double, limbs>& value, int part) MDQR_LAMBDA {
        acc.clear();
        sum_part(p, at, part, 1, acc);
        acc.round(value.limb);
    });
    if (thread_index() == 0)
        put_result(p.c, p.out, at.item, at.i, at.j, p.subtract != 0, r);
}
#endif

MDQR_END

// Any grid of single warps.
MDQR_KERNEL(mdqr_accumulator, mdqr::accumulator_arguments, mdqr::warp_lanes) {
    using namespace mdqr;
    const i64 count = p.list ? *reinterpret_cast<const i64*>(p.count) : p.count;
    if (block_x() >= count)
        return;
    superacc acc;
    for (i64 t = block_x(); t < count; t += blocks_x())
        put_element(p, element(p, p.list ? p.list[t] : t), acc);
}

// Elementwise entry points for one level (MDQR_LEVEL) and limb count (MDQR_LIMBS).
#include "level/elements.hpp"

#include "module/entries.hpp"
#include "mdqr/compare.hpp"
#include "mdqr/rounding.hpp"
#include "mdqr/superacc.hpp"
#include "level/networks.hpp"

#include <stdexcept>

MDQR_BEGIN

template <class Number, class Out = Number, class F>
void map_unary(const block_view& out, const block_view& x, F f) {
    const block_view* const operand[2] = {&out, &x};
    for_each_group<2>(operand, [&](const group* g, int count, ptrdiff_t) {
        element_io<Out>::store(out, g[0], count, f(element_io<Number>::load(x, g[1])));
    });
}

// The same one number at a time, for what branches.
template <int N, class F> void map_scalar(const block_view& out, const block_view& x, F f) {
    map_unary<md<lane, N>>(out, x, [&](md<lane, N> v) {
        for (int i = 0; i < host_lanes; ++i) {
            md<double, N> one;
            for (int l = 0; l < N; ++l)
                one.limb[l] = lane_get(v.limb[l], i);
            one = f(one);
            for (int l = 0; l < N; ++l)
                lane_set(v.limb[l], i, one.limb[l]);
        }
        return v;
    });
}

// Any number of doubles a value: exact sum, rounded once.
template <int N>
void renormalize_plane(const block_view& out, double* to, const block_view& x, const double* from) {
    const block_view* const operand[2] = {&out, &x};
    for_each_group<2>(operand, [&](const group* g, int count, ptrdiff_t) {
        for (int i = 0; i < count; ++i) {
            superacc sum;
            for (int l = 0; l < x.limbs; ++l)
                sum.add(from[l * x.plane + g[1].offset[i]]);
            double limb[N];
            sum.round(limb);
            for (int l = 0; l < N; ++l)
                to[l * out.plane + g[0].offset[i]] = limb[l];
        }
    });
}

template <int N> __attribute__((noinline)) md<double, N> floor_call(const md<double, N>& x) {
    return floor(x);
}

template <int N> void unary_real(unary_op op, const block_view& out, const block_view& x) {
    using number = md<lane, N>;
    using one = md<double, N>;
    switch (op) {
    case unary_op::sqrt:
        return map_unary<number>(out, x, [](const number& v) { return sqrt(v); });
    case unary_op::square:
        return map_unary<number>(out, x, [](const number& v) { return sqr(v); });
    case unary_op::reciprocal:
        return map_unary<number>(out, x, [](const number& v) {
            return div(from_double<lane, N>(broadcast<lane>(1.0)), v);
        });
    case unary_op::floor:
    case unary_op::ceil:
    case unary_op::rint:
        return map_scalar<N>(out, x, [op](const one& v) {
            return op == unary_op::rint    ? rint(v)
                   : op == unary_op::floor ? floor_call(v)
                                           : neg(floor_call(neg(v)));
        });
    case unary_op::renormalize:
        return renormalize_plane<N>(out, out.data, x, x.data);
    case unary_op::abs:
        throw std::invalid_argument("real abs is a flip of signs, done on the block");
    }
}

template <int N> void unary_complex(unary_op op, const block_view& out, const block_view& x) {
    using number = cmd<lane, N>;
    switch (op) {
    case unary_op::sqrt:
        return map_unary<number>(out, x, [](const number& v) { return sqrt(v); });
    case unary_op::square:
        return map_unary<number>(out, x, [](const number& v) { return sqr(v); });
    case unary_op::reciprocal:
        return map_unary<number>(out, x, [](const number& v) { return reciprocal(v); });
    case unary_op::abs:
        return map_unary<number, md<lane, N>>(out, x, [](const number& v) { return abs(v); });
    case unary_op::renormalize:
        renormalize_plane<N>(out, out.data, x, x.data);
        return renormalize_plane<N>(out, out.data + out.imag, x, x.data + x.imag);
    case unary_op::floor:
    case unary_op::ceil:
    case unary_op::rint:
        throw std::invalid_argument("floor, ceil and rint are for real numbers");
    }
}

template <class Number>
void binary_number(binary_op op, const block_view& out, const block_view& x, const block_view& y) {
    const block_view* const operand[3] = {&out, &x, &y};
    auto map = [&](auto f) {
        for_each_group<3>(operand, [&](const group* g, int count, ptrdiff_t) {
            using io = element_io<Number>;
            io::store(out, g[0], count, f(io::load(x, g[1]), io::load(y, g[2])));
        });
    };
    switch (op) {
    case binary_op::add:
        return map([](const Number& a, const Number& b) { return add(a, b); });
    case binary_op::subtract:
        return map([](const Number& a, const Number& b) { return sub(a, b); });
    case binary_op::multiply:
        return map([](const Number& a, const Number& b) { return mul(a, b); });
    case binary_op::divide:
        return map([](const Number& a, const Number& b) { return div(a, b); });
    case binary_op::hypot:
        throw std::invalid_argument("hypot is for real numbers");
    }
}

template <int N> void mdqr_unary(unary_op op, const block_view& out, const block_view& x) {
    if (x.imag != 0)
        unary_complex<N>(op, out, x);
    else
        unary_real<N>(op, out, x);
}

template <int N>
void mdqr_binary(binary_op op, const block_view& out, const block_view& x, const block_view& y) {
    if (x.imag != 0)
        return binary_number<cmd<lane, N>>(op, out, x, y);
    if (op != binary_op::hypot)
        return binary_number<md<lane, N>>(op, out, x, y);
    const block_view* const operand[3] = {&out, &x, &y};
    for_each_group<3>(operand, [&](const group* g, int count, ptrdiff_t) {
        using io = element_io<md<lane, N>>;
        io::store(out, g[0], count, hypot(io::load(x, g[1]), io::load(y, g[2])));
    });
}

template <int N> void mdqr_compare(signed char* out, const block_view& x, const block_view& y) {
    const block_view* const operand[2] = {&x, &y};
    for_each_group<2>(operand, [&](const group* g, int count, ptrdiff_t first) {
        using io = element_io<md<lane, N>>;
        const md<lane, N> a = io::load(x, g[0]), b = io::load(y, g[1]), difference = sub(a, b);
        for (int i = 0; i < count; ++i)
            out[first + i] = static_cast<signed char>(order(
                lane_get(a.limb[0], i), lane_get(b.limb[0], i), lane_get(difference.limb[0], i)));
    });
}

template <int N>
void mdqr_ldexp(const block_view& out, const block_view& x, const index_view& exponent) {
    const ptrdiff_t size = x.size(), chunk = 512;
    parallel_for((size + chunk - 1) / chunk, [&](ptrdiff_t t) {
        cursor<3> at{x.shape, x.ndim, {out.stride, x.stride, exponent.stride}, {}, {}};
        const ptrdiff_t end = (t + 1) * chunk < size ? (t + 1) * chunk : size;
        at.seek(t * chunk);
        for (ptrdiff_t i = t * chunk; i < end; ++i, at.next())
            store_one<N>(out, at.offset[0],
                         ldexp(load_one<N>(x, at.offset[1]), exponent.data[at.offset[2]]));
    });
}

template void mdqr_unary<MDQR_LIMBS>(unary_op, const block_view&, const block_view&);
template void mdqr_binary<MDQR_LIMBS>(binary_op, const block_view&, const block_view&,
                                      const block_view&);
template void mdqr_compare<MDQR_LIMBS>(signed char*, const block_view&, const block_view&);
template void mdqr_ldexp<MDQR_LIMBS>(const block_view&, const block_view&, const index_view&);

MDQR_END

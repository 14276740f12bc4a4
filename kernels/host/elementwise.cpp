// Elementwise entry points for one level (MDQR_LEVEL) and limb count (MDQR_LIMBS).
#include "level/maps.hpp"

#include "module/entries.hpp"
#include "mdqr/number/compare.hpp"
#include "mdqr/operations.hpp"
#include "mdqr/superacc.hpp"
#include "level/networks.hpp"

#include <stdexcept>

MDQR_BEGIN

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

template <int N, bool complex>
void unary_number(unary_op op, const block_view& out, const block_view& x) {
    using number = lane_number<N, complex>;
    const auto map = [&](auto f) {
        using function = decltype(f);
        if constexpr (std::is_invocable_v<function, const number&>)
            map_unary<number, std::invoke_result_t<function, const number&>>(out, x, f);
        else
            map_scalar<N>(out, x, f);
    };
    switch (op) {
#define MDQR_ELEMENTARY_UNARY_OP(name, kind)                                                       \
    case unary_op::name:                                                                           \
        return elementary_unary<N, complex>(op, out, x);
#define MDQR_UNARY_OP(name, kind)                                                                  \
    case unary_op::name:                                                                           \
        if constexpr (has_form(operands::kind, complex))                                           \
            return map(                                                                            \
                [](const auto& v) -> decltype(apply_##name(v)) { return apply_##name(v); });       \
        else                                                                                       \
            throw std::invalid_argument(complex ? #name " is for real numbers"                     \
                                                : #name " is for complex numbers");
#include "mdqr/operations.def"
    }
}

template <int N, bool complex>
void binary_number(binary_op op, const block_view& out, const block_view& x, const block_view& y) {
    using number = lane_number<N, complex>;
    const auto map = [&](auto f) { map_binary<number>(out, x, y, f); };
    switch (op) {
#define MDQR_ELEMENTARY_BINARY_OP(name, kind)                                                      \
    case binary_op::name:                                                                          \
        return elementary_binary<N, complex>(op, out, x, y);
#define MDQR_BINARY_OP(name, kind)                                                                 \
    case binary_op::name:                                                                          \
        if constexpr (has_form(operands::kind, complex))                                           \
            return map([](const number& a, const number& b) { return apply_##name(a, b); });       \
        else                                                                                       \
            throw std::invalid_argument(complex ? #name " is for real numbers"                     \
                                                : #name " is for complex numbers");
#include "mdqr/operations.def"
    }
}

template <int N> void mdqr_unary(unary_op op, const block_view& out, const block_view& x) {
    if (op == unary_op::renormalize) {
        renormalize_plane<N>(out, out.data, x, x.data);
        if (x.imag != 0)
            renormalize_plane<N>(out, out.data + out.imag, x, x.data + x.imag);
    } else if (x.imag != 0) {
        unary_number<N, true>(op, out, x);
    } else {
        unary_number<N, false>(op, out, x);
    }
}

template <int N>
void mdqr_binary(binary_op op, const block_view& out, const block_view& x, const block_view& y) {
    if (x.imag != 0)
        binary_number<N, true>(op, out, x, y);
    else
        binary_number<N, false>(op, out, x, y);
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
    const mdqr_host::merged_axes<3> axes(x.shape, x.ndim, {out.stride, x.stride, exponent.stride});
    parallel_for((size + chunk - 1) / chunk, [&](ptrdiff_t t) {
        cursor<3> at{
            axes.shape, axes.ndim, {axes.stride[0], axes.stride[1], axes.stride[2]}, {}, {}};
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

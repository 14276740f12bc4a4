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

// 2^e, and whether that is a normal number.
inline bool is_power(long long e, double& power) {
    const bool is_normal = e >= -1022 && e <= 1023;
    power = is_normal ? power_of_two(int(e)) : 0.0;
    return is_normal;
}

// Where all limbs stay normal a product with the power is exact; 2^-1022 may have been rounded to.
template <int N>
void mdqr_ldexp(const block_view& out, const block_view& x, const index_view& exponent) {
    block_view powers = x;
    powers.data = reinterpret_cast<double*>(exponent.data); // for its places
    for (int d = 0; d < x.ndim; ++d)
        powers.stride[d] = exponent.stride[d];
    const block_view* const operand[3] = {&out, &x, &powers};
    for_each_group<3>(operand, [&](const group* g, int count, ptrdiff_t) {
        using io = element_io<md<lane, N>>;
        const md<lane, N> a = io::load(x, g[1]);
        double power[host_lanes];
        bool exact = true;
        for (int i = 0; i < host_lanes; ++i)
            exact = is_power(exponent.data[g[2].offset[i]], power[i]) && exact;
        md<lane, N> r = scaled(a, load<lane>(power));
        mask_t<lane> lost = !(abs(r.limb[0]) <= broadcast<lane>(0x1.fffffffffffffp1023));
        static_for<0, N>([&](auto l) MDQR_LAMBDA {
            lost = lost | ((abs(r.limb[l]) <= broadcast<lane>(0x1p-1022)) &
                           (a.limb[l] != broadcast<lane>(0.0)));
        });
        if (!exact || any(lost))
            for (int i = 0; i < count; ++i)
                set_lane_of(r, i, ldexp(lane_of(a, i), exponent.data[g[2].offset[i]]));
        io::store(out, g[0], count, r);
    });
}

template void mdqr_unary<MDQR_LIMBS>(unary_op, const block_view&, const block_view&);
template void mdqr_binary<MDQR_LIMBS>(binary_op, const block_view&, const block_view&,
                                      const block_view&);
template void mdqr_compare<MDQR_LIMBS>(signed char*, const block_view&, const block_view&);
template void mdqr_ldexp<MDQR_LIMBS>(const block_view&, const block_view&, const index_view&);

MDQR_END

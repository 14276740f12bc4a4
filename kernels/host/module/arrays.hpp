// From NumPy's arrays to views: whatever a kernel is told about its blocks is compared with them
// here, so that no kernel reads or writes beyond an array.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <initializer_list>
#include <stdexcept>
#include <string>

#include "module/view.hpp"

namespace mdqr_host {

namespace nb = nanobind;
using input = nb::ndarray<const double, nb::device::cpu>;
using output = nb::ndarray<double, nb::device::cpu>;

inline std::string shape_text(const ptrdiff_t* shape, int ndim) {
    std::string text = "(";
    for (int d = 0; d < ndim; ++d)
        text += std::to_string(shape[d]) + (d + 1 < ndim || ndim == 1 ? ", " : "");
    return text + ")";
}

[[noreturn]] inline void refuse(const std::string& given, const std::string& wanted) {
    throw std::invalid_argument("a kernel was given " + given + "; it wants " + wanted);
}

inline void require_shape(const ptrdiff_t* shape, int ndim, const ptrdiff_t* wanted, int count) {
    bool fits = ndim == count;
    for (int d = 0; d < ndim && fits; ++d)
        fits = shape[d] == wanted[d];
    if (!fits)
        refuse("a block of values of shape " + shape_text(shape, ndim), shape_text(wanted, count));
}
inline void require_shape(const block_view& v, std::initializer_list<ptrdiff_t> wanted) {
    require_shape(v.shape, v.ndim, wanted.begin(), int(wanted.size()));
}
inline void require_same_shape(const block_view& v, const block_view& like) {
    require_shape(v.shape, v.ndim, like.shape, like.ndim);
}
inline void require_axes(const block_view& v, int least) {
    if (v.ndim < least)
        refuse("values of " + std::to_string(v.ndim) + " axes", std::to_string(least) + " or more");
}
inline void require_matrices(const block_view& v) {
    if (v.ndim != 3)
        refuse("values of " + std::to_string(v.ndim) + " axes", "batches of matrices");
}

// A block (N, *shape), or (2, N, *shape) if complex.
template <class Array> block_view view_of(const Array& a, bool complex) {
    const int lead = complex ? 2 : 1;
    const int ndim = int(a.ndim()) - lead;
    if (ndim < 0 || ndim > max_ndim)
        refuse("a block of " + std::to_string(a.ndim()) + " axes",
               std::to_string(lead) + " to " + std::to_string(lead + max_ndim));
    block_view v;
    v.data = (double*)a.data(); // of float32 too, see `window`
    v.limbs = int(a.shape(lead - 1));
    v.plane = a.stride(lead - 1);
    v.imag = complex ? a.stride(0) : 0;
    v.ndim = ndim;
    for (int d = 0; d < ndim; ++d) {
        v.shape[d] = ptrdiff_t(a.shape(lead + d));
        v.stride[d] = a.stride(lead + d);
    }
    if (complex && a.shape(0) != 2)
        refuse("a complex block of " + std::to_string(a.shape(0)) + " parts", "2");
    // A distance of 0 between the planes would read as real.
    if (complex && v.imag == 0 && v.size() != 0)
        refuse("a complex block whose parts are one", "distinct planes");
    return v;
}

// At most `limbs` planes; any number where a kernel reads as many as there are.
constexpr int any_limbs = 1 << 30;
template <class Array> block_view input_view(const Array& a, bool complex, int limbs) {
    const block_view v = view_of(a, complex);
    if (v.limbs < 1 || v.limbs > limbs)
        refuse(std::to_string(v.limbs) + " planes of limbs", "1 to " + std::to_string(limbs));
    return v;
}

// `limbs` planes, and no two values in one place.
template <class Array> block_view output_view(const Array& a, bool complex, int limbs) {
    const block_view v = view_of(a, complex);
    if (v.limbs != limbs)
        refuse(std::to_string(v.limbs) + " planes for the limbs of a result",
               std::to_string(limbs));
    for (int d = 0; d < v.ndim; ++d)
        if (v.stride[d] == 0 && v.shape[d] > 1)
            refuse("a result whose values share their memory", "one place for each");
    return v;
}

} // namespace mdqr_host

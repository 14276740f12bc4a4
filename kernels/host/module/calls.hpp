// What every function of the module does around its kernel.
#pragma once
#include <string>

#include "module/arrays.hpp"
#include "module/dispatch.hpp"
#include "module/gil.hpp"
#include "module/pool.hpp"

namespace mdqr_host {

inline std::string limb_counts() {
    std::string text, last;
#define MDQR_LIMB_COUNT(n)                                                                         \
    text += (text.empty() ? "" : ", ") + last;                                                     \
    last = #n;
#include "mdqr/limb_counts.def"
    return text + " and " + last;
}

inline const entry_table& table(int limbs) {
    const entry_table* t = entries(limbs);
    if (!t)
        throw std::invalid_argument("kernels exist for " + limb_counts() + " limbs, not " +
                                    std::to_string(limbs));
    return *t;
}

// Shapes of arrays without limbs.
template <class Array>
void require_values(const Array& values, const ptrdiff_t* wanted, int count) {
    ptrdiff_t shape[max_ndim];
    const int ndim = int(values.ndim());
    for (int d = 0; d < ndim && d < max_ndim; ++d)
        shape[d] = ptrdiff_t(values.shape(d));
    require_shape(shape, ndim < max_ndim ? ndim : max_ndim, wanted, count);
}

// Python's own sums of doubles around the kernels round as the caller's thread does.
inline void require_nearest() {
    if (rounds_to_nearest())
        return;
    PyErr_SetString(PyExc_FloatingPointError,
                    "this thread does not round to nearest, which mdqr's sums of doubles need; "
                    "call fesetround(FE_TONEAREST) before");
    throw nb::python_error();
}

// A new reference, or the exception that its maker has set.
inline nb::object made(PyObject* object) {
    if (!object)
        throw nb::python_error();
    return nb::steal(object);
}

template <class F> void without_gil(F f) {
    require_nearest();
    released_gil release;
    kernel_call call;
    f();
}

// The same for elementwise calls: for a few values others need not be let in.
constexpr ptrdiff_t few_values = 16;
template <class F> void elementwise(const block_view& out, F f) {
    static_assert(few_values <= elements_a_task, "a pause would take the lock back");
    if (out.size() > few_values)
        return without_gil(f);
    require_nearest();
    float_environment environment;
    f();
}

void bind_elimination(nb::module_& m);
void bind_exact(nb::module_& m);
void bind_paths(nb::module_& m);
void bind_series(nb::module_& m);
void bind_small(nb::module_& m);
void bind_text(nb::module_& m);
void bind_values(nb::module_& m);

} // namespace mdqr_host

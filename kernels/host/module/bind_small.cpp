// The functions of the module for small systems.
#include "module/calls.hpp"

using namespace mdqr_host;
using namespace nanobind::literals;

namespace {

using doubles = nb::ndarray<double, nb::c_contig, nb::device::cpu>;
using integers = nb::ndarray<long long, nb::c_contig, nb::device::cpu>;

// What small systems of the solution x write besides.
small_outputs small_outputs_of(const block_view& x, doubles& error, doubles& condition,
                               integers& steps, integers& status) {
    require_matrices(x);
    require_values(error, x.shape, 3);
    require_values(condition, x.shape, 1);
    require_values(steps, x.shape, 1);
    require_values(status, x.shape, 1);
    return {&x, error.data(), condition.data(), steps.data(), status.data()};
}

// Words of sums have room for so many terms.
void require_small(const block_view& a) {
    if (a.shape[1] > 256 || a.shape[2] > 64)
        refuse("systems of shape " + shape_text(a.shape, 3), "at most 256 rows and 64 columns");
}

void solve_small(doubles error, doubles condition, integers steps, integers status, output x,
                 input a, input b, int limbs, bool complex) {
    const entry_table& t = table(limbs);
    const block_view vx = output_view(x, complex, limbs), va = input_view(a, complex, limbs),
                     vb = input_view(b, complex, limbs);
    const small_outputs out = small_outputs_of(vx, error, condition, steps, status);
    require_shape(va, {vx.shape[0], vx.shape[1], vx.shape[1]});
    require_small(va);
    require_same_shape(vb, vx);
    without_gil([&] { t.solve_small(out, va, vb); });
}

void lstsq_small(doubles error, doubles condition, integers steps, integers status, output x,
                 output residuals, input a, input b, int limbs, bool complex) {
    const entry_table& t = table(limbs);
    const block_view vx = output_view(x, complex, limbs),
                     vr = output_view(residuals, complex, limbs),
                     va = input_view(a, complex, limbs), vb = input_view(b, complex, limbs);
    const small_outputs out = small_outputs_of(vx, error, condition, steps, status);
    require_matrices(vr);
    require_shape(va, {vx.shape[0], vr.shape[1], vx.shape[1]});
    require_shape(vr, {vx.shape[0], vr.shape[1], vx.shape[2]});
    require_same_shape(vb, vr);
    require_small(va);
    if (vr.shape[1] < vx.shape[1])
        refuse("systems of shape " + shape_text(va.shape, 3), "as many rows as columns, or more");
    without_gil([&] { t.lstsq_small(out, vr, va, vb); });
}

} // namespace

void mdqr_host::bind_small(nb::module_& m) {
    m.def("solve_small", &solve_small, "error"_a.noconvert(), "condition"_a.noconvert(),
          "steps"_a.noconvert(), "status"_a.noconvert(), "x"_a.noconvert(), "a"_a.noconvert(),
          "b"_a.noconvert(), "limbs"_a, "complex"_a);
    m.def("lstsq_small", &lstsq_small, "error"_a.noconvert(), "condition"_a.noconvert(),
          "steps"_a.noconvert(), "status"_a.noconvert(), "x"_a.noconvert(),
          "residuals"_a.noconvert(), "a"_a.noconvert(), "b"_a.noconvert(), "limbs"_a, "complex"_a);
}

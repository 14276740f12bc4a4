// The functions of the module for panels of LU and Cholesky factorisations.
#include "module/calls.hpp"

using namespace mdqr_host;
using namespace nanobind::literals;

namespace {

using integers = nb::ndarray<long long, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void lu_panel(output a, integers places, int limbs, bool complex, int first, int last) {
    const entry_table& t = table(limbs);
    const block_view v = output_view(a, complex, limbs);
    require_matrices(v);
    const ptrdiff_t most = v.shape[1] < v.shape[2] ? v.shape[1] : v.shape[2];
    const ptrdiff_t wanted[] = {v.shape[0], most};
    require_values(places, wanted, 2);
    if (first < 0 || last < first || last > most)
        refuse("columns " + std::to_string(first) + " to " + std::to_string(last) +
                   " of matrices of shape " + shape_text(v.shape, 3),
               "columns that have diagonal entries");
    without_gil([&] { t.lu_panel(v, places.data(), most, first, last); });
}

void cholesky_panel(output c, input a, int limbs, bool complex) {
    const entry_table& t = table(limbs);
    const block_view vc = output_view(c, complex, limbs), va = input_view(a, complex, limbs);
    require_matrices(vc);
    require_same_shape(va, vc);
    if (vc.shape[1] > vc.shape[2])
        refuse("panels of shape " + shape_text(vc.shape, 3), "as many columns as rows, or more");
    without_gil([&] { t.cholesky_panel(vc, va); });
}

} // namespace

void mdqr_host::bind_elimination(nb::module_& m) {
    m.def("lu_panel", &lu_panel, "a"_a.noconvert(), "places"_a.noconvert(), "limbs"_a, "complex"_a,
          "first"_a, "last"_a);
    m.def("cholesky_panel", &cholesky_panel, "c"_a.noconvert(), "a"_a.noconvert(), "limbs"_a,
          "complex"_a);
}

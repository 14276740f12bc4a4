// The function of the module for products of series.
#include "module/calls.hpp"

using namespace mdqr_host;
using namespace nanobind::literals;

namespace {

using nodes = nb::ndarray<const long long, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void series_order(output values, output sums, nodes left, nodes right, int order, bool again,
                  int limbs, bool complex) {
    const entry_table& t = table(limbs);
    const block_view v = output_view(values, complex, limbs), s = output_view(sums, complex, limbs);
    require_matrices(v);
    const ptrdiff_t products = ptrdiff_t(left.shape(0)), first = v.shape[1] - products;
    require_values(right, &products, 1);
    require_shape(s, {v.shape[0], products});
    if (order < 0 || order >= v.shape[2] || first < 0)
        refuse("order " + std::to_string(order) + " of " + std::to_string(products) +
                   " products in values of shape " + shape_text(v.shape, 3),
               "an order that is there, and a node for each product");
    for (ptrdiff_t i = 0; i < products; ++i)
        for (const long long node : {left.data()[i], right.data()[i]})
            if (node < 0 || node >= first + i)
                refuse("the product " + std::to_string(i) + " of node " + std::to_string(node),
                       "nodes before it");
    const series_graph graph{left.data(), right.data(), first, products};
    without_gil([&] { t.series_order(v, s, graph, order, again); });
}

} // namespace

void mdqr_host::bind_series(nb::module_& m) {
    m.def("series_order", &series_order, "values"_a.noconvert(), "sums"_a.noconvert(),
          "left"_a.noconvert(), "right"_a.noconvert(), "order"_a, "again"_a, "limbs"_a,
          "complex"_a);
}

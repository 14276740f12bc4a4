// The functions of the module for power series.
#include "mdqr/series_arguments.hpp"
#include "module/calls.hpp"

using namespace mdqr_host;
using namespace nanobind::literals;

namespace {

using indices = nb::ndarray<const long long, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

mdqr_series::view series_view(const block_view& v) {
    return {v.data, v.plane, v.imag, v.stride[0], v.stride[1], v.ndim > 2 ? v.stride[2] : 0};
}

block_view changed(const output& block, std::initializer_list<ptrdiff_t> shape, bool complex,
                   int limbs) {
    const block_view v = output_view(block, complex, limbs);
    require_shape(v, shape);
    return v;
}
block_view read(const input& block, std::initializer_list<ptrdiff_t> shape, bool complex,
                int limbs) {
    const block_view v = view_of(block, complex);
    require_shape(v, shape);
    if (v.limbs != limbs)
        refuse("a block of " + std::to_string(v.limbs) + " limbs", std::to_string(limbs));
    return v;
}

mdqr_series::graph graph_of(const indices& left, const indices& right, const block_view& values) {
    const ptrdiff_t products = ptrdiff_t(left.shape(0)), first = values.shape[1] - products;
    require_values(right, &products, 1);
    if (first < 0)
        refuse(std::to_string(products) + " products in values of shape " +
                   shape_text(values.shape, 3),
               "a node for each product");
    for (ptrdiff_t i = 0; i < products; ++i)
        for (const long long node : {left.data()[i], right.data()[i]})
            if (node < 0 || node >= first + i)
                refuse("the product " + std::to_string(i) + " of node " + std::to_string(node),
                       "nodes before it");
    return {left.data(), right.data(), nullptr, first, products, 0};
}

// Terms of equations: factors (sets, terms, orders), constants (sets, rows, orders).
mdqr_series::equations equations_of(const input& factors, const input& constants,
                                    const indices& start, const indices& node,
                                    const block_view& values, bool complex, int limbs) {
    const block_view f = view_of(factors, complex), c = view_of(constants, complex);
    require_matrices(f);
    require_matrices(c);
    const ptrdiff_t rows = ptrdiff_t(start.shape(0)) - 1, terms = ptrdiff_t(node.shape(0));
    const ptrdiff_t sets = f.shape[0], items = values.shape[0];
    read(factors, {sets, terms, f.shape[2]}, complex, limbs);
    read(constants, {sets, rows, c.shape[2]}, complex, limbs);
    if (sets == 0 || items % sets != 0)
        refuse(std::to_string(sets) + " sets of factors for " + std::to_string(items) + " series",
               "as many series for each");
    bool ordered = rows >= 0 && start.data()[0] == 0 && start.data()[rows] == terms;
    for (ptrdiff_t i = 0; i < rows && ordered; ++i)
        ordered = start.data()[i] <= start.data()[i + 1];
    if (!ordered)
        refuse("rows that do not share " + std::to_string(terms) + " terms", "ascending starts");
    for (ptrdiff_t i = 0; i < terms; ++i)
        if (node.data()[i] < 0 || node.data()[i] >= values.shape[1])
            refuse("a term of node " + std::to_string(node.data()[i]), "a node that is there");
    return {start.data(), node.data(), series_view(f), series_view(c),
            rows,         f.shape[2],  c.shape[2],     items / sets};
}

void require_order(int order, const block_view& values) {
    if (order < 0 || order >= values.shape[2])
        refuse("order " + std::to_string(order) + " in values of shape " +
                   shape_text(values.shape, 3),
               "an order that is there");
}

void series_order(output values, output sums, indices left, indices right, int order, bool again,
                  int limbs, bool complex) {
    const entry_table& t = table(limbs);
    const block_view v = output_view(values, complex, limbs);
    require_matrices(v);
    const mdqr_series::graph products = graph_of(left, right, v);
    const block_view s = changed(sums, {v.shape[0], ptrdiff_t(left.shape(0))}, complex, limbs);
    require_order(order, v);
    const mdqr_series::order_arguments p{series_view(v), series_view(s), products, order};
    without_gil([&] { t.series_order(p, v.shape[0], complex, again); });
}

void series_equations(output out, input values, input factors, input constants, indices start,
                      indices node, int order, int limbs, bool complex) {
    const entry_table& t = table(limbs);
    const block_view v = view_of(values, complex);
    require_matrices(v);
    const mdqr_series::equations terms =
        equations_of(factors, constants, start, node, v, complex, limbs);
    read(values, {v.shape[0], v.shape[1], v.shape[2]}, complex, limbs);
    const block_view r = changed(out, {v.shape[0], ptrdiff_t(terms.rows)}, complex, limbs);
    require_order(order, v);
    const mdqr_series::equation_arguments p{series_view(r), series_view(v), terms, order};
    without_gil([&] { t.series_equations(p, v.shape[0], complex); });
}

void series_expand(output values, input jacobian, input inverse, output work, input factors,
                   input constants, indices left, indices right, indices start, indices node,
                   int first, int end, int limbs, bool complex) {
    const entry_table& t = table(limbs);
    const block_view v = output_view(values, complex, limbs);
    require_matrices(v);
    const ptrdiff_t items = v.shape[0], count = ptrdiff_t(left.shape(0));
    mdqr_series::expand_arguments p{};
    p.values = series_view(v);
    p.products = graph_of(left, right, v);
    p.terms = equations_of(factors, constants, start, node, v, complex, limbs);
    const ptrdiff_t rows = ptrdiff_t(p.terms.rows), variables = ptrdiff_t(p.products.first);
    p.jacobian = series_view(read(jacobian, {items, rows, variables}, complex, limbs));
    p.inverse = series_view(read(inverse, {items, variables, rows}, complex, limbs));
    const block_view w =
        changed(work, {items, count + v.shape[1] + rows + variables}, complex, limbs);
    // One part of the memory to work in after the other.
    p.sums = p.changes = p.rest = p.steps = series_view(w);
    p.changes.data += count * w.stride[1];
    p.rest.data = p.changes.data + v.shape[1] * w.stride[1];
    p.steps.data = p.rest.data + rows * w.stride[1];
    if (first < 1 || end > v.shape[2])
        refuse("orders from " + std::to_string(first) + " to " + std::to_string(end) +
                   " of values of shape " + shape_text(v.shape, 3),
               "orders behind the first");
    p.first = first;
    p.end = end;
    without_gil([&] { t.series_expand(p, items, complex); });
}

} // namespace

void mdqr_host::bind_series(nb::module_& m) {
    m.def("series_order", &series_order, "values"_a.noconvert(), "sums"_a.noconvert(),
          "left"_a.noconvert(), "right"_a.noconvert(), "order"_a, "again"_a, "limbs"_a,
          "complex"_a);
    m.def("series_equations", &series_equations, "out"_a.noconvert(), "values"_a.noconvert(),
          "factors"_a.noconvert(), "constants"_a.noconvert(), "start"_a.noconvert(),
          "node"_a.noconvert(), "order"_a, "limbs"_a, "complex"_a);
    m.def("series_expand", &series_expand, "values"_a.noconvert(), "jacobian"_a.noconvert(),
          "inverse"_a.noconvert(), "work"_a.noconvert(), "factors"_a.noconvert(),
          "constants"_a.noconvert(), "left"_a.noconvert(), "right"_a.noconvert(),
          "start"_a.noconvert(), "node"_a.noconvert(), "first"_a, "end"_a, "limbs"_a, "complex"_a);
}

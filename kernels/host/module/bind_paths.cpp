// The functions of the module for homotopy paths and mixed cells. Tables are checked here, so that
// no kernel reads or writes beyond an array.
#include "module/calls.hpp"
#include "series/cells.hpp"

#include <nanobind/stl/vector.h>

using namespace mdqr_host;
using namespace nanobind::literals;

namespace {

template <class T, int D> using values = nb::ndarray<T, nb::ndim<D>, nb::c_contig, nb::device::cpu>;
using word = mdqr_paths::word;
using words = values<const word, 1>;

void require(bool fits, const char* given, const char* wanted) {
    if (!fits)
        refuse(given, wanted);
}

// Places 0 = starts[0] <= starts[1] <= ... <= count.
void require_starts(const words& starts, word parts, word count) {
    bool fits = word(starts.shape(0)) == parts + 1 && starts.data()[0] == 0 &&
                starts.data()[parts] == count;
    for (word i = 0; fits && i < parts; ++i)
        fits = starts.data()[i] <= starts.data()[i + 1];
    require(fits, "starts of another kind", "ascending ones, from zero to the end");
}

template <class Array> const double* optional(const std::vector<Array>& given) {
    return given.empty() ? nullptr : given[0].data();
}

void require_factors(const mdqr_paths::homotopy& h, const words& variable, const words& power,
                     const words& power_start) {
    require(variable.shape(0) == power.shape(0), "factors of two lengths", "one");
    for (size_t i = 0; i < variable.shape(0); ++i) {
        const word j = variable.data()[i], place = power.data()[i];
        require(j >= 0 && j < h.variables && place > power_start.data()[j] &&
                    place < power_start.data()[j + 1],
                "a factor that is no power of its variable", "exponents of 1 or more");
    }
}

// Of `count` numbers in a block (2, limbs, ...).
mdqr_paths::layout layout_of(word count, int limbs) { return {count, limbs * count, 1}; }

mdqr_paths::homotopy homotopy_of(const words& start, const words& factor_start,
                                 const words& variable, const words& power,
                                 const words& power_start,
                                 const values<const double, 5>& coefficient, int limbs,
                                 const std::vector<values<const double, 2>>& weight,
                                 const std::vector<values<const double, 2>>& patch, double re,
                                 double im) {
    mdqr_paths::homotopy h{};
    h.variables = word(power_start.shape(0)) - 1;
    h.equations = word(start.shape(0)) - 1;
    h.terms = word(coefficient.shape(3));
    h.orders = word(coefficient.shape(4));
    require(h.variables > 0 && h.variables < 1 << 20 && h.equations >= 0 && h.orders > 0 &&
                coefficient.shape(0) == 2 && word(coefficient.shape(1)) == limbs &&
                coefficient.shape(2) > 0,
            "a homotopy without unknowns or coefficients", "some");
    require_starts(start, h.equations, h.terms);
    require_starts(factor_start, h.terms, word(variable.shape(0)));
    for (word j = 0; j < h.variables; ++j)
        require(power_start.data()[j] < power_start.data()[j + 1], "unknowns without powers",
                "those up to the largest exponent");
    require_factors(h, variable, power, power_start);
    require(weight.empty() || limbs == 1, "weights for several limbs", "one limb");
    require(weight.empty() || (weight[0].shape(0) > 0 && word(weight[0].shape(1)) == h.terms),
            "weights of another shape", "(sets, terms)");
    require(patch.empty() || (word(patch[0].shape(0)) == h.variables && patch[0].shape(1) == 2),
            "a patch of another length", "a number for each unknown");
    require(h.equations + word(!patch.empty()) == h.variables, "equations of another number",
            "as many as unknowns");
    h.start = start.data();
    h.factor_start = factor_start.data();
    h.variable = variable.data();
    h.power = power.data();
    h.power_start = power_start.data();
    h.coefficient = coefficient.data();
    h.coefficient_sets = word(coefficient.shape(2));
    h.coefficients = layout_of(h.coefficient_sets * h.terms * h.orders, limbs);
    h.weight = optional(weight);
    h.patch = optional(patch);
    h.gamma[0] = re;
    h.gamma[1] = im;
    h.weight_sets = weight.empty() ? 1 : word(weight[0].shape(0));
    return h;
}

mdqr_paths::points points_of(const mdqr_paths::homotopy& h, int limbs, const values<double, 4>& x,
                             const values<double, 2>& s, const values<double, 1>& step,
                             const values<double, 3>& tangent, const values<double, 4>& past_x,
                             const values<double, 4>& past_tangent, const values<double, 3>& past_s,
                             const values<word, 1>& held, const values<word, 1>& steps,
                             const words& set) {
    const ptrdiff_t count = ptrdiff_t(s.shape(0)), v = ptrdiff_t(h.variables);
    const ptrdiff_t shape[4] = {mdqr_paths::past, v, count, 2}, row[3] = {shape[0], count, 2};
    const ptrdiff_t block[4] = {2, limbs, v, count};
    require_values(x, block, 4);
    require_values(tangent, shape + 1, 3);
    require_values(past_x, shape, 4);
    require_values(past_tangent, shape, 4);
    require_values(past_s, row, 3);
    require_values(s, shape + 2, 2);
    require_values(step, &count, 1);
    require_values(held, &count, 1);
    require_values(steps, &count, 1);
    require_values(set, &count, 1);
    const word most = h.coefficient_sets > h.weight_sets ? h.coefficient_sets : h.weight_sets;
    for (ptrdiff_t i = 0; i < count; ++i)
        require(set.data()[i] >= 0 &&
                    (set.data()[i] < h.coefficient_sets || h.coefficient_sets == 1) &&
                    (set.data()[i] < h.weight_sets || h.weight_sets == 1) && set.data()[i] < most,
                "a set that is not there", "one of those");
    return {x.data(),
            layout_of(word(v) * word(count), limbs),
            s.data(),
            step.data(),
            tangent.data(),
            past_x.data(),
            past_tangent.data(),
            past_s.data(),
            held.data(),
            steps.data(),
            set.data(),
            word(count)};
}

void follow(int limbs, const std::vector<words>& system, values<const double, 5> coefficient,
            std::vector<values<const double, 2>> weight, std::vector<values<const double, 2>> patch,
            double gamma_re, double gamma_im, values<double, 4> x, values<double, 2> s,
            values<double, 1> step, values<double, 3> tangent, values<double, 4> past_x,
            values<double, 4> past_tangent, values<double, 3> past_s, values<word, 1> held,
            values<word, 1> steps, words set, words which, values<word, 1> state, double target_re,
            double target_im, double tolerance, double least, double longest, double vanishing,
            word most, bool jump) {
    table(limbs);
    const follow_paths_entry entry = follow_paths(limbs);
    if (!entry)
        refuse("paths of " + std::to_string(limbs) + " limbs", "at most 8");
    require(system.size() == 5, "tables of another number", "five");
    mdqr_paths::arguments p{};
    p.system = homotopy_of(system[0], system[1], system[2], system[3], system[4], coefficient,
                           limbs, weight, patch, gamma_re, gamma_im);
    p.paths = points_of(p.system, limbs, x, s, step, tangent, past_x, past_tangent, past_s, held,
                        steps, set);
    const ptrdiff_t chosen = ptrdiff_t(which.shape(0));
    require_values(state, &chosen, 1);
    for (ptrdiff_t i = 0; i < chosen; ++i)
        require(which.data()[i] >= 0 && which.data()[i] < p.paths.count, "a path that is not there",
                "one of those");
    p.to = {{target_re, target_im}, tolerance, least, longest, vanishing, most, jump, state.data()};
    p.which = which.data();
    p.chosen = word(chosen);
    without_gil([&] { entry(p); });
}

// Mixed cells: two points of each support a cell, and whether the search came to its end.
nb::tuple mixed_cells(const words& start, values<const word, 2> points,
                      values<const double, 1> lifting, word most) {
    mdqr_cells::problem q{word(start.shape(0)) - 1,
                          word(points.shape(1)),
                          start.data(),
                          points.data(),
                          lifting.data(),
                          most};
    require_starts(start, q.supports, word(points.shape(0)));
    require(lifting.shape(0) == points.shape(0) && q.supports == q.variables && q.variables > 0,
            "supports of another number", "as many as variables");
    mdqr_cells::found found;
    without_gil([&] { found = mdqr_cells::search(q); });
    nb::list cells;
    for (const word place : found.places)
        cells.append(place);
    return nb::make_tuple(cells, found.complete);
}

} // namespace

void mdqr_host::bind_paths(nb::module_& m) {
    m.def("follow_paths", &follow, "limbs"_a, "system"_a, "coefficient"_a.noconvert(), "weight"_a,
          "patch"_a, "gamma_re"_a, "gamma_im"_a, "x"_a.noconvert(), "s"_a.noconvert(),
          "step"_a.noconvert(), "tangent"_a.noconvert(), "past_x"_a.noconvert(),
          "past_tangent"_a.noconvert(), "past_s"_a.noconvert(), "held"_a.noconvert(),
          "steps"_a.noconvert(), "set"_a.noconvert(), "which"_a.noconvert(), "state"_a.noconvert(),
          "target_re"_a, "target_im"_a, "tolerance"_a, "least"_a, "longest"_a, "vanishing"_a,
          "most"_a, "jump"_a);
    m.def("mixed_cells", &mixed_cells, "start"_a.noconvert(), "points"_a.noconvert(),
          "lifting"_a.noconvert(), "most"_a);
}

// The functions of the module for exact products. Residues and tables are checked against each
// other here, so that no kernel reads or writes beyond an array.
#include "module/calls.hpp"

#include <nanobind/stl/vector.h>

using namespace mdqr_host;
using namespace nanobind::literals;

namespace {

template <class T, int D> using values = nb::ndarray<T, nb::ndim<D>, nb::c_contig, nb::device::cpu>;
// Of more panels than are used a plane may be a part: strides are checked where they count.
template <class T, int D> using panels = nb::ndarray<T, nb::ndim<D>, nb::device::cpu>;
using planes_of_bytes = panels<signed char, 5>;
using sums_of_lines = panels<int, 3>;
using exponents = values<const long long, 1>;

constexpr int most_words = 32, most_pieces = 64;

void require(bool fits, const char* given, const char* wanted) {
    if (!fits)
        refuse(given, wanted);
}

mdqr_exact::residues residues_of(const planes_of_bytes& data, const sums_of_lines& sums,
                                 ptrdiff_t lines) {
    constexpr ptrdiff_t width = mdqr_exact::panel_lines;
    const mdqr_exact::residues r{data.data(), sums.data(), lines, ptrdiff_t(data.shape(2)),
                                 sums.stride(0) / width};
    const ptrdiff_t panel = 4 * width * r.fours;
    require(data.stride(4) == 1 && data.stride(3) == 4 && data.stride(2) == 4 * width &&
                data.stride(1) == panel && data.stride(0) == panel * r.stride &&
                sums.stride(2) == 1 && sums.stride(1) == width &&
                sums.stride(0) == width * r.stride && r.stride >= r.panels(),
            "residues with other strides", "panels in a row");
    require(data.shape(3) == mdqr_exact::panel_lines && data.shape(4) == 4 &&
                ptrdiff_t(data.shape(1)) == r.panels() && sums.shape(0) == data.shape(0) &&
                sums.shape(1) == data.shape(1) && sums.shape(2) == data.shape(3),
            "residues of another shape", "(planes, panels, fours, 32, 4) and their sums");
    return r;
}

mdqr_exact::channels channels_of(const values<const int, 1>& modulus, int narrow, int words,
                                 int parts, const values<const int, 2>& low,
                                 const values<const int, 2>& high,
                                 const values<const int, 1>& start) {
    const mdqr_exact::channels c{int(modulus.shape(0)), narrow,     words,       parts,
                                 modulus.data(),        low.data(), high.data(), start.data()};
    require(parts >= 1 && parts <= 2 && words >= 1 && words <= most_words,
            "words of another number", "1 to 32 of each part");
    require(narrow >= 0 && narrow <= c.count && int(low.shape(0)) == c.count &&
                int(start.shape(0)) == c.count && int(high.shape(0)) == c.count - narrow &&
                int(low.shape(1)) == words * parts && int(high.shape(1)) == words * parts,
            "tables of other lengths", "a row for each modulus");
    for (int i = 0; i < c.count; ++i)
        require(c.modulus[i] > 1 && c.modulus[i] <= (i < narrow ? 256 : 32513), "a modulus",
                "at most 256, or 32513 where there are three planes");
    return c;
}

void exact_scan(input x, bool complex, exponents shift, values<long long, 1> top,
                values<long long, 1> bottom) {
    const block_view v = input_view(x, complex, largest_limb_count);
    require(v.ndim == 2, "values of other axes", "a matrix");
    require_values(shift, v.shape + 1, 1);
    require_values(top, v.shape, 1);
    require_values(bottom, v.shape, 1);
    without_gil([&] { exact_entries().scan(v, shift.data(), top.data(), bottom.data()); });
}

void require_line_values(const block_view& x, const mdqr_exact::residues& out,
                         const exponents& exponent, const exponents& shift) {
    require(x.ndim == 2, "values of other axes", "a matrix");
    require(4 * out.fours >= x.shape[1], "residues of shorter lines", "all steps of the lines");
    require_values(exponent, x.shape, 1);
    require_values(shift, x.shape + 1, 1);
}

void exact_residues(planes_of_bytes data, sums_of_lines sums, input x, bool complex,
                    exponents exponent, exponents shift, int tau, values<const int, 1> modulus,
                    int narrow, int words, values<const int, 2> low, values<const int, 2> high,
                    values<const int, 1> start) {
    const block_view v = input_view(x, complex, largest_limb_count);
    const mdqr_exact::channels plan =
        channels_of(modulus, narrow, words, complex ? 2 : 1, low, high, start);
    const mdqr_exact::residues out = residues_of(data, sums, v.shape[0]);
    require_line_values(v, out, exponent, shift);
    require(int(data.shape(0)) == plan.planes(), "planes of another number", "those of the plan");
    require(tau >= 0 && tau < 32 * words - 1, "bits of another number", "as many as words hold");
    without_gil(
        [&] { exact_entries().residues(out, plan, v, exponent.data(), shift.data(), tau); });
}

void exact_magnitudes(planes_of_bytes data, sums_of_lines sums, input x, bool complex,
                      exponents exponent, exponents shift) {
    const block_view v = input_view(x, complex, largest_limb_count);
    const mdqr_exact::residues out = residues_of(data, sums, v.shape[0]);
    require_line_values(v, out, exponent, shift);
    require(data.shape(0) == 1 || data.shape(0) == 2, "planes of another number", "1 or 2");
    without_gil([&] {
        exact_entries().magnitudes(out, int(data.shape(0)), v, exponent.data(), shift.data());
    });
}

void require_pair(const mdqr_exact::residues& a, const mdqr_exact::residues& b) {
    require(a.fours == b.fours && a.fours <= 1 << 15, "lines of other lengths",
            "two operands with lines of one length, at most 2^17");
}

int exact_least(planes_of_bytes left, sums_of_lines left_sums, ptrdiff_t m, planes_of_bytes right,
                sums_of_lines right_sums, ptrdiff_t n) {
    const mdqr_exact::residues a = residues_of(left, left_sums, m),
                               b = residues_of(right, right_sums, n);
    require_pair(a, b);
    const int planes = int(left.shape(0));
    require((planes == 1 || planes == 2) && int(right.shape(0)) == planes,
            "planes of another number", "1 or 2");
    int found = 0;
    without_gil([&] { found = exact_entries().least(a, b, planes); });
    return found;
}

void exact_product(output out, const std::vector<input>& c, bool subtract, int limbs, bool complex,
                   planes_of_bytes left, sums_of_lines left_sums, exponents left_exponent,
                   planes_of_bytes right, sums_of_lines right_sums, exponents right_exponent,
                   values<const int, 1> modulus, int narrow, int words, values<const int, 2> low,
                   values<const int, 2> high, values<const int, 1> start,
                   values<const double, 3> weight, values<const double, 2> fraction,
                   values<const double, 1> product, int width, int unit, int scale) {
    table(limbs);
    const int parts = complex ? 2 : 1;
    const block_view v = output_view(out, complex, limbs);
    require(v.ndim == 2, "values of other axes", "a matrix");
    block_view start_values;
    if (!c.empty()) {
        start_values = input_view(c[0], complex, limbs);
        require_same_shape(start_values, v);
    }
    const mdqr_exact::residues a = residues_of(left, left_sums, v.shape[0]),
                               b = residues_of(right, right_sums, v.shape[1]);
    require_pair(a, b);
    require_values(left_exponent, v.shape, 1);
    require_values(right_exponent, v.shape + 1, 1);
    const mdqr_exact::channels plan = channels_of(modulus, narrow, words, parts, low, high, start);
    require(int(left.shape(0)) == plan.planes() && int(right.shape(0)) == plan.planes(),
            "planes of another number", "those of the plan");
    const mdqr_exact::reconstruction back{
        plan.count / parts, int(weight.shape(2)), width,         unit, scale,
        weight.data(),      fraction.data(),      product.data()};
    require(plan.count % parts == 0 && int(weight.shape(0)) == parts &&
                int(weight.shape(1)) == back.moduli && int(fraction.shape(0)) == parts &&
                int(fraction.shape(1)) == back.moduli && int(product.shape(0)) == back.pieces &&
                back.pieces >= 1 && back.pieces <= most_pieces,
            "weights of another shape", "(parts, moduli, pieces)");
    require(width >= 30 && width <= 52 && unit >= 0 && unit <= 1000 &&
                width * back.pieces - unit <= 1000,
            "digits of another size", "digits that doubles hold");
    without_gil([&] {
        exact_entries().product(v, c.empty() ? nullptr : &start_values, subtract, a,
                                left_exponent.data(), b, right_exponent.data(), plan, back);
    });
}

} // namespace

void mdqr_host::bind_exact(nb::module_& m) {
    m.def("exact_scan", &exact_scan, "x"_a.noconvert(), "complex"_a, "shift"_a.noconvert(),
          "top"_a.noconvert(), "bottom"_a.noconvert());
    m.def("exact_residues", &exact_residues, "data"_a.noconvert(), "sums"_a.noconvert(),
          "x"_a.noconvert(), "complex"_a, "exponent"_a.noconvert(), "shift"_a.noconvert(), "tau"_a,
          "modulus"_a.noconvert(), "narrow"_a, "words"_a, "low"_a.noconvert(), "high"_a.noconvert(),
          "start"_a.noconvert());
    m.def("exact_magnitudes", &exact_magnitudes, "data"_a.noconvert(), "sums"_a.noconvert(),
          "x"_a.noconvert(), "complex"_a, "exponent"_a.noconvert(), "shift"_a.noconvert());
    m.def("exact_least", &exact_least, "left"_a.noconvert(), "left_sums"_a.noconvert(), "m"_a,
          "right"_a.noconvert(), "right_sums"_a.noconvert(), "n"_a);
    m.def("exact_product", &exact_product, "out"_a.noconvert(), "c"_a.noconvert(), "subtract"_a,
          "limbs"_a, "complex"_a, "left"_a.noconvert(), "left_sums"_a.noconvert(),
          "left_exponent"_a.noconvert(), "right"_a.noconvert(), "right_sums"_a.noconvert(),
          "right_exponent"_a.noconvert(), "modulus"_a.noconvert(), "narrow"_a, "words"_a,
          "low"_a.noconvert(), "high"_a.noconvert(), "start"_a.noconvert(), "weight"_a.noconvert(),
          "fraction"_a.noconvert(), "product"_a.noconvert(), "width"_a, "unit"_a, "scale"_a);
}

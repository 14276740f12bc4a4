// The module _mdqr_host: arrays become views, names become entries. No arithmetic, no checks of
// shapes.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "dispatch.hpp"
#include "pool.hpp"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace nb = nanobind;
using namespace mdqr_host;

namespace {

using input = nb::ndarray<const double, nb::device::cpu>;
using output = nb::ndarray<double, nb::device::cpu>;

// A block (N, *shape), or (2, N, *shape) if complex.
template <class Array> block_view view(const Array& a, bool complex) {
    const int lead = complex ? 2 : 1;
    const int ndim = int(a.ndim()) - lead;
    if (ndim < 0 || ndim > max_ndim)
        throw std::invalid_argument("blocks have 0 to 32 value dimensions");
    block_view v{};
    v.data = (double*)a.data(); // of float32 too, see `window`
    v.limbs = int(a.shape(lead - 1));
    v.plane = a.stride(lead - 1);
    v.imag = complex ? a.stride(0) : 0;
    v.ndim = ndim;
    for (int d = 0; d < ndim; ++d) {
        v.shape[d] = ptrdiff_t(a.shape(lead + d));
        v.stride[d] = a.stride(lead + d);
    }
    return v;
}

template <class Array> block_view checked_view(const Array& a, bool complex) {
    const block_view v = view(a, complex);
    // A distance of 0 between the planes would read as real.
    if (complex && v.imag == 0 && v.size() != 0)
        throw std::invalid_argument("complex blocks have distinct planes");
    return v;
}

const entry_table& table(int limbs) {
    const entry_table* t = entries(limbs);
    if (!t)
        throw std::invalid_argument("kernels exist for 1, 2, 4 and 8 limbs, not " +
                                    std::to_string(limbs));
    return *t;
}

template <class Enum, int K> Enum find(const char* const (&names)[K], const std::string& op) {
    for (int i = 0; i < K; ++i)
        if (op == names[i])
            return Enum(i);
    throw std::invalid_argument("unknown operation '" + op + "'");
}

const char* const unary_names[] = {"sqrt",        "square", "reciprocal", "abs",
                                   "renormalize", "floor",  "ceil",       "rint"};
const char* const binary_names[] = {"add", "subtract", "multiply", "divide", "hypot"};
const char* const reduce_names[] = {"sum", "prod"};

template <class Entry> Entry* existing(Entry* entry) {
    if (!entry)
        throw std::invalid_argument(
            "no kernel for one limb: float64 products and panels are NumPy's");
    return entry;
}

template <class F> void without_gil(F f) {
    nb::gil_scoped_release release;
    float_environment environment;
    f();
}

void unary(const std::string& op, output out, input x, int limbs, bool complex) {
    const unary_op code = find<unary_op>(unary_names, op);
    const block_view o = checked_view(out, complex && code != unary_op::abs),
                     a = checked_view(x, complex);
    const entry_table& t = table(limbs);
    without_gil([&] { t.unary(code, o, a); });
}

void binary(const std::string& op, output out, input x, input y, int limbs, bool complex) {
    const binary_op code = find<binary_op>(binary_names, op);
    const block_view o = checked_view(out, complex), a = checked_view(x, complex),
                     b = checked_view(y, complex);
    const entry_table& t = table(limbs);
    without_gil([&] { t.binary(code, o, a, b); });
}

void compare(nb::ndarray<signed char, nb::c_contig, nb::device::cpu> out, input x, input y,
             int limbs) {
    const block_view a = view(x, false), b = view(y, false);
    const entry_table& t = table(limbs);
    signed char* p = out.data();
    without_gil([&] { t.compare(p, a, b); });
}

void ldexp_blocks(output out, input x, nb::ndarray<const long long, nb::device::cpu> exponent,
                  int limbs) {
    const block_view o = view(out, false), a = view(x, false);
    index_view e{const_cast<long long*>(exponent.data()), int(exponent.ndim()), {}, {}};
    for (int d = 0; d < e.ndim; ++d) {
        e.shape[d] = ptrdiff_t(exponent.shape(d));
        e.stride[d] = exponent.stride(d);
    }
    const entry_table& t = table(limbs);
    without_gil([&] { t.ldexp(o, a, e); });
}

void reduce(const std::string& op, output out, input x, int limbs, bool complex) {
    const reduce_op code = find<reduce_op>(reduce_names, op);
    const block_view o = checked_view(out, complex), a = checked_view(x, complex);
    const entry_table& t = table(limbs);
    without_gil([&] { t.reduce(code, o, a); });
}

void cumsum(output out, input x, int limbs, bool complex) {
    const block_view o = checked_view(out, complex), a = checked_view(x, complex);
    const entry_table& t = table(limbs);
    without_gil([&] { t.cumsum(o, a); });
}

void argreduce(bool maximum, nb::ndarray<long long, nb::c_contig, nb::device::cpu> out, input x,
               int limbs) {
    const block_view a = view(x, false);
    const entry_table& t = table(limbs);
    long long* p = out.data();
    without_gil([&] { t.argreduce(maximum, p, a); });
}

void matmul(output out, std::vector<input> c, input a, input b, int limbs, bool complex,
            bool conj_a, bool conj_b, bool subtract) {
    const block_view o = checked_view(out, complex), x = checked_view(a, complex),
                     y = checked_view(b, complex);
    block_view addend{};
    if (!c.empty())
        addend = checked_view(c[0], complex);
    const auto entry = existing(table(limbs).matmul);
    without_gil([&] { entry(o, c.empty() ? nullptr : &addend, x, y, conj_a, conj_b, subtract); });
}

void residual(output out, std::vector<int> signs, std::vector<input> terms, input a, input b,
              int limbs, bool complex, bool conj_a) {
    const block_view o = checked_view(out, complex), x = checked_view(a, complex),
                     y = checked_view(b, complex);
    std::vector<block_view> views;
    for (const input& term : terms)
        views.push_back(checked_view(term, complex));
    const auto entry = existing(table(limbs).residual);
    without_gil([&] { entry(o, views.data(), signs.data(), int(views.size()), x, y, conj_a); });
}

void qr_panel(output h, output tau, output t, input a, int limbs, bool complex) {
    const block_view vh = checked_view(h, complex), vtau = checked_view(tau, complex),
                     vt = checked_view(t, complex), va = checked_view(a, complex);
    const auto entry = existing(table(limbs).qr_panel);
    without_gil([&] { entry(vh, vtau, vt, va); });
}

void solve_triangular_tile(output out, input a, input b, int limbs, bool complex, bool lower,
                           bool unit_diagonal) {
    const block_view o = checked_view(out, complex), x = checked_view(a, complex),
                     y = checked_view(b, complex);
    const entry_table& t = table(limbs);
    without_gil([&] { t.solve_triangular_tile(o, x, y, lower, unit_diagonal); });
}

// r, then at most one of each. Elements are double, or float where there is one limb.
template <class Array>
void window(Array r, std::vector<Array> left, std::vector<Array> right, int below, int lanes,
            int limbs, bool complex) {
    const bool single = std::is_same_v<typename Array::Scalar, float>;
    const block_view v = checked_view(r, complex);
    block_view others[2];
    const block_view* given[2] = {nullptr, nullptr};
    const std::vector<Array>* const lists[2] = {&left, &right};
    for (int i = 0; i < 2; ++i)
        if (!lists[i]->empty()) {
            others[i] = checked_view((*lists[i])[0], complex);
            given[i] = &others[i];
        }
    const auto entry = table(limbs).window;
    without_gil([&] { entry(v, given[0], given[1], below, lanes, single); });
}

// Error-free transforms must be error-free with the flags this module was built with.
void self_test() {
    float_environment environment;
    volatile double a = 1.0 + 0x1p-52, tiny = 0x1p-1074, half = 0.5;
    block_view x{}, out{};
    double value[2] = {a, 0.0}, square[2] = {0.0, 0.0};
    x.data = value;
    out.data = square;
    x.limbs = out.limbs = 2;
    x.plane = out.plane = 1;
    table(2).unary(unary_op::square, out, x);
    const bool exact = square[0] == 1.0 + 0x1p-51 && square[1] == 0x1p-104;
    if (!exact || tiny * 2.0 * half != tiny)
        throw std::runtime_error(
            "mdqr: the kernels do not keep rounding errors on this machine; please report it");
}

} // namespace

NB_MODULE(_mdqr_host, m) {
    try {
        choose_level();
        num_threads();
    } catch (const std::invalid_argument& error) {
        throw nb::import_error(error.what());
    }
    self_test();
    nb::dict digests;
    digests["include"] = MDQR_INCLUDE_DIGEST;
    digests["host"] = MDQR_HOST_DIGEST;
    m.attr("digests") = digests;
    m.attr("compiler") = MDQR_COMPILER;
    m.def("level", [] { return std::string(level_name()); });
    m.def("num_threads", &num_threads);
    m.def("set_num_threads", &set_num_threads);
    m.def("set_ftz", [](bool on) {
#if defined(__SSE2__)
        _mm_setcsr(on ? _mm_getcsr() | 0x8040u : _mm_getcsr() & ~0x8040u);
#else
        if (on) throw std::invalid_argument("set_ftz: x86 only");
#endif
    });
    m.def("unary", &unary);
    m.def("binary", &binary);
    m.def("compare", &compare);
    m.def("ldexp", &ldexp_blocks);
    m.def("reduce", &reduce);
    m.def("cumsum", &cumsum);
    m.def("argreduce", &argreduce);
    m.def("matmul", &matmul);
    m.def("residual", &residual);
    m.def("qr_panel", &qr_panel);
    m.def("solve_triangular_tile", &solve_triangular_tile);
    m.def("window", &window<output>);
    m.def("window_float32", &window<nb::ndarray<float, nb::device::cpu>>);
}

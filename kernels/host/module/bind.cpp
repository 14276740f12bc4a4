// The module _mdqr_host: arrays become views, names become entries. No arithmetic.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "module/calls.hpp"
#include "products/matmul_scratch.hpp"
#include "module/pool.hpp"
#include "module/self_test.hpp"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

using namespace mdqr_host;
using namespace nanobind::literals;

namespace {

template <class Enum, int K> Enum find(const char* const (&names)[K], const char* op) {
    for (int i = 0; i < K; ++i)
        if (std::strcmp(op, names[i]) == 0)
            return Enum(i);
    throw std::invalid_argument("unknown operation '" + std::string(op) + "'");
}

const char* const unary_names[] = {
#define MDQR_UNARY_OP(name, kind) #name,
#include "mdqr/operations.def"
};
const char* const binary_names[] = {
#define MDQR_BINARY_OP(name, kind) #name,
#include "mdqr/operations.def"
};
const char* const reduce_names[] = {
#define MDQR_REDUCE_OP(name, operation, start) #name,
#include "mdqr/operations.def"
};

template <class Entry> Entry* existing(Entry* entry) {
    if (!entry)
        throw std::invalid_argument(
            "no kernel for one limb: float64 products and panels are NumPy's");
    return entry;
}

// Signal handlers run between the tasks of a call, so that Ctrl-C ends it. What they compute takes
// other working memory.
void run_signal_handlers() {
    kept_scratch kept;
    taken_gil gil;
    if (PyErr_CheckSignals() != 0)
        throw nb::python_error();
}

void unary(const char* op, output out, input x, int limbs, bool complex) {
    const unary_op code = find<unary_op>(unary_names, op);
    const entry_table& t = table(limbs);
    const block_view o = output_view(out, complex && code != unary_op::abs, limbs),
                     a = input_view(x, complex, code == unary_op::renormalize ? any_limbs : limbs);
    require_same_shape(a, o);
    elementwise(o, [&] { t.unary(code, o, a); });
}

void binary(const char* op, output out, input x, input y, int limbs, bool complex) {
    const binary_op code = find<binary_op>(binary_names, op);
    const entry_table& t = table(limbs);
    const block_view o = output_view(out, complex, limbs), a = input_view(x, complex, limbs),
                     b = input_view(y, complex, limbs);
    require_same_shape(a, o);
    require_same_shape(b, o);
    elementwise(o, [&] { t.binary(code, o, a, b); });
}

void compare(nb::ndarray<signed char, nb::c_contig, nb::device::cpu> out, input x, input y,
             int limbs) {
    const entry_table& t = table(limbs);
    const block_view a = input_view(x, false, limbs), b = input_view(y, false, limbs);
    require_same_shape(b, a);
    require_values(out, a.shape, a.ndim);
    signed char* p = out.data();
    elementwise(a, [&] { t.compare(p, a, b); });
}

void ldexp_blocks(output out, input x, nb::ndarray<const long long, nb::device::cpu> exponent,
                  int limbs) {
    const entry_table& t = table(limbs);
    const block_view o = output_view(out, false, limbs), a = input_view(x, false, limbs);
    require_same_shape(a, o);
    require_values(exponent, a.shape, a.ndim);
    index_view e{const_cast<long long*>(exponent.data()), a.ndim, {}, {}};
    for (int d = 0; d < e.ndim; ++d) {
        e.shape[d] = a.shape[d];
        e.stride[d] = exponent.stride(d);
    }
    without_gil([&] { t.ldexp(o, a, e); });
}

void reduce(const char* op, output out, input x, int limbs, bool complex) {
    const reduce_op code = find<reduce_op>(reduce_names, op);
    const entry_table& t = table(limbs);
    const block_view o = output_view(out, complex, limbs), a = input_view(x, complex, limbs);
    require_axes(a, 1);
    require_shape(a.shape, a.ndim - 1, o.shape, o.ndim);
    without_gil([&] { t.reduce(code, o, a); });
}

void cumsum(output out, input x, int limbs, bool complex) {
    const entry_table& t = table(limbs);
    const block_view o = output_view(out, complex, limbs), a = input_view(x, complex, limbs);
    require_axes(a, 1);
    require_same_shape(a, o);
    without_gil([&] { t.cumsum(o, a); });
}

void argreduce(bool maximum, nb::ndarray<long long, nb::c_contig, nb::device::cpu> out, input x,
               int limbs) {
    const entry_table& t = table(limbs);
    const block_view a = input_view(x, false, limbs);
    require_axes(a, 1);
    require_values(out, a.shape, a.ndim - 1);
    if (a.shape[a.ndim - 1] == 0)
        refuse("rows without values", "one value or more");
    long long* p = out.data();
    without_gil([&] { t.argreduce(maximum, p, a); });
}

// out (batch, m, n), a (batch, m, k), b (batch, k, n).
void require_product(const block_view& o, const block_view& a, const block_view& b) {
    require_matrices(o);
    require_matrices(a);
    require_shape(a, {o.shape[0], o.shape[1], a.shape[2]});
    require_shape(b, {o.shape[0], a.shape[2], o.shape[2]});
}

void matmul(output out, std::vector<input> c, input a, input b, int limbs, bool complex,
            bool conj_a, bool conj_b, bool subtract) {
    const auto entry = existing(table(limbs).matmul);
    const block_view o = output_view(out, complex, limbs), x = input_view(a, complex, limbs),
                     y = input_view(b, complex, limbs);
    require_product(o, x, y);
    block_view addend;
    if (!c.empty()) {
        addend = input_view(c[0], complex, limbs);
        require_same_shape(addend, o);
    }
    without_gil([&] { entry(o, c.empty() ? nullptr : &addend, x, y, conj_a, conj_b, subtract); });
}

void residual(output out, std::vector<int> signs, std::vector<input> terms, input a, input b,
              int limbs, bool complex, bool conj_a) {
    const auto entry = existing(table(limbs).residual);
    const block_view o = output_view(out, complex, limbs), x = input_view(a, complex, limbs),
                     y = input_view(b, complex, limbs);
    require_product(o, x, y);
    std::vector<block_view> views;
    for (const input& term : terms) {
        views.push_back(input_view(term, complex, any_limbs));
        require_same_shape(views.back(), o);
    }
    if (signs.size() != terms.size())
        refuse(std::to_string(signs.size()) + " signs", "one for each term");
    without_gil([&] { entry(o, views.data(), signs.data(), int(views.size()), x, y, conj_a); });
}

void qr_panel(output h, output tau, output t, input a, int limbs, bool complex) {
    const auto entry = existing(table(limbs).qr_panel);
    const block_view vh = output_view(h, complex, limbs), vtau = output_view(tau, complex, limbs),
                     vt = output_view(t, complex, limbs), va = input_view(a, complex, limbs);
    require_matrices(va);
    const ptrdiff_t items = va.shape[0], w = va.shape[2];
    require_same_shape(vh, va);
    require_shape(vtau, {items, w});
    require_shape(vt, {items, w, w});
    if (va.shape[1] < w)
        refuse("panels of shape " + shape_text(va.shape, 3), "as many rows as columns, or more");
    without_gil([&] { entry(vh, vtau, vt, va); });
}

void solve_triangular_tile(output out, input a, input b, int limbs, bool complex, bool lower,
                           bool unit_diagonal) {
    const entry_table& t = table(limbs);
    const block_view o = output_view(out, complex, limbs), x = input_view(a, complex, limbs),
                     y = input_view(b, complex, limbs);
    require_matrices(o);
    require_shape(x, {o.shape[0], o.shape[1], o.shape[1]});
    require_same_shape(y, o);
    without_gil([&] { t.solve_triangular_tile(o, x, y, lower, unit_diagonal); });
}

// What module/entries.hpp says of r (batch, m, w).
void require_window(const block_view& r, int below, int lanes) {
    require_matrices(r);
    const ptrdiff_t m = r.shape[1], w = r.shape[2];
    const bool rises = w == 1 && below == 0;
    if (below < 0 || m < 1 || w < 1 || (!rises && (m < w || m > w + below || below >= m)))
        refuse("windows of shape " + shape_text(r.shape, 3) + " with " + std::to_string(below) +
                   " diagonals below the main one",
               "rows down to the last of them");
    if (lanes != 1 && lanes != 2 && lanes != 4 && lanes != 8)
        refuse(std::to_string(lanes) + " parts of a sum", "1, 2, 4 or 8");
}

// r, then at most one of each. Elements are double, or float where there is one limb.
template <class Array>
void window(Array r, std::vector<Array> left, std::vector<Array> right, int below, int lanes,
            int limbs, bool complex) {
    const bool single = std::is_same_v<typename Array::Scalar, float>;
    if (single && limbs != 1)
        refuse(std::to_string(limbs) + " limbs of single precision", "1");
    const auto entry = table(limbs).window;
    const block_view v = output_view(r, complex, limbs);
    require_window(v, below, lanes);
    block_view first, second;
    if (!left.empty()) {
        first = output_view(left[0], complex, limbs);
        require_matrices(first);
        require_shape(first, {v.shape[0], v.shape[1], first.shape[2]});
    }
    if (!right.empty()) {
        second = output_view(right[0], complex, limbs);
        require_matrices(second);
        require_shape(second, {v.shape[0], second.shape[1], v.shape[1]});
    }
    without_gil([&] {
        entry(v, left.empty() ? nullptr : &first, right.empty() ? nullptr : &second, below, lanes,
              single);
    });
}

} // namespace

NB_MODULE(_mdqr_host, m) {
    // Taking Python's lock back would wait for that of the main interpreter.
    if (PyInterpreterState_Get() != PyInterpreterState_Main())
        throw nb::import_error("mdqr computes in the main interpreter of a process, and not in a "
                               "subinterpreter; use a process of its own");
    try {
        choose_level();
        num_threads();
    } catch (const std::invalid_argument& error) {
        throw nb::import_error(error.what());
    }
    self_test();
    set_pause(&run_signal_handlers); // takes a GIL that was released
    nb::dict digests;
    digests["include"] = MDQR_INCLUDE_DIGEST;
    digests["host"] = MDQR_HOST_DIGEST;
    m.attr("digests") = digests;
    m.attr("compiler") = MDQR_COMPILER;
    m.def("level", [] { return std::string(level_name()); });
    m.def("num_threads", &num_threads);
    m.def("set_num_threads", &set_num_threads, "count"_a);
    m.def(
        "set_ftz",
        [](bool on) {
#if defined(__SSE2__)
            _mm_setcsr(on ? _mm_getcsr() | 0x8040u : _mm_getcsr() & ~0x8040u);
#else
            if (on)
                throw std::invalid_argument("set_ftz: x86 only");
#endif
        },
        "on"_a);
    // An array is taken as it is or refused: a converted copy of a result would be lost.
    m.def("unary", &unary, "op"_a, "out"_a.noconvert(), "x"_a.noconvert(), "limbs"_a, "complex"_a);
    m.def("binary", &binary, "op"_a, "out"_a.noconvert(), "x"_a.noconvert(), "y"_a.noconvert(),
          "limbs"_a, "complex"_a);
    m.def("compare", &compare, "out"_a.noconvert(), "x"_a.noconvert(), "y"_a.noconvert(),
          "limbs"_a);
    m.def("ldexp", &ldexp_blocks, "out"_a.noconvert(), "x"_a.noconvert(), "exponent"_a.noconvert(),
          "limbs"_a);
    m.def("reduce", &reduce, "op"_a, "out"_a.noconvert(), "x"_a.noconvert(), "limbs"_a,
          "complex"_a);
    m.def("cumsum", &cumsum, "out"_a.noconvert(), "x"_a.noconvert(), "limbs"_a, "complex"_a);
    m.def("argreduce", &argreduce, "maximum"_a, "out"_a.noconvert(), "x"_a.noconvert(), "limbs"_a);
    m.def("matmul", &matmul, "out"_a.noconvert(), "c"_a.noconvert(), "a"_a.noconvert(),
          "b"_a.noconvert(), "limbs"_a, "complex"_a, "conj_a"_a, "conj_b"_a, "subtract"_a);
    m.def("residual", &residual, "out"_a.noconvert(), "signs"_a, "terms"_a.noconvert(),
          "a"_a.noconvert(), "b"_a.noconvert(), "limbs"_a, "complex"_a, "conj_a"_a);
    m.def("qr_panel", &qr_panel, "h"_a.noconvert(), "tau"_a.noconvert(), "t"_a.noconvert(),
          "a"_a.noconvert(), "limbs"_a, "complex"_a);
    m.def("solve_triangular_tile", &solve_triangular_tile, "out"_a.noconvert(), "a"_a.noconvert(),
          "b"_a.noconvert(), "limbs"_a, "complex"_a, "lower"_a, "unit_diagonal"_a);
    bind_elimination(m);
    bind_exact(m);
    bind_paths(m);
    bind_series(m);
    bind_small(m);
    bind_text(m);
    bind_values(m);
    m.def("window", &window<output>, "r"_a.noconvert(), "left"_a.noconvert(), "right"_a.noconvert(),
          "below"_a, "lanes"_a, "limbs"_a, "complex"_a);
    m.def("window_float32", &window<nb::ndarray<float, nb::device::cpu>>, "r"_a.noconvert(),
          "left"_a.noconvert(), "right"_a.noconvert(), "below"_a, "lanes"_a, "limbs"_a,
          "complex"_a);
}

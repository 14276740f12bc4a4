// Arithmetic of single real values, which a loop in Python is made of: from one array object to
// another, without views and calls in between.
#include <atomic>
#include <cstring>
#include <mutex>
#include <utility>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <Python.h>
#include <structmember.h>

#include <numpy/arrayobject.h>

#include "module/calls.hpp"

using namespace mdqr_host;
using namespace nanobind::literals;

namespace {

// What is done to one value: the operations of real numbers, and two of signs.
constexpr struct {
    const char* name;
    operands kind;
} unary_forms[] = {
#define MDQR_UNARY_OP(name, kind) {#name, operands::kind},
#include "mdqr/operations.def"
};
constexpr int forms = int(sizeof unary_forms / sizeof *unary_forms), negative = forms,
              absolute = forms + 1;
PyObject* unary_codes = nullptr; // by name

constexpr const char* names[] = {"add", "subtract", "multiply", "divide"};
constexpr binary_op codes[] = {binary_op::add, binary_op::subtract, binary_op::multiply,
                               binary_op::divide};

// The class of arrays, and where its objects have their slots: written once, the class last, so
// that a thread that sees it sees the slots.
std::atomic<PyTypeObject*> array_type{nullptr};
Py_ssize_t block_slot = 0, precision_slot = 0, complex_slot = 0;

Py_ssize_t offset_of(nb::handle type, const char* name) {
    const nb::object found = type.attr(name);
    if (!PyObject_TypeCheck(found.ptr(), &PyMemberDescr_Type))
        refuse(std::string("a class without the slot ") + name, "the class of arrays");
    return reinterpret_cast<PyMemberDescrObject*>(found.ptr())->d_member->offset;
}

PyObject*& slot(PyObject* array, Py_ssize_t offset) {
    return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(array) + offset);
}

void register_arrays(nb::handle type) {
    if (!PyType_Check(type.ptr()))
        refuse("an object", "the class of arrays");
    const Py_ssize_t block = offset_of(type, "_block"), precision = offset_of(type, "_precision"),
                     complex = offset_of(type, "_complex");
    static std::mutex first_use; // of threads that import at once; Python is not called within
    const std::lock_guard<std::mutex> lock(first_use);
    if (array_type)
        return;
    block_slot = block;
    precision_slot = precision;
    complex_slot = complex;
    Py_INCREF(type.ptr()); // for as long as the process lasts
    array_type = reinterpret_cast<PyTypeObject*>(type.ptr());
}

// One real value: of an array on the CPU, or a number of Python that is a double.
struct value {
    block_view view{};
    double number = 0;
    PyObject* precision = nullptr;

    bool take(PyObject* x) {
        view.plane = 1;
        if (Py_TYPE(x) == array_type)
            return take_array(x);
        view.data = &number;
        view.limbs = 1;
        if (PyFloat_CheckExact(x)) {
            number = PyFloat_AS_DOUBLE(x);
            return true;
        }
        int overflow = 1;
        const long long whole =
            PyLong_CheckExact(x) ? PyLong_AsLongLongAndOverflow(x, &overflow) : 0;
        number = double(whole);
        return overflow == 0 && whole >= -(1ll << 53) && whole <= 1ll << 53;
    }

private:
    // A real value has one axis, of its limbs.
    bool take_array(PyObject* x) {
        PyObject* const block = slot(x, block_slot);
        if (!block || !PyArray_CheckExact(block))
            return false;
        PyArrayObject* const limbs = reinterpret_cast<PyArrayObject*>(block);
        if (PyArray_NDIM(limbs) != 1 || PyArray_TYPE(limbs) != NPY_DOUBLE ||
            !PyArray_ISBEHAVED_RO(limbs) || PyArray_STRIDE(limbs, 0) % ptrdiff_t(sizeof(double)))
            return false;
        view.data = static_cast<double*>(PyArray_DATA(limbs));
        view.limbs = int(PyArray_DIM(limbs, 0));
        view.plane = PyArray_STRIDE(limbs, 0) / ptrdiff_t(sizeof(double));
        precision = slot(x, precision_slot);
        return true;
    }
};

nb::object new_block(int limbs, block_view& out) {
    const npy_intp shape = limbs;
    nb::object block = made(PyArray_EMPTY(1, &shape, NPY_DOUBLE, 0));
    out.data = static_cast<double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(block.ptr())));
    out.limbs = limbs;
    out.plane = 1;
    return block;
}

nb::object wrapped(nb::object block, PyObject* precision) {
    PyTypeObject* const type = array_type;
    nb::object result = made(type->tp_alloc(type, 0));
    slot(result.ptr(), block_slot) = block.release().ptr();
    slot(result.ptr(), precision_slot) = Py_NewRef(precision);
    slot(result.ptr(), complex_slot) = Py_NewRef(Py_False);
    return result;
}

// The array of the result in the higher precision; None where it takes more to find it.
nb::object operate(nb::handle op, nb::handle x, nb::handle y) {
    value a, b;
    if (!array_type || !PyUnicode_Check(op.ptr()) || !a.take(x.ptr()) || !b.take(y.ptr()))
        return nb::none();
    PyObject* const precision =
        a.view.limbs >= b.view.limbs && a.precision ? a.precision : b.precision;
    const int limbs = a.view.limbs >= b.view.limbs ? a.view.limbs : b.view.limbs;
    const entry_table* t = entries(limbs);
    int code = 0;
    while (code < 4 && PyUnicode_CompareWithASCIIString(op.ptr(), names[code]) != 0)
        ++code;
    if (!precision || !t || code == 4)
        return nb::none();
    block_view out{};
    nb::object block = new_block(limbs, out);
    {
        require_nearest();
        const float_environment environment;
        t->binary(codes[code], out, a.view, b.view);
    }
    return wrapped(std::move(block), precision);
}

// By bits; zero limbs below the first stay +0.
void change_sign(const block_view& out, const block_view& x, bool flip) {
    for (int i = 0; i < x.limbs; ++i) {
        unsigned long long bits;
        std::memcpy(&bits, x.data + i * x.plane, sizeof bits);
        if (i == 0)
            flip |= bits >> 63 != 0;
        if (flip && (i == 0 || bits != 0))
            bits ^= 1ull << 63;
        std::memcpy(out.data + i, &bits, sizeof bits);
    }
}

// A function of the value of an array; None as above.
nb::object apply(nb::handle op, nb::handle x) {
    value a;
    if (!array_type || Py_TYPE(x.ptr()) != array_type || !a.take(x.ptr()))
        return nb::none();
    PyObject* const found = PyDict_GetItemWithError(unary_codes, op.ptr());
    const entry_table* t = entries(a.view.limbs);
    if (!found && PyErr_Occurred())
        throw nb::python_error();
    if (!found || !t)
        return nb::none();
    const int code = int(PyLong_AsLong(found));
    block_view out{};
    nb::object block = new_block(a.view.limbs, out);
    if (code >= forms) {
        change_sign(out, a.view, code == negative);
    } else {
        require_nearest();
        const float_environment environment;
        t->unary(unary_op(code), out, a.view);
    }
    return wrapped(std::move(block), a.precision);
}

// The sign of the exact difference, 2 where a NaN takes part; None as above.
nb::object order(nb::handle x, nb::handle y) {
    value a, b;
    if (!array_type || !a.take(x.ptr()) || !b.take(y.ptr()) || !(a.precision || b.precision))
        return nb::none();
    const entry_table* t = entries(a.view.limbs >= b.view.limbs ? a.view.limbs : b.view.limbs);
    if (!t)
        return nb::none();
    signed char found;
    {
        require_nearest();
        const float_environment environment;
        t->compare(&found, a.view, b.view);
    }
    return made(PyLong_FromLong(found));
}

} // namespace

void mdqr_host::bind_values(nb::module_& m) {
    if (_import_array() < 0)
        throw nb::python_error();
    unary_codes = nb::dict().release().ptr();
    const auto add = [](const char* name, int code) {
        nb::borrow<nb::dict>(unary_codes)[name] = code;
    };
    for (int i = 0; i < forms; ++i)
        if (has_form(unary_forms[i].kind, false))
            add(unary_forms[i].name, i);
    add("negative", negative);
    add("abs", absolute);
    m.def("register_arrays", &register_arrays, "type"_a);
    m.def("operate", &operate, "op"_a, "x"_a.none(), "y"_a.none());
    m.def("apply", &apply, "op"_a, "x"_a.none());
    m.def("order", &order, "x"_a.none(), "y"_a.none());
}

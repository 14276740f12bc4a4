// Arithmetic of single real values, which a loop in Python is made of: from one array object to
// another, without views and calls in between.
#include <cstring>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <Python.h>
#include <structmember.h>

#include <numpy/arrayobject.h>

#include "module/calls.hpp"

using namespace mdqr_host;
using namespace nanobind::literals;

namespace {

constexpr const char* names[] = {"add", "subtract", "multiply", "divide"};
constexpr binary_op codes[] = {binary_op::add, binary_op::subtract, binary_op::multiply,
                               binary_op::divide};

// The class of arrays, and where its objects have their slots.
PyTypeObject* array_type = nullptr;
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
    block_slot = offset_of(type, "_block");
    precision_slot = offset_of(type, "_precision");
    complex_slot = offset_of(type, "_complex");
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
    npy_intp shape = limbs;
    const nb::object block = nb::steal(PyArray_EMPTY(1, &shape, NPY_DOUBLE, 0));
    if (!block.is_valid())
        throw nb::python_error();
    block_view out{};
    out.data = static_cast<double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(block.ptr())));
    out.limbs = limbs;
    out.plane = 1;
    {
        const float_environment environment;
        t->binary(codes[code], out, a.view, b.view);
    }
    const nb::object result = nb::steal(array_type->tp_alloc(array_type, 0));
    if (!result.is_valid())
        throw nb::python_error();
    slot(result.ptr(), block_slot) = nb::object(block).release().ptr();
    slot(result.ptr(), precision_slot) = Py_NewRef(precision);
    slot(result.ptr(), complex_slot) = Py_NewRef(Py_False);
    return result;
}

} // namespace

void mdqr_host::bind_values(nb::module_& m) {
    if (_import_array() < 0)
        throw nb::python_error();
    m.def("register_arrays", &register_arrays, "type"_a);
    m.def("operate", &operate, "op"_a, "x"_a.none(), "y"_a.none());
}

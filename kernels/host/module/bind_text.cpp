// The functions of the module for text: cells of files and strings to limbs, limbs to digits.
#include <nanobind/stl/string.h>

#include <cstring>
#include <string>
#include <vector>

#include "module/calls.hpp"
#include "text/decimal.hpp"

using namespace mdqr_host;
using namespace nanobind::literals;

namespace {

using flags = nb::ndarray<unsigned char, nb::c_contig, nb::device::cpu>;
using places = nb::ndarray<const long long, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using planes = nb::ndarray<double, nb::c_contig, nb::device::cpu>;

constexpr ptrdiff_t rows_a_task = 256;
enum row_status : unsigned char { read, empty, other };

void require_limbs(size_t limbs) {
    if (limbs < 1 || limbs > size_t(most_limbs))
        refuse(std::to_string(limbs) + " limbs", "1 to " + std::to_string(most_limbs));
}

// Strings to out (limbs, count); `done` says which were read.
void read_texts(nb::list texts, planes out, flags done) {
    const ptrdiff_t count = ptrdiff_t(texts.size()), shape[] = {ptrdiff_t(out.shape(0)), count};
    require_limbs(out.shape(0));
    require_values(out, shape, 2);
    require_values(done, &count, 1);
    require_nearest();
    const float_environment environment;
    for (ptrdiff_t i = 0; i < count; ++i) {
        PyObject* text = PyList_GET_ITEM(texts.ptr(), i);
        done.data()[i] = 0;
        if (!PyUnicode_Check(text) || !PyUnicode_IS_COMPACT_ASCII(text))
            continue;
        const char* first = reinterpret_cast<const char*>(PyUnicode_1BYTE_DATA(text));
        const char* end = first + PyUnicode_GET_LENGTH(text);
        done.data()[i] = read_decimal(first, end, int(shape[0]), out.data() + i, count) == end;
        for (ptrdiff_t k = 0; k < shape[0] && !done.data()[i]; ++k)
            out.data()[k * count + i] = 0.0;
    }
}

// A file cut into lines: what is read of it, and where to.
struct table {
    const char* data;
    const long long *ends, *targets; // of lines; of columns, -1 for those that are not wanted
    ptrdiff_t rows, width, columns;
    int limbs, delimiter; // -1: blanks
    std::string comment;
    double* out;
    unsigned char *status, *left;
};

const char* skip_field(const char* p, const char* end, int delimiter) {
    if (delimiter < 0)
        while (p < end && !is_blank(*p))
            ++p;
    else
        while (p < end && *p != char(delimiter))
            ++p;
    return p;
}

bool is_empty(const char* p, const char* end) {
    while (p < end && is_blank(*p))
        ++p;
    return p == end;
}

row_status read_fields(const table& t, ptrdiff_t row, const char* p, const char* end) {
    const ptrdiff_t stride = t.rows * t.columns;
    for (ptrdiff_t column = 0; column < t.width; ++column) {
        if (column && t.delimiter >= 0 && (p == end || *p++ != char(t.delimiter)))
            return other;
        if (t.delimiter < 0 && p == end)
            return other;
        const ptrdiff_t target = ptrdiff_t(t.targets[column]), cell = row * t.columns + target;
        const char* behind = nullptr;
        if (target >= 0) {
            const char* last = t.delimiter < 0 || is_blank(char(t.delimiter))
                                   ? skip_field(p, end, t.delimiter)
                                   : end;
            behind = read_decimal(p, last, t.limbs, t.out + cell, stride);
            if (behind && behind != end && t.delimiter >= 0 && *behind != char(t.delimiter))
                behind = nullptr;
            if (behind && t.delimiter < 0 && behind != last)
                behind = nullptr;
            t.left[cell] = behind == nullptr;
        }
        p = behind ? behind : skip_field(p, end, t.delimiter);
        while (t.delimiter < 0 && p < end && is_blank(*p))
            ++p;
    }
    return p == end ? read : other;
}

void read_row(const table& t, ptrdiff_t row) {
    const char* p = t.data + (row ? t.ends[row - 1] + 1 : 0);
    const char* end = t.data + t.ends[row];
    if (end > p && end[-1] == '\r')
        --end;
    if (!t.comment.empty()) {
        const std::string& mark = t.comment;
        for (const char* at = p; end - at >= ptrdiff_t(mark.size()); ++at)
            if (std::memcmp(at, mark.data(), mark.size()) == 0) {
                end = at;
                break;
            }
    }
    while (t.delimiter < 0 && p < end && is_blank(*p))
        ++p;
    const bool one_field = t.delimiter < 0 || skip_field(p, end, t.delimiter) == end;
    t.status[row] = one_field && is_empty(p, end) ? empty : read_fields(t, row, p, end);
}

// Lines that end at `ends` to out (limbs, rows, columns): cells that are `left` hold a number of
// another form, or none; `status` is that of rows.
void read_rows(nb::bytes data, places ends, places targets, planes out, flags status, flags left,
               int delimiter, const std::string& comment) {
    require_limbs(out.ndim() == 3 ? out.shape(0) : 0);
    const ptrdiff_t limbs = ptrdiff_t(out.shape(0)), rows = ptrdiff_t(ends.shape(0)),
                    columns = ptrdiff_t(out.shape(2)), shape[] = {limbs, rows, columns};
    require_values(out, shape, 3);
    require_values(status, &rows, 1);
    require_values(left, shape + 1, 2);
    for (ptrdiff_t i = 0; i < rows; ++i)
        if (ends.data()[i] < (i ? ends.data()[i - 1] + 1 : 0) ||
            ends.data()[i] > (long long)(data.size()))
            refuse("the end of line " + std::to_string(i), "lines of the text");
    for (size_t i = 0; i < targets.shape(0); ++i)
        if (targets.data()[i] < -1 || targets.data()[i] >= columns)
            refuse("column " + std::to_string(targets.data()[i]), "a column of the result");
    const table t{data.c_str(),  ends.data(), targets.data(), rows,    ptrdiff_t(targets.shape(0)),
                  columns,       int(limbs),  delimiter,      comment, out.data(),
                  status.data(), left.data()};
    const ptrdiff_t tasks = (rows + rows_a_task - 1) / rows_a_task;
    auto task = [](void* context, ptrdiff_t i) {
        const table& t = *static_cast<const table*>(context);
        for (ptrdiff_t row = i * rows_a_task; row < t.rows && row < (i + 1) * rows_a_task; ++row)
            read_row(t, row);
    };
    without_gil([&] { run_tasks(tasks, task, const_cast<table*>(&t)); });
}

struct writing {
    const double* x; // (limbs, count)
    ptrdiff_t count;
    int limbs, full, digits, most;
    digits_text* found;
};

// The digits of each value as text, None for those to be found elsewhere, and the power of ten of
// the first digit. `digits` 0: the fewest that read back as `full` limbs, at most `most` if that is
// not 0.
nb::object write_texts(nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> x,
                       int full, int digits, int most) {
    require_limbs(x.shape(0));
    require_limbs(size_t(full < 0 ? 0 : full));
    if (int(x.shape(0)) > full || digits < 0 || most < 0)
        refuse(std::to_string(x.shape(0)) + " limbs", "at most those that are read back");
    const ptrdiff_t count = ptrdiff_t(x.shape(1)), limbs = ptrdiff_t(x.shape(0));
    const nb::object texts = made(PyList_New(count)), leading = made(PyList_New(count));
    constexpr ptrdiff_t chunk = 2048, values_a_task = 64;
    std::vector<digits_text> found(size_t(count < chunk ? count : chunk));
    struct part {
        writing what;
        ptrdiff_t first, last;
    };
    for (ptrdiff_t start = 0; start < count; start += chunk) {
        const ptrdiff_t end = start + chunk < count ? start + chunk : count;
        part p{{x.data(), count, int(limbs), full, digits, most, found.data()}, start, end};
        auto task = [](void* context, ptrdiff_t i) {
            const part& p = *static_cast<const part*>(context);
            const writing& w = p.what;
            for (ptrdiff_t j = p.first + i * values_a_task;
                 j < p.last && j < p.first + (i + 1) * values_a_task; ++j) {
                double limb[most_limbs];
                for (int k = 0; k < w.limbs; ++k)
                    limb[k] = w.x[k * w.count + j];
                digits_text& text = w.found[j - p.first];
                if (w.digits)
                    significant_digits(limb, w.limbs, w.digits, text);
                else
                    shortest_digits(limb, w.limbs, w.full, w.most, text);
            }
        };
        without_gil(
            [&] { run_tasks((end - start + values_a_task - 1) / values_a_task, task, &p); });
        for (ptrdiff_t j = 0; j < end - start; ++j) {
            const digits_text& text = found[size_t(j)];
            nb::object digits = text.length
                                    ? made(PyUnicode_FromStringAndSize(text.text, text.length))
                                    : nb::none();
            PyList_SET_ITEM(texts.ptr(), start + j, digits.release().ptr());
            PyList_SET_ITEM(leading.ptr(), start + j,
                            made(PyLong_FromLong(text.leading)).release().ptr());
        }
    }
    return made(PyTuple_Pack(2, texts.ptr(), leading.ptr()));
}

} // namespace

void mdqr_host::bind_text(nb::module_& m) {
    m.def("read_texts", &read_texts, "texts"_a, "out"_a.noconvert(), "done"_a.noconvert());
    m.def("read_rows", &read_rows, "data"_a, "ends"_a.noconvert(), "targets"_a.noconvert(),
          "out"_a.noconvert(), "status"_a.noconvert(), "left"_a.noconvert(), "delimiter"_a,
          "comment"_a);
    m.def("write_texts", &write_texts, "x"_a.noconvert(), "full"_a, "digits"_a, "most"_a);
}

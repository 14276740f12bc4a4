// Solutions in the units of their data: the sum of x and a correction times powers of two, rounded
// once, with bounds of its errors. One pass in place of some forty: the work of `unknowns` in
// mdqr/linalg/_solve/answer.py, which says what is computed.
#include "device/inline_networks.hpp"

#include "elementwise/map.hpp"
#include "elementwise/sums.hpp"
#include "mdqr/residues.hpp"

MDQR_BEGIN

// As there.
inline constexpr double smallest = 0x1p-1074, least_normal = 0x1p-1021;
inline constexpr double up = 1.0 + 0x1p-40, more = 1.0 + 0x1p-7, root_of_two = 0x1.6a09e667f3bcdp0;

struct rounded_arguments {
    i64 size, rows, columns;
    matrix_view x, low, error;             // low: held = 0 for none; error: one limb
    const i64 *row_powers, *column_powers; // (item, row), (item, column): added, subtracted
    i64 unit;                              // the power of two of the rounding of low
    i64 most;                              // that of the relative errors that are `kept`
    matrix_view out;
    double *bound, *relative; // (item, row, column)
    bool* kept;               // (item), true before
};

struct entry_place {
    i64 line, item, i, j;
};
template <class Integer> MDQR_FN entry_place place_of(Integer flat, const rounded_arguments& p) {
    const Integer line = flat / Integer(p.columns), item = line / Integer(p.rows);
    return {i64(line), i64(item), i64(line - item * Integer(p.rows)),
            i64(flat - line * Integer(p.columns))};
}

// x 2^e by two factors.
struct power {
    double first, second;
    MDQR_FN explicit power(i64 e) { power_factors<double>(e, first, second); }
    MDQR_FN double operator()(double x) const { return one_prod(one_prod(x, first), second); }
};

// The limbs of one part of x and of low, times 2^e.
struct part_terms {
    planes x, low;
    i64 at, low_at;
    power by;
    MDQR_FN double limb(i64 l) const {
        return l < x.held ? x.data[l * x.plane + at] : low.data[(l - x.held) * low.plane + low_at];
    }
    MDQR_FN double operator()(i64 l) const { return by(limb(l)); }
};

// The sum of terms as limbs, and the double nearest to what they leave.
MDQR_FN real_number rounded_part(const part_terms& term, double& behind) {
    const i64 count = term.x.held + term.low.held;
    real_number r;
    if (short_sum(term, count, r, behind))
        return r;
    superacc sum;
    for (i64 l = 0; l < count; ++l)
        sum.add(term(l));
    sum.round(r.limb);
    superacc rest;
    for (i64 l = 0; l < count; ++l)
        rest.add(term(l));
    for (int l = 0; l < limbs; ++l)
        rest.add(-r.limb[l]);
    double one[1];
    rest.round(one);
    behind = one[0];
    return r;
}

// True if a limb lost bits to underflow when it was scaled.
MDQR_FN bool is_cut(const part_terms& term, const power& back) {
    bool found = false;
    for (i64 l = 0; l < term.x.held + term.low.held; ++l) {
        const double limb = term.limb(l), moved = term.by(limb);
        if (limb != 0.0 && !(abs(moved) >= least_normal))
            found = found || back(moved) != limb;
    }
    return found;
}

// The length of a complex number within some units, infinite or NaN if a part is.
MDQR_FN double length(double x, double y) {
    const double a = abs(x), b = abs(y), half = one_sum(0.5 * a, 0.5 * b);
    if (!is_finite(half) || half == 0.0)
        return half;
    const double larger = a > b ? a : b, ratio = (a > b ? b : a) / larger;
    return one_prod(larger, sqrt(fma(ratio, ratio, 1.0)));
}

// The largest magnitude of the leading limbs of both parts.
MDQR_FN double leading(const planes& x, i64 at) {
    if (x.held == 0)
        return 0.0;
    const double re = abs(x.data[at]);
    if (!MDQR_COMPLEX)
        return re;
    const double im = abs(x.data[at + x.imag]);
    return im > re || im != im ? im : re;
}

// Bounds of the absolute and of the relative error of a sum of this size.
struct error_bounds {
    double absolute, relative;
};
MDQR_FN error_bounds bounds_of(double size, double cut, double error, i64 shift) {
    const bool is_number = size > 0.0 && is_finite(size), has_error = error > 0.0;
    const i64 above = is_number ? exponent(size) + 1 : 0; // mantissas are below 1
    const double mantissa = is_number ? power(-above)(size) : 0.0;
    error_bounds r{cut, cut > 0.0 ? cut / size : 0.0};
    r.absolute = one_sum(one_sum(r.absolute, power(shift)(error)), has_error ? smallest : 0.0);
    if (has_error)
        r.relative = one_sum(r.relative, power(shift - above)(error) / mantissa);
    r.absolute = r.absolute != r.absolute || error != error ? infinity() : r.absolute * up;
    r.relative = r.relative != r.relative || error != error ? infinity() : r.relative * up;
    return r;
}

MDQR_END

MDQR_KERNEL(mdqr_rounded, mdqr::rounded_arguments, mdqr::block_threads) {
    using namespace mdqr;
    const i64 flat = element_index();
    if (flat >= p.size)
        return;
    const entry_place e =
        p.size <= 0xffffffffLL ? place_of(unsigned(flat), p) : place_of(u64(flat), p);
    const i64 shift = p.row_powers[e.line] - p.column_powers[e.item * p.columns + e.j];
    const i64 at = p.x.at(e.item, e.i, e.j), low_at = p.low.at(e.item, e.i, e.j);
    const i64 to = p.out.at(e.item, e.i, e.j);
    const power by(shift), back(-shift);
    double size[2] = {}, behind[2] = {};
    bool cut = false;
    for (int part = 0; part <= MDQR_COMPLEX; ++part) {
        const part_terms term{p.x.to, p.low.to, at + part * p.x.to.imag,
                              low_at + part * p.low.to.imag, by};
        const real_number r = rounded_part(term, behind[part]);
        store_number(p.out.to, to + part * p.out.to.imag, r);
        size[part] = mdqr::abs(r.limb[0]);
        cut = is_cut(term, back) || cut;
    }
    double left = mdqr::abs(behind[0]), whole = size[0];
    double error = p.error.to.data[p.error.at(e.item, e.i, e.j)];
    error = one_sum(error, one_prod(power_of_two(int(p.unit)), leading(p.low.to, low_at)));
    if (MDQR_COMPLEX) {
        left = length(behind[0], behind[1]);
        whole = length(size[0], size[1]);
        error = one_prod(error, root_of_two);
    }
    // Two roundings of a limb, in both parts.
    if (cut)
        left = one_sum(left, double(2 * (p.x.to.held + p.low.to.held)) * smallest);
    const error_bounds found = bounds_of(whole, left, one_prod(error, more), shift);
    p.bound[flat] = found.absolute;
    p.relative[flat] = found.relative;
    if (!(is_finite(whole) && found.relative <= power_of_two(int(p.most))))
        p.kept[e.item] = false;
}

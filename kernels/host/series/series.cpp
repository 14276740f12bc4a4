// Orders of products of series for one level (MDQR_LEVEL) and limb count (MDQR_LIMBS), and series
// that solve equations; see mdqr/series.hpp for the order of the sums.
#include "level/elements.hpp"

#include "module/entries.hpp"
#include "series/team.hpp"

MDQR_BEGIN

namespace {

// Waking a thread costs as much as so many real products.
constexpr ptrdiff_t worth_waking = 1024;

// task(i) for all i, by one thread where `products` of numbers are few.
template <class F> void run_tasks(ptrdiff_t count, ptrdiff_t products, F task) {
    if (count * products * MDQR_LIMBS * MDQR_LIMBS < 64 * worth_waking)
        for (ptrdiff_t i = 0; i < count; ++i)
            task(i);
    else
        parallel_for(count, task);
}

template <class Number>
void run_order(const series::order_arguments& p, ptrdiff_t items, bool again) {
    const series::host_team<Number> team;
    const ptrdiff_t products = ptrdiff_t(p.products.products), order = ptrdiff_t(p.order);
    const auto sums = [&](ptrdiff_t item) {
        return series::inner_sums<Number>(p.values, p.sums, p.products, item, order);
    };
    if (items == 1 && !again) {
        run_tasks(products, order, [&](ptrdiff_t i) { team.dots(i, i + 1, sums(0)); });
        add_ends(team, p.values, p.sums, p.products, 0, p.order);
        return;
    }
    run_tasks(items, (order + 8) * products, [&](ptrdiff_t item) {
        if (!again)
            team.dots(0, products, sums(item));
        add_ends(team, p.values, p.sums, p.products, item, p.order);
    });
}

template <class Number> void run_equations(const series::equation_arguments& p, ptrdiff_t items) {
    const series::host_team<Number> team;
    const ptrdiff_t rows = ptrdiff_t(p.terms.rows);
    const auto terms = p.terms.start[rows] * p.terms.orders / (rows > 0 ? rows : 1) + 1;
    run_tasks(items * rows, ptrdiff_t(terms), [&](ptrdiff_t i) {
        const ptrdiff_t item = i / rows, row = i - item * rows;
        team.dots(row, row + 1, series::row_sums<Number>(p.out, p.values, p.terms, item, p.order));
    });
}

template <class Number> void run_expand(const series::expand_arguments& p, ptrdiff_t items) {
    const series::host_team<Number> team;
    parallel_for(items, [&](ptrdiff_t item) { expand(team, p, item); });
}

template <int N, class F> void by_field(bool is_complex, F f) {
    if (is_complex)
        f(cmd<double, N>{});
    else
        f(md<double, N>{});
}

} // namespace

template <int N>
void mdqr_series_order(const mdqr_series::order_arguments& p, ptrdiff_t items, bool is_complex,
                       bool again) {
    by_field<N>(is_complex, [&](auto x) { run_order<decltype(x)>(p, items, again); });
}
template <int N>
void mdqr_series_equations(const mdqr_series::equation_arguments& p, ptrdiff_t items,
                           bool is_complex) {
    by_field<N>(is_complex, [&](auto x) { run_equations<decltype(x)>(p, items); });
}
template <int N>
void mdqr_series_expand(const mdqr_series::expand_arguments& p, ptrdiff_t items, bool is_complex) {
    by_field<N>(is_complex, [&](auto x) { run_expand<decltype(x)>(p, items); });
}

template void mdqr_series_order<MDQR_LIMBS>(const mdqr_series::order_arguments&, ptrdiff_t, bool,
                                            bool);
template void mdqr_series_equations<MDQR_LIMBS>(const mdqr_series::equation_arguments&, ptrdiff_t,
                                                bool);
template void mdqr_series_expand<MDQR_LIMBS>(const mdqr_series::expand_arguments&, ptrdiff_t, bool);

MDQR_END

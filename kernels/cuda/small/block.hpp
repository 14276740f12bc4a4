// Small systems, one a block of threads, for all limb counts.
#pragma once
#include "small/team.hpp"
#include "device/views.hpp"

#include "mdqr/small/residual.hpp"

MDQR_BEGIN

struct small_arguments {
    matrix_view x, residual, a, b; // (item, n, k), (item, m, k), (item, m, n), (item, m, k)
    i64 items, m, n, k;
    double* error; // (item, n, k)
    double* condition;
    i64 *steps, *status; // one an item
    double* memory;      // for digits, `words` a block
    i64 words;           // and without shared memory for all else behind them
};

MDQR_FN small_operand item_of(const matrix_view& v, i64 item, i64 m, i64 n) {
    return {v.to.data + item * v.batch,
            int(v.to.held),
            v.to.plane,
            v.to.imag,
            v.row,
            v.column,
            int(m),
            int(n)};
}

MDQR_CALL void fill(const block_team& team, const small_operand& x, double value) {
    team.each_pair(x.m, x.n, [&](int i, int j) {
        for (int l = 0; l < x.limbs; ++l) {
            double* p = x.data + l * x.plane + i * x.row + j * x.column;
            *p = l == 0 ? value : 0.0;
            if (x.imag != 0)
                p[x.imag] = *p;
        }
    });
}

// solve(team, system, b, x, error, item), item after item.
template <class System, class Solve>
MDQR_FN void run_items(const small_arguments& p, Solve&& solve) {
    const block_team team;
    for (i64 item = block_x(); item < p.items; item += blocks_x()) {
        const small_operand a = item_of(p.a, item, p.m, p.n), x = item_of(p.x, item, p.n, p.k);
        double* const large = p.memory + block_x() * p.words;
        small_memory memory = {{shared_memory(), 0}, {large, 0}};
        if (!in_shared)
            memory.base = large + System(team, a, {}).used_by_digits;
        System system(team, a, memory);
        double* const error = p.error + item * p.n * p.k;
        const small_outcome found =
            solve(team, system, item_of(p.b, item, p.m, p.k), x, error, item);
        if (found.status != served) {
            fill(team, x, not_a_number());
            team.each(x.m * x.n, [&](int i) { error[i] = infinity(); });
        }
        team.each(1, [&](int) {
            p.status[item] = found.status;
            p.steps[item] = found.steps;
            p.condition[item] = found.condition;
        });
    }
}

MDQR_END

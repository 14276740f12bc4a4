// Small systems, one a task, for one CPU level and all limb counts.
#include "level/level.hpp"

#include "mdqr/small/lstsq.hpp"
#include "mdqr/small/solve.hpp"
#include "products/matmul_scratch.hpp"
#include "module/entries.hpp"

MDQR_BEGIN

namespace {

small_operand item_of(const block_view& v, ptrdiff_t item) {
    return {v.data + item * v.stride[0],
            v.limbs,
            v.plane,
            v.imag,
            v.stride[1],
            v.stride[2],
            int(v.shape[1]),
            int(v.shape[2])};
}

void fill(const small_operand& x, double value) {
    for (int i = 0; i < x.m; ++i)
        for (int j = 0; j < x.n; ++j)
            for (int l = 0; l < x.limbs; ++l) {
                double* p = x.data + l * x.plane + i * x.row + j * x.column;
                *p = l == 0 ? value : 0.0;
                if (x.imag != 0)
                    p[x.imag] = *p;
            }
}

// One system a task; solve(system, b, x, error, item).
template <class System, class Solve>
void run_items(const small_outputs& out, const block_view& a, const block_view& b, Solve solve) {
    const one_worker team;
    parallel_for(a.shape[0], [&](ptrdiff_t item) {
        const small_operand matrix = item_of(a, item), x = item_of(*out.x, item);
        const System sizes(team, matrix, {});
        double* memory = mdqr_host::matmul_scratch(size_t(sizes.used + sizes.used_by_digits));
        System system(team, matrix, {{memory, 0}, {memory + sizes.used, 0}});
        double* error = out.error + item * x.m * x.n;
        const small_outcome found = solve(system, item_of(b, item), x, error, item);
        out.status[item] = found.status;
        out.steps[item] = found.steps;
        out.condition[item] = found.condition;
        if (found.status != served) {
            fill(x, not_a_number());
            for (int i = 0; i < x.m * x.n; ++i)
                error[i] = infinity();
        }
    });
}

} // namespace

void mdqr_solve_small(const small_outputs& out, const block_view& a, const block_view& b) {
    using system = small_solve<lane, one_worker>;
    run_items<system>(out, a, b,
                      [](system& s, const small_operand& b, const small_operand& x, double* error,
                         ptrdiff_t) { return s.run(b, x, error); });
}

void mdqr_lstsq_small(const small_outputs& out, const block_view& residuals, const block_view& a,
                      const block_view& b) {
    using system = small_lstsq<lane, one_worker>;
    run_items<system>(out, a, b,
                      [&](system& s, const small_operand& b, const small_operand& x, double* error,
                          ptrdiff_t item) {
                          const small_operand r = item_of(residuals, item);
                          const small_outcome found = s.run(b, x, r, error);
                          if (found.status != served)
                              fill(r, not_a_number());
                          return found;
                      });
}

MDQR_END

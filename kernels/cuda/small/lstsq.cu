// Small least-squares problems.
#include "small/block.hpp"

#include "mdqr/small/lstsq.hpp"

MDQR_BEGIN

MDQR_KERNEL(mdqr_lstsq_small, small_arguments, most_small_threads, 2) {
    run_items<small_lstsq<double, block_team>>(
        p, [&](const block_team& team, auto& s, const small_operand& b, const small_operand& x,
               double* error, i64 item) {
            const small_operand r = item_of(p.residual, item, p.m, p.k);
            const small_outcome found = s.run(b, x, r, error);
            if (found.status != served)
                fill(team, r, not_a_number());
            return found;
        });
}

MDQR_END

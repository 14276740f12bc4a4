// What a file that is compiled once per CPU level begins with: the lane type first, then views and
// threads.
#pragma once
#include "level/simd.hpp"

#include "module/pool.hpp"
#include "module/view.hpp"

MDQR_BEGIN

using mdqr_host::block_view;
using mdqr_host::cursor;
using mdqr_host::index_view;
using mdqr_host::ptrdiff_t;

// f(i) for every i in [0, tasks), see module/pool.hpp.
template <class F> void parallel_for(ptrdiff_t tasks, F& f) {
    mdqr_host::run_tasks(
        tasks, [](void* context, ptrdiff_t i) { (*static_cast<F*>(context))(i); }, &f);
}
template <class F> void parallel_for(ptrdiff_t tasks, F&& f) { parallel_for(tasks, f); }

MDQR_END

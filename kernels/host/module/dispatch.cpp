#include "module/dispatch.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>

#define MDQR_LEVEL portable
#include "module/entries.hpp"
#undef MDQR_LEVEL
#if defined(MDQR_X86_LEVELS)
#define MDQR_LEVEL v3
#include "module/entries.hpp"
#undef MDQR_LEVEL
#define MDQR_LEVEL v4
#include "module/entries.hpp"
#undef MDQR_LEVEL
#endif

namespace mdqr_host {
namespace {

#define MDQR_ELEMENTWISE(level, n)                                                                 \
    mdqr::level::mdqr_unary<n>, mdqr::level::mdqr_binary<n>, mdqr::level::mdqr_compare<n>,         \
        mdqr::level::mdqr_ldexp<n>, mdqr::level::mdqr_reduce<n>, mdqr::level::mdqr_cumsum<n>,      \
        mdqr::level::mdqr_argreduce<n>
#define MDQR_PRODUCTS(level, n)                                                                    \
    mdqr::level::mdqr_matmul<n>, mdqr::level::mdqr_residual<n>, mdqr::level::mdqr_qr_panel<n>,     \
        mdqr::level::mdqr_solve_triangular_tile<n>, mdqr::level::mdqr_window<n>
#define MDQR_TABLES(level)                                                                         \
    {                                                                                              \
        #level, {                                                                                  \
            {MDQR_ELEMENTWISE(level, 1),                                                           \
             nullptr,                                                                              \
             nullptr,                                                                              \
             nullptr,                                                                              \
             mdqr::level::mdqr_solve_triangular_tile<1>,                                           \
             mdqr::level::mdqr_window<1>},                                                         \
                {MDQR_ELEMENTWISE(level, 2), MDQR_PRODUCTS(level, 2)},                             \
                {MDQR_ELEMENTWISE(level, 4), MDQR_PRODUCTS(level, 4)}, {                           \
                MDQR_ELEMENTWISE(level, 8), MDQR_PRODUCTS(level, 8)                                \
            }                                                                                      \
        }                                                                                          \
    }

struct level_tables {
    const char* name;
    entry_table tables[4]; // 1, 2, 4, 8 limbs
};

// Best first.
const level_tables levels[] = {
#if defined(MDQR_X86_LEVELS)
    MDQR_TABLES(v4),
    MDQR_TABLES(v3),
#endif
    MDQR_TABLES(portable),
};

bool runs_here(const std::string& name) {
#if defined(MDQR_X86_LEVELS)
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    if (name == "v3")
        return v3;
    if (name == "v4")
        return v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
#endif
    return name == "portable";
}

const level_tables* chosen = nullptr;

} // namespace

void choose_level() {
    const char* wanted = std::getenv("MDQR_CPU_LEVEL");
    std::string available;
    for (const level_tables& level : levels) {
        if (!runs_here(level.name))
            continue;
        if (!wanted || !*wanted || std::string(wanted) == level.name) {
            chosen = &level;
            return;
        }
        available += std::string(available.empty() ? "" : ", ") + level.name;
    }
    throw std::invalid_argument("MDQR_CPU_LEVEL is '" + std::string(wanted) +
                                "'; this machine runs: " + available);
}

const char* level_name() { return chosen->name; }

const entry_table* entries(int limbs) {
    const int i = limbs == 1 ? 0 : limbs == 2 ? 1 : limbs == 4 ? 2 : limbs == 8 ? 3 : -1;
    return i < 0 ? nullptr : &chosen->tables[i];
}

} // namespace mdqr_host

#include "module/dispatch.hpp"

#include <cstdlib>
#include <iterator>
#include <stdexcept>
#include <string>

#define MDQR_LEVEL portable
#include "module/exact_entries.hpp"
#include "module/level_entries.hpp"
#include "module/path_tables.hpp"
#undef MDQR_LEVEL
#if defined(MDQR_X86_LEVELS)
#define MDQR_LEVEL v3
#include "module/exact_entries.hpp"
#include "module/level_entries.hpp"
#include "module/path_tables.hpp"
#undef MDQR_LEVEL
#define MDQR_LEVEL v4
#define MDQR_WIDE_LEVEL v3
#include "module/exact_entries.hpp"
#include "module/level_entries.hpp"
#include "module/path_tables.hpp"
#undef MDQR_WIDE_LEVEL
#undef MDQR_LEVEL
#define MDQR_LEVEL v4_vnni
#include "module/exact_entries.hpp"
#undef MDQR_LEVEL
#elif defined(MDQR_ARM_LEVELS)
#define MDQR_LEVEL neon
#include "module/exact_entries.hpp"
#include "module/level_entries.hpp"
#include "module/path_tables.hpp"
#undef MDQR_LEVEL
#endif

namespace mdqr_host {
namespace {

struct level_tables {
    const char* name;
    const entry_table* tables;
    const exact_table* exact;
    const path_entry* paths;
};

// Best first.
const level_tables levels[] = {
#if defined(MDQR_X86_LEVELS)
    {"v4", mdqr::v4::tables, &mdqr::v4::exact_products, mdqr::v4::path_followers},
    {"v3", mdqr::v3::tables, &mdqr::v3::exact_products, mdqr::v3::path_followers},
#elif defined(MDQR_ARM_LEVELS)
    {"neon", mdqr::neon::tables, &mdqr::neon::exact_products, mdqr::neon::path_followers},
#endif
    {"portable", mdqr::portable::tables, &mdqr::portable::exact_products,
     mdqr::portable::path_followers},
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
#elif defined(MDQR_ARM_LEVELS)
    if (name == "neon")
        return true;
#endif
    return name == "portable";
}

const level_tables* chosen = nullptr;
const exact_table* chosen_exact = nullptr;

const exact_table* best_exact(const level_tables& level) {
#if defined(MDQR_X86_LEVELS)
    if (std::string(level.name) == "v4" && __builtin_cpu_supports("avx512vnni"))
        return &mdqr::v4_vnni::exact_products;
#endif
    return level.exact;
}

} // namespace

void choose_level() {
    const char* wanted = std::getenv("MDQR_CPU_LEVEL");
    std::string available;
    for (const level_tables& level : levels) {
        if (!runs_here(level.name))
            continue;
        if (!wanted || !*wanted || std::string(wanted) == level.name) {
            chosen = &level;
            chosen_exact = best_exact(level);
            return;
        }
        available += std::string(available.empty() ? "" : ", ") + level.name;
    }
    throw std::invalid_argument("MDQR_CPU_LEVEL is '" + std::string(wanted) +
                                "'; this machine runs: " + available);
}

const char* level_name() { return chosen->name; }

const entry_table* entries(int limbs) {
    for (size_t i = 0; i < std::size(mdqr::portable::tables); ++i)
        if (chosen->tables[i].limbs == limbs)
            return &chosen->tables[i];
    return nullptr;
}

const exact_table& exact_entries() { return *chosen_exact; }

follow_paths_entry follow_paths(int limbs) {
    for (size_t i = 0; i < std::size(mdqr::portable::path_followers); ++i)
        if (chosen->paths[i].limbs == limbs)
            return chosen->paths[i].follow;
    return nullptr;
}

} // namespace mdqr_host

// A function of each element, one element a thread.
#pragma once
#include "device/elements.hpp"

MDQR_BEGIN

inline constexpr int block_threads = 256;

struct unary_arguments {
    extent all;
    array_view out, x;
};
struct binary_arguments {
    extent all;
    array_view out, x, y;
};

MDQR_FN i64 element_index() { return block_x() * block_threads + thread_index(); }

template <class F> MDQR_FN void map_unary(const unary_arguments& p, F f) {
    const i64 i = element_index();
    if (i >= p.all.size)
        return;
    const places where = find(i, p.all, p.out, p.x);
    store_number(p.out.to, where.at[0], f(load_as<number>(p.x.to, where.at[1])));
}

template <class F> MDQR_FN void map_binary(const binary_arguments& p, F f) {
    const i64 i = element_index();
    if (i >= p.all.size)
        return;
    const places where = find(i, p.all, p.out, p.x, p.y);
    const number x = load_as<number>(p.x.to, where.at[1]);
    const number y = load_as<number>(p.y.to, where.at[2]);
    store_number(p.out.to, where.at[0], f(x, y));
}

MDQR_END

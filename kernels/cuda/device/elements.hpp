// Elements of several operands of one shape, one element a thread; the operations by name.
#pragma once
#include "device/device.hpp"
#include "mdqr/number/compare.hpp"
#include "mdqr/operations.hpp"
#include "device/views.hpp"

MDQR_BEGIN

// The shape that all operands of a launch have; axes <= 1: every operand has one stride.
struct extent {
    i64 size, axes;
    i64 shape[max_axes];
};

struct places {
    i64 at[3];
};

template <class Integer, class... Views>
MDQR_FN places places_by_axes(Integer flat, const extent& e, const Views&... view) {
    places r{};
    for (int d = max_axes - 1; flat != 0; --d) {
        const Integer length = Integer(e.shape[d]), rest = flat / length;
        const i64 index = i64(flat - rest * length);
        int k = 0;
        ((r.at[k++] += index * view.stride[d]), ...);
        flat = rest;
    }
    return r;
}

// Offsets of element `flat` in each operand. Divisions of 64 bits take several times as long as
// those of 32.
template <class... Views> MDQR_FN places find(i64 flat, const extent& e, const Views&... view) {
    if (e.axes <= 1) {
        places r{};
        int k = 0;
        ((r.at[k++] = flat * view.stride[max_axes - 1]), ...);
        return r;
    }
    if (e.size <= 0xffffffffLL)
        return places_by_axes(unsigned(flat), e, view...);
    return places_by_axes(u64(flat), e, view...);
}

MDQR_END

#define MDQR_PASTE(a, b) a##b
#define MDQR_JOIN(a, b) MDQR_PASTE(a, b) // of what macros stand for

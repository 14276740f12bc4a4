// Exact products on the GPU: how lines and residues lie in memory. What is computed says
// mdqr/residues.hpp; the plan is that of mdqr/linalg/_products/exact/plan.py.
//
// Lines (rows of the left, columns of the right operand) are (..., lines, k). Residues are bytes
// (planes, lines, k) with the last two axes padded by zeros to a multiple of 16, as tensor cores
// read them: the product of two planes is left right^T.
#pragma once
#include "device/device.hpp"
#include "device/views.hpp"
#include "mdqr/residues.hpp"

MDQR_BEGIN

struct lines_view {
    planes of;
    i64 line, step;   // strides
    i64 lines, terms; // shape
    MDQR_FN const double* at(i64 i, i64 j) const { return of.data + i * line + j * step; }
    // Whether neighbours in memory are of one line.
    MDQR_FN bool is_by_line() const {
        return (step < 0 ? -step : step) <= (line < 0 ? -line : line);
    }
};

struct residue_bytes {
    signed char* data;
    i64 lines, terms; // padded
    MDQR_FN int* four(i64 plane, i64 line, i64 term) const {
        return reinterpret_cast<int*>(data + (plane * lines + line) * terms + term);
    }
};

// The factors 2^e, as two: `power_factors` of residues.hpp in 32 bits.
MDQR_FN void power_factors(int e, double& first, double& second) {
    e = e < -2000 ? -2000 : e > 2000 ? 2000 : e;
    const int half = e >> 1;
    first = from_bits(i64(half + 1023) << 52);
    second = from_bits(i64(e - half + 1023) << 52);
}

MDQR_FN int joined_bytes(const int (&r)[4]) {
    return (r[0] & 255) | (r[1] & 255) << 8 | (r[2] & 255) << 16 | int(unsigned(r[3]) << 24);
}

struct alignas(16) four_words {
    unsigned at[4];
};

MDQR_END

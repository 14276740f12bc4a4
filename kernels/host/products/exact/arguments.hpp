// What the kernels of exact products are told: the tables of a plan (mdqr/linalg/_products/exact/
// plan.py) and where residues lie. Shared by all levels: no lanes, no templates.
#pragma once
#include <cstddef>

namespace mdqr_exact {

using std::ptrdiff_t;

// Lines (rows of the left, columns of the right operand) are padded to panels.
constexpr int panel_lines = 32;

// Products modulo `modulus`: the first `narrow` of them at most 256, with residues of 8 bits, the
// others at most 32513, with residues of two digits to the base 128 of opposite signs, and their
// sum.
struct channels {
    int count, narrow;
    int words, parts; // 32-bit words of each part of a number: one part, or two if complex
    const int* modulus;
    const int* low;   // (count, parts words): residues of 256^j, four signed bytes a word
    const int* high;  // (count - narrow, parts words): multiples of 128, to be added
    const int* start; // the residue for bytes that are all zero

    int planes() const { return narrow + 3 * (count - narrow); }
    int first_plane(int i) const { return i < narrow ? i : narrow + 3 * (i - narrow); }
};

// Bytes (planes, panels, fours, panel_lines, 4): four steps along k of a line in one word.
struct residues {
    signed char* data;
    int* sum; // (planes, panels panel_lines): sums over k
    ptrdiff_t lines, fours;
    ptrdiff_t stride; // panels from one plane to the next

    ptrdiff_t panels() const { return (lines + panel_lines - 1) / panel_lines; }
    ptrdiff_t panel_bytes() const { return fours * panel_lines * 4; }
    signed char* panel(int plane, ptrdiff_t p) const {
        return data + (plane * stride + p) * panel_bytes();
    }
    int* sums(int plane, ptrdiff_t p) const { return sum + (plane * stride + p) * panel_lines; }
};

// From residues to numbers: see mdqr/residues.hpp. There are `moduli` weights a part.
struct reconstruction {
    int moduli, pieces, width;
    int unit, scale;        // digits count multiples of 2^-unit, results of 2^(e + f + scale)
    const double* weight;   // (parts, moduli, pieces)
    const double* fraction; // (parts, moduli): weights over the product of all moduli
    const double* product;  // (pieces,)
};

} // namespace mdqr_exact

// What the kernel of homotopy paths is handed: no lanes, no templates, and 64-bit fields alone.
// Complex numbers are pairs of doubles; those of several limbs have limb l l * plane further, the
// imaginary part imag, and the next number next.
#pragma once

namespace mdqr_paths {

using word = long long;

struct layout {
    word plane, imag, next;
};

// Equation i is the sum of terms start[i] .. start[i + 1]; of term t the coefficient is
//     sum_k coefficient[t, k] u^k exp(weight[t] s),  u = gamma s / (gamma s + 1 - s),
// and the monomial is the product of the powers factor_start[t] .. factor_start[t + 1]: power p of
// variable j is x_j^(p - power_start[j]), so that the last one before power_start[j + 1] is its
// highest. Behind the equations stands patch . x = 1 if there is a patch.
struct homotopy {
    word variables, equations, terms, orders;
    const word *start, *factor_start, *variable, *power, *power_start;
    const double* coefficient; // (sets, terms, orders), or (1, ...), of all limbs
    layout coefficients;
    const double* weight; // (sets, terms), null: zeros; of one limb alone
    const double* patch;  // (variables), null: none
    double gamma[2];
    word coefficient_sets, weight_sets;
};

// Paths, each with a point, and up to `past` points before it as differences from that one; an
// array of points is (variables, paths).
constexpr int past = 3;
struct points {
    double* x; // of all limbs
    layout points_x;
    double *s, *step, *tangent;
    double *past_x, *past_tangent; // (past, variables, paths)
    double* past_s;                // (past, paths)
    word *held, *steps;            // points with tangents that are known; accepted steps
    const word* set;               // which coefficients
    word count;
};

struct goal {
    double target[2];
    double tolerance, least, longest;
    double vanishing; // paths are lost where the first unknown is this part of the largest
    word most;        // steps that are tried
    bool jump;        // whether steps that reach zero may go there
    word* state;      // by place in `which`: reached or lost
};
constexpr word reached = 1, lost = 2;

struct arguments {
    homotopy system;
    points paths;
    goal to;
    const word* which; // (chosen) paths that are followed
    word chosen;
};

} // namespace mdqr_paths

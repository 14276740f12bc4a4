// The terms that a residual adds to a product.
#pragma once
#include "mdqr/superacc.hpp"
#include "device/views.hpp"

MDQR_BEGIN

inline constexpr int most_terms = 8;

struct residual_terms {
    i64 count;
    i64 sign[most_terms]; // 1 or -1
    matrix_view term[most_terms];

    // acc += the limbs of one part of all terms.
    MDQR_FN void add_to(superacc& acc, i64 item, i64 i, i64 j, int part) const {
        for (int t = 0; t < count; ++t) {
            const planes& from = term[t].to;
            const double* x = from.data + term[t].at(item, i, j) + part * from.imag;
            for (int l = 0; l < from.held; ++l)
                acc.add(sign[t] < 0 ? -x[l * from.plane] : x[l * from.plane]);
        }
    }
};

MDQR_END

// Whether kernels keep rounding errors.
#pragma once

namespace mdqr_host {

// Throws where error-free transforms are not error-free, as with a wrong `fma` of the C library:
// multiplies a whole number of vectors, and some values more, whose products are known.
void self_test();

} // namespace mdqr_host

// The operations of the elementwise and reduction entry points, the same at every level.
#pragma once

namespace mdqr_host {

enum class unary_op { sqrt, square, reciprocal, abs, renormalize, floor, ceil, rint };
enum class binary_op { add, subtract, multiply, divide, hypot };
enum class reduce_op { sum, prod };

} // namespace mdqr_host

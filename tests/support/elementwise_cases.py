"""The elementwise operations, the bounds of their contract, and the assertion of both."""

from __future__ import annotations

import operator

import numpy as np

import mdqr
from mdqr._limbs.planes import is_normalised
from mdqr.testing import assert_close, exact

VALUES = 128  # of an array in a property test
MANY = 2000  # the same in the long profile

UNARY = {
    "abs": abs,
    "negative": operator.neg,
    "reciprocal": mdqr.reciprocal,
    "sqrt": mdqr.sqrt,
    "square": mdqr.square,
}
BINARY = {
    "add": operator.add,
    "divide": operator.truediv,
    "multiply": operator.mul,
    "subtract": operator.sub,
}
# Contract, in eps: real operations 2, complex products 4, complex quotients and roots 10.
COMPLEX_BOUND = {"multiply": 4, "square": 4, "divide": 10, "reciprocal": 10, "sqrt": 10}


# The constants found (benchmarks/results/accuracy.md), at least doubled: a network that loses bits
# within the contract is a defect too.
FOUND = {float: {1: 1, 2: 1.5}, complex: {1: 2.5, 2: 2.5}}
FOUND_HIGHER = {float: 0.5, complex: 1}


def contract(op, dtype):
    return COMPLEX_BOUND.get(op, 2) if dtype is complex else 2


def bound(op, precision, dtype):
    return min(contract(op, dtype), FOUND[dtype].get(precision.limbs, FOUND_HIGHER[dtype]))


def assert_normalised(x):
    block = x._block if x.is_complex else x._block[None]
    for part, name in zip(block, ("real", "imaginary"), strict=False):
        loose = np.argwhere(~is_normalised(part))
        assert loose.size == 0, (
            f"{name} limbs at {tuple(loose[0])} are not normalised: "
            f"{[limb.hex() for limb in part[(slice(None), *loose[0])].tolist()]}"
        )


def underflow(op, precision, dtype):
    """Return the size below which an error of ``N**2 * 2**-1074`` exceeds the relative bound.

    The contract allows the sum of the two; the larger one alone is asked for. A complex component
    adds two such errors, and there are two components: at most four times as much normwise.
    """
    units = precision.limbs**2 * (1 if dtype is float else 4)
    return units * 2.0**-1074 / (bound(op, precision, dtype) * precision.eps)


def assert_contract(op, result, *operands):
    """Check the error, relative to the result, and that the limbs are normalised."""
    field = complex if any(operand.is_complex for operand in operands) else float
    assert_close(
        result,
        exact(op, *operands),
        ulps=bound(op, result.precision, field),
        tiny=underflow(op, result.precision, field),
        err_msg=f"{op} of {field.__name__} {result.precision.name}",
    )
    assert_normalised(result)

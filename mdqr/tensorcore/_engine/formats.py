"""The low-precision products: what their operands are rounded to.

Products accumulate in float32 whatever the format. Operands of ``fp16`` and ``fp16x2`` are first
multiplied by a power of two, so that columns of norm 1 use the range of binary16: entries up to 16
times the norm are finite, and those down to 2**-26 of it are normal numbers.
"""

from __future__ import annotations

from typing import NamedTuple


class Format(NamedTuple):
    """The format of the operands of a product.

    Attributes
    ----------
    name : str
        As users write it.
    kernel : str
        The name of the format in ``kernels/cuda/tensorcore/round.cu``; empty: operands as they are.
    unit : float
        Unit roundoff of an operand.
    terms : int
        Numbers that represent an entry; the second is multiplied by 2**-11.
    exponent : int
        Operands are multiplied by 2**exponent before they are rounded.
    """

    name: str
    kernel: str
    unit: float
    terms: int
    exponent: int


# fp16x2: the second number leaves 2**-12 * 2**-11 of the first, and the product of the two second
# numbers, 2**-22, is left out.
FORMATS = {
    "fp16": Format("fp16", "half", 2.0**-11, 1, 12),
    "bf16": Format("bf16", "bfloat", 2.0**-8, 1, 0),
    "tf32": Format("tf32", "tf32", 2.0**-11, 1, 0),
    "fp32": Format("fp32", "", 2.0**-24, 1, 0),
    "fp16x2": Format("fp16x2", "split", 2.0**-22, 2, 12),
}
FP32 = FORMATS["fp32"]
# The second term of a split number is multiplied by 2**SPLIT before it is rounded.
SPLIT = 11
# What a second orthogonalisation multiplies in, to reach float32.
FINE = {name: "fp32" if name == "fp32" else "fp16x2" for name in FORMATS}


def pairs(form: Format) -> list[tuple[int, int, int]]:
    """Return which terms are multiplied, and the exponents of the products; smallest first."""
    exponent = -2 * form.exponent
    if form.terms == 1:
        return [(0, 0, exponent)]
    return [(0, 1, exponent - SPLIT), (1, 0, exponent - SPLIT), (0, 0, exponent)]

"""Acceptance of products and factors on the device, by exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

from exact_matrices import Exact, check_form, column_errors, flushed, orthogonality


def factor_errors(a, Q, R):
    """Return the largest columnwise error beyond the slack and the orthogonality, in eps."""
    return column_errors(a, Q, R).max(initial=0.0), orthogonality(Q)


def accept(a, Q, R):
    """The acceptance of factors of one matrix: ``20 n eps``, and the form of R."""
    assert max(factor_errors(a, Q, R)) <= 20 * a.shape[-1]
    check_form(R)


def assert_product(a, b, product, c=None, factor=1):
    """``|error| <= factor (k + 8) eps (|a| |b| + |c|)`` in every entry."""
    x, y = Exact.of(a), Exact.of(b)
    error = Exact.of(product) - x @ y
    size = x.moduli() @ y.moduli()
    if c is not None:
        error = error - Exact.of(c)
        size = size + Exact.of(c).moduli()
    terms = a.shape[-1] + 8
    # Each part of a complex entry is a sum of 2k real products, below sqrt(2) of their moduli.
    bound = factor * terms * Fraction(product.precision.eps) * (3 if product.is_complex else 1)
    # And what each limb may lose below the range.
    size = size + flushed(product.shape, product.precision)
    assert error.moduli().within(bound * (1 + Fraction(2) ** -50), size)

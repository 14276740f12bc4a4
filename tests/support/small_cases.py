"""Small systems with full limbs, their exact solutions, and what is shown of those computed."""

from __future__ import annotations

from fractions import Fraction

import flint
import numpy as np
from exact_limbs import is_normalised

from mdqr._backend.host.backend import backend
from mdqr._limbs.planes import Kind
from mdqr.testing._exact import SCALE, to_integers


def full(rng, limbs, values):
    """A block whose first limbs are `values`, and whose other limbs are random."""
    block = np.zeros((limbs, *values.shape))
    block[0] = values
    for i in range(1, limbs):
        block[i] = block[i - 1] * rng.uniform(-0.9, 0.9, values.shape) * 2.0**-54
    return block


def matrix(rng, m, n, cond, is_complex):
    """First limbs with singular values down to 1 / cond, as float64 or complex128."""

    def orthonormal(rows):
        z = rng.standard_normal((rows, rows)) + 1j * is_complex * rng.standard_normal((rows, rows))
        return np.linalg.qr(z)[0][:, :n]

    values = (orthonormal(m) * np.geomspace(1, 1 / cond, n)) @ orthonormal(n).conj().T
    return values if is_complex else values.real


def block_of(rng, limbs, values):
    """The block of float64 or complex128 values with random lower limbs."""
    if not np.iscomplexobj(values):
        return full(rng, limbs, values)
    return np.stack([full(rng, limbs, values.real), full(rng, limbs, values.imag)])


def real_form(block, is_complex, *, columns):
    """Exact entries as a matrix of flint: [re, -im; im, re] of a matrix, [re; im] of columns."""
    parts = [to_integers(part) for part in (block if is_complex else [block])]
    if is_complex:
        re, im = parts
        top = re if columns else np.concatenate([re, -im], axis=1)
        bottom = im if columns else np.concatenate([im, re], axis=1)
        parts = [np.concatenate([top, bottom])]
    rows, width = parts[0].shape
    return flint.fmpq_mat(flint.fmpz_mat(rows, width, [int(v) for v in parts[0].ravel()]))


def fractions(values):
    entries = [Fraction(int(v.p), int(v.q)) for v in values.entries()]
    return np.array(entries, dtype=object).reshape(values.nrows(), values.ncols())


def exact_solution(a, b, is_complex):
    """x and b - a x as fractions, of the real form."""
    left = real_form(a, is_complex, columns=False)
    right = real_form(b, is_complex, columns=True)
    square = left.nrows() == left.ncols()
    adjoint = left.transpose()
    x = left.solve(right) if square else (adjoint * left).solve(adjoint * right)
    return fractions(x), fractions(right - left * x) / Fraction(2**SCALE)


def parts_of(block, is_complex, item):
    """The exact values of one item as fractions, in the real form of columns."""
    planes = [part[:, item] for part in (block if is_complex else [block])]
    return np.concatenate([to_integers(part) for part in planes]) / Fraction(2**SCALE)


def call(a, b, kind, *, squares=False):
    """Solve or minimise, whatever the shape; `squares` minimises where the system is square."""
    serve = backend().lstsq_small if squares or a.shape[-2] > a.shape[-1] else backend().solve_small
    return serve(a, b, kind=Kind(*kind))


def check(found, a, b, precision, is_complex):
    """Check every served item: bounds, digits, the form of limbs. Return how many are served."""
    eps = Fraction(precision.eps)
    for item in np.flatnonzero(found.status == 0):
        x, r = exact_solution(a[..., item, :, :], b[..., item, :, :], is_complex)
        n, k = found.error.shape[1:]
        error = np.abs(parts_of(found.x, is_complex, item) - x).reshape(-1, n, k)
        size = np.abs(x).reshape(-1, n, k).max(axis=0)
        bound = np.vectorize(Fraction)(found.error[item])
        assert ((error**2).sum(axis=0) <= bound**2).all()
        assert (error <= Fraction(51, 100) * eps * size).all()
        assert (bound <= eps * size).all()
        planes = np.moveaxis(found.x[..., item, :, :], -3, 0).reshape(precision.limbs, -1)
        assert all(is_normalised(limbs) for limbs in planes.T.tolist())
        if found.residual is not None:
            error = parts_of(found.residual, is_complex, item) - r
            m, length = a.shape[-2], (r**2).sum(axis=0)
            if m == n:
                length = (parts_of(b, is_complex, item) ** 2).sum(axis=0)
            assert ((error**2).sum(axis=0) <= eps**2 * length).all()
    return int((found.status == 0).sum())

"""Exact matrices of python-flint, and references computed by them."""

import math

import flint
import numpy as np

from mdqr._precision import PRECISIONS
from mdqr.linalg._matrix.refined import refinement

BITS = 2 * PRECISIONS[-1].bits + 152
# Of steps that have converged, within what the range of float64 has.
_SMALL = 2.0 ** -min(PRECISIONS[-1].bits + 176, 1000)


def ball(value):
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


def to_acb(x):
    """Return the exact matrix of acb numbers."""
    flint.ctx.prec = BITS
    m, n = x.shape[-2:]
    real = x.real.to_fractions().ravel()
    imag = x.imag.to_fractions().ravel() if x.is_complex else [real[0] * 0] * m * n
    values = [flint.acb(ball(p), ball(q)) for p, q in zip(real, imag, strict=True)]
    return flint.acb_mat(m, n, values)


def middle(x):
    """Return the matrix of the midpoints."""
    return flint.acb_mat(x.nrows(), x.ncols(), [v.mid() for v in x.entries()])


def moduli(x):
    """Return upper bounds of the moduli of the entries, float64."""
    found = [float(abs(v).upper()) for v in x.entries()]
    return np.array(found).reshape(x.nrows(), x.ncols())


def square_root(a, start):
    """Return the square root of `a` that Newton's method finds from `start`, which is near."""
    flint.ctx.prec = BITS
    x = start
    for _ in range(12):
        step = middle(sylvester(x, x, a - x * x))
        x = middle(x + step)
        if moduli(step).max() <= _SMALL * moduli(x).max():
            break
    assert moduli(x * x - a).max() <= _SMALL * moduli(x).max() ** 2
    return x


def logarithm(a, near):
    """Return the logarithm of `a` that is next to the matrix `near`."""
    flint.ctx.prec = BITS
    # Terms of the series cost less than roots do, once that of the last root is small.
    roots = max(math.frexp(moduli(near).sum(axis=1).max())[1], 0) + 3
    x = a
    for k in range(1, roots + 1):
        x = square_root(x, middle((near * flint.acb(2.0**-k)).exp()))
    n = a.nrows()
    z = x - flint.acb_mat(n, n, [int(i == j) for i, j in np.ndindex(n, n)])
    total, power = z * flint.acb(0), z
    for k in range(1, 2 * BITS):
        total += power * flint.acb(flint.fmpq((-1) ** (k + 1), k))
        power = middle(power * z)
        if moduli(power).max() <= 2.0**-1060:
            break
    return middle(total * flint.acb(2.0**roots))


def sylvester(a, b, q, *, stein=False):
    """Return the exact solution of ``a x + x b = q``, or of ``x - a x b = q``."""
    flint.ctx.prec = BITS
    m, n = a.nrows(), b.nrows()
    rows = []
    for i, j in np.ndindex(m, n):
        for k, h in np.ndindex(m, n):
            if stein:
                rows.append(int((i, j) == (k, h)) - a[i, k] * b[h, j])
            else:
                rows.append(a[i, k] * int(j == h) + b[h, j] * int(i == k))
    whole = flint.acb_mat(m * n, m * n, rows)
    x = whole.solve(flint.acb_mat(m * n, 1, q.entries()))
    return flint.acb_mat(m, n, x.entries())


def disturbed(monkeypatch, shape=None):
    """Let refinement end with errors of some 2**-40, far above what rounding adds to bounds.

    That of matrices of one shape, or of all.
    """
    made = refinement.Refined.__init__

    def init(self, *arguments):
        made(self, *arguments)
        if shape not in (None, self.value.shape[1:]):
            return
        noise = np.random.default_rng(1).uniform(-1, 1, self.value.shape) * 2.0**-40
        self.value = self.value + abs(self.value.to_numpy()).max() * noise

    monkeypatch.setattr(refinement.Refined, "__init__", init)


def adjoint(a):
    return a.transpose().conjugate()


def riccati(a, b, q, r, start, *, discrete=False):
    """Return the solution of an algebraic Riccati equation that Newton's method finds nearby."""
    flint.ctx.prec = BITS
    n = a.nrows()
    one = flint.acb_mat(n, n, [int(i == j) for i, j in np.ndindex(n, n)])
    g, x = middle(b * r.solve(adjoint(b))), start
    for _ in range(24):  # of complex matrices each gains 57 bits
        if discrete:
            closed = middle((one + g * x).solve(a))
            rest = q - x + adjoint(a) * x * closed
            step = middle(sylvester(adjoint(closed), closed, rest, stein=True))
        else:
            closed = middle(a - g * x)
            rest = q + adjoint(a) * x + x * a - x * g * x
            step = middle(sylvester(adjoint(closed), closed, -rest))
        x = middle(x + step)
        if moduli(step).max() <= _SMALL * moduli(x).max():
            return x
    raise AssertionError("Newton's method does not converge")

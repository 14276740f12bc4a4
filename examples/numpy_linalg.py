"""Analyse the calibration of a sensor: a program for numpy.linalg.

With two changed lines it has 63 digits; docs/howto/use-numpy.md shows them.
"""

import numpy as np

TEMPERATURE = np.arange(-20.0, 25.0, 5.0)
READING = np.array([3.125, 3.3125, 3.5, 3.71875, 3.9375, 4.1875, 4.4375, 4.71875, 5.03125])


def design(t, degree):
    """Return the columns 1, t, t**2, ..."""
    return np.vander(t, degree + 1, increasing=True)


def by_lstsq(a, b):
    """Fit, and return the coefficients and the sum of squares."""
    x, residuals, rank, _ = np.linalg.lstsq(a, b)
    assert rank == a.shape[1]
    return x, residuals[0]


def by_qr(a, b):
    """Fit by the factors of QR."""
    q, r = np.linalg.qr(a)
    return np.linalg.solve(r, q.T @ b)


def by_svd(a, b):
    """Fit by singular values, and return the ratio of the extreme ones too."""
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return vh.T @ ((u.T @ b) / s), s[0] / s[-1]


def by_normal_equations(a, b):
    """Fit by the Cholesky factor of the normal equations."""
    lower = np.linalg.cholesky(a.T @ a)
    y = np.linalg.solve(lower, a.T @ b)
    return np.linalg.solve(lower.T, y)


def covariance(a, squares):
    """Return the covariance of the coefficients."""
    rows, columns = a.shape
    return np.linalg.inv(a.T @ a) * squares / (rows - columns)


def principal_axes(c):
    """Return variances and axes of a covariance matrix, the largest one first."""
    values, vectors = np.linalg.eigh(c)
    order = np.argsort(values)[::-1]
    return values[order], vectors[:, order]


def stationary_points(x):
    """Return the zeros of the derivative of the polynomial."""
    derivative = x[1:] * np.arange(1, len(x))
    companion = np.diag(np.ones(len(derivative) - 2), -1) + 0 * derivative[0]
    companion[:, -1] = -derivative[:-1] / derivative[-1]
    return np.sort(np.linalg.eigvals(companion))


def distance(x, y):
    """Return the relative distance of two vectors."""
    return np.linalg.norm(x - y) / np.linalg.norm(x)


def main():
    """Print how far four ways of fitting differ, and what the fit says."""
    a = design(TEMPERATURE, 4)
    x, squares = by_lstsq(a, READING)
    z, ratio = by_svd(a, READING)
    print("coefficients  ", x)
    print("condition     ", float(np.linalg.cond(a)), float(ratio))
    ways = {"qr": by_qr(a, READING), "svd": z, "normal": by_normal_equations(a, READING)}
    for name, y in ways.items():
        print(f"{name:14s}", f"{float(distance(x, y)):.1e}")
    c = covariance(a, squares)
    values, vectors = principal_axes(c)
    print("axes          ", float(np.linalg.norm(vectors @ np.diag(values) @ vectors.T - c)))
    sign, logarithm = np.linalg.slogdet(c)
    print("volume        ", float(sign * np.exp(logarithm)), float(np.linalg.det(c)))
    print("flat at       ", stationary_points(x))
    print("rank          ", int(np.linalg.matrix_rank(a)), float(np.trace(np.linalg.pinv(a) @ a)))


if __name__ == "__main__":
    main()

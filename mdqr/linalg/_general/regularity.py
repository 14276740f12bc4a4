"""Test of ``det(a - s b) == 0`` for every s, by values modulo primes, of exact entries."""

from __future__ import annotations

import numpy as np

from mdqr._limbs.planes import Block

# Primes p below 2**31 with a root of -1 for the imaginary unit, and values of s.
_PRIMES = ((2147483629, 1305721537), (2147483549, 718293527), (2147483489, 1999290719))


def is_singular(a: Block, b: Block) -> bool:
    """Return whether ``a - s b`` is singular for every s; complex blocks ``(n, n)``.

    A determinant that is not 0 modulo a prime is not 0: False is a proof. A polynomial of degree n
    that is not 0 has at most n of the p values of s for zeros; that it has both of these for each
    of three primes, or coefficients which all of the primes divide, counts as impossible.
    """
    for prime, s in _PRIMES:
        root = _root_of_minus_one(prime)
        x, y = (_residues(block, prime, root) for block in (a, b))
        for shift in (s, s * s % prime):
            if not _vanishes((x - shift * y) % prime, prime):
                return False
    return True


def _root_of_minus_one(prime: int) -> int:
    """Return a root of -1 modulo a prime; any, 1, where there is none."""
    for base in range(2, 40):
        root = pow(base, (prime - 1) // 4, prime)
        if root * root % prime == prime - 1:
            return root
    return 1


def _residues(block: Block, prime: int, root: int) -> np.ndarray:
    """Return what finite complex values are modulo a prime, int64: each limb is m 2**e."""
    fractions, exponents = np.frexp(block)
    integers = np.ldexp(fractions, 53).astype(np.int64) % prime
    known, places = np.unique(exponents, return_inverse=True)
    powers = np.array([pow(2, int(e) - 53, prime) for e in known], dtype=np.int64)
    residues = integers * powers[places.reshape(exponents.shape)] % prime
    real, imag = residues.sum(axis=1) % prime
    return np.asarray((real + root * imag) % prime)


def _vanishes(a: np.ndarray, prime: int) -> bool:
    """Return whether the determinant of a matrix of residues is 0; `a` is used up."""
    n = len(a)
    for k in range(n):
        rows = np.flatnonzero(a[k:, k])
        if not rows.size:
            return True
        pivot = k + int(rows[0])
        a[[k, pivot]] = a[[pivot, k]]
        factors = a[k + 1 :, k] * pow(int(a[k, k]), -1, prime) % prime
        a[k + 1 :, k:] = (a[k + 1 :, k:] - factors[:, None] * a[k, k:]) % prime
    return False

"""Windows with few diagonals below the main one, and their exact errors."""

from __future__ import annotations

import linalg_cases as cases
import numpy as np
import pytest
from panel_cases import column_errors, exact

from mdqr._backend.host.backend import HostBackend


def leave_out_long(backend, limbs):
    """Skip hexa-double on emulated threads, which take minutes; tests/gpu has it."""
    if limbs > 8 and not isinstance(backend, HostBackend):
        pytest.skip("minutes by emulation")


def band(block, below):
    """The block with zeros below some diagonals."""
    i, j = np.indices(block.shape[-2:])
    return np.where(i <= j + below, block, 0.0)


def identity(like, size, *, field):
    """Identities, with the limbs and the batch of a block of matrices."""
    one = np.zeros((*like.shape[:-2], size, size))
    np.einsum("...ii->...i", one)[(0, 0) if field else 0] = 1.0
    return one


def check_form(r, field):
    """R is upper triangular with a real diagonal, and its limbs are normalised."""
    assert not np.tril(r, -1).any()
    if field:
        assert not np.diagonal(r[1], axis1=-2, axis2=-1).any()
    for part in r if field else [r]:
        assert np.array_equal(part[:-1] + part[1:], part[:-1])


def errors(block, r, e, field):
    """Exact errors of E R against the window, columnwise, and of E^H E against I."""
    m = block.shape[-2]
    wanted, triangle, orthogonal = (exact(x, field) for x in (block, r, e))
    gap = orthogonal.H @ orthogonal - cases.identity(m)
    total = cases.quotients(np.sum(gap.squares()), gap.exponent, 1, 0)
    return column_errors(wanted, orthogonal @ triangle, m), float(total)

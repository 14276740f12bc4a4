"""Factorisations in tiles of a given width."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from mdqr.linalg._factor import householder


@contextmanager
def tiles(width):
    """Factor in tiles of so many columns, whatever the table says."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(householder, "tile_width", lambda reflectors, backend: width)
        yield

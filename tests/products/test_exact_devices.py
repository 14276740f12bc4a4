"""Exact products of which other devices form some rows."""

from __future__ import annotations

import numpy as np
import pytest
from exact_product_cases import HOST, full
from hypothesis import given
from hypothesis import strategies as st

import mdqr
from mdqr._limbs.planes import Kind
from mdqr.linalg import matmul
from mdqr.linalg._products.exact import devices, lines, product


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"devices": "cuda:1"}, TypeError, "sequence of names"),
        ({"devices": None}, TypeError, "sequence of names"),
        ({"devices": 5}, TypeError, "sequence of names"),
        ({"devices": ["cuda:1"]}, ValueError, "move these with to_device"),
        ({"devices": ["cuda:1"], "method": "direct"}, ValueError, "through residues"),
    ],
)
def test_devices_that_cannot_share(options, error, match):
    """Refused before a GPU is looked for."""
    a = mdqr.eye(2, precision=mdqr.dd)
    with pytest.raises(error, match=match):
        matmul(a, a, **options)


@given(
    m=st.integers(1, 20_000),
    k=st.integers(1, 20_000),
    n=st.integers(1, 20_000),
    products=st.integers(10, 300),
    others=st.integers(1, 7),
)
def test_shares_of_rows(m, k, n, products, others):
    """Others get none, or whole tiles and no more than the device of the operands."""
    a, b = (np.broadcast_to(0.0, (2, *shape)) for shape in ((m, k), (n, k)))
    rows = devices.share(others, products, a, b)
    assert rows % 128 == 0
    assert 0 <= rows <= m - others * rows


class Peer:
    """This device in place of another one."""

    def __init__(self, number, seen, backend=None):
        self.number, self.seen, self.backend = number, seen, backend or self

    def take(self, block):
        return block.copy()

    def start(self, call, operands, out):
        call(self.backend, *operands, out)

    def finish(self):
        self.seen.append(self.number)


def test_rows_are_put_together(rng):
    """Each part once, with operands and powers of its rows; limbs of zeros are left out."""
    a, b = (full(shape, mdqr.dd, float, rng)._block for shape in ((700, 40), (30, 40)))
    powers, out, seen = np.arange(700), np.full((2, 700, 30), np.nan), []

    class Backend:
        def peer(self, number):
            return Peer(number, seen)

    def formed(backend, x, y, rows, columns, shift, other_shift, c, to):
        assert shift is other_shift is None
        seen.append((type(backend), len(y), *rows[[0, -1]]))
        assert np.array_equal(x, a[:, rows])
        assert np.array_equal(c, a[:, rows, :30])
        to[...] = x[..., :30] + y[:, None, :, 0]

    shared = devices.Shared(Backend(), [3, 5], a, b, 10**9)
    operands = [a, b[:1], powers, np.arange(30), None, None, a[..., :30], out]
    shared.form(formed, *operands, is_complex=False)
    guests = [(Peer, 1, 444, 571), (Peer, 1, 572, 699)]
    shared.close()
    assert seen == [*guests, (Backend, 1, 0, 443), 3, 5]
    assert np.array_equal(out, a[..., :30] + b[:1, None, :, 0])


@pytest.fixture
def shared_backend(monkeypatch):
    """Return the host's backend with itself as its other devices, and who was waited for."""
    monkeypatch.setattr(devices, "_OPERATIONS", 10**-9)  # however long copying takes
    backend, seen = HOST, []
    monkeypatch.setattr(type(backend), "peer", lambda self, number: Peer(number, seen, self))
    return backend, seen


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("is_added", [False, True])
@pytest.mark.parametrize("bits", [None, lines.full_bits(Kind(2, False))])
def test_shared_products_have_the_same_limbs(shared_backend, dtype, is_added, bits, rng):
    """With powers of two that balance the terms, and conjugates."""
    backend, seen = shared_backend
    kind = Kind(2, dtype is complex)
    a, b, c = (full(shape, mdqr.dd, dtype, rng) for shape in ((600, 30), (30, 20), (600, 20)))
    scales = 2.0 ** (20 * np.arange(30) - 300)
    a, b = a * scales, b / scales[:, None]
    options = {"kind": kind, "bits": bits, "conj_a": True, "subtract": is_added}
    options["c"] = c._block if is_added else None
    found, alone = kind.empty(np, (600, 20)), kind.empty(np, (600, 20))
    assert product.multiply(backend, a._block, b._block, out=alone, **options)
    assert not seen
    done = product.multiply(backend, a._block, b._block, out=found, devices=[4, 2], **options)
    assert done
    assert seen == [4, 2]
    assert np.array_equal(found, alone)


@pytest.mark.parametrize("problem", ["nan", "error"])
def test_others_are_waited_for_where_nothing_is_formed(shared_backend, problem, monkeypatch, rng):
    backend, seen = shared_backend
    kind = Kind(2, False)
    a, b = (full(shape, mdqr.dd, float, rng)._block.copy() for shape in ((600, 30), (30, 20)))
    options = {"kind": kind, "out": kind.empty(np, (600, 20)), "devices": [4, 2]}
    if problem == "nan":
        a[0, 3, 4] = np.nan
        assert not product.multiply(backend, a, b, **options)
    else:
        monkeypatch.setattr(Peer, "start", lambda *args: {}[0])
        with pytest.raises(KeyError):
            product.multiply(backend, a, b, **options)
    assert seen == [4, 2]


def test_devices_share_full_products_alone(rng):
    a = full((8, 8), mdqr.dd, float, rng)._block
    options = {"kind": Kind(2, False), "out": a.copy(), "devices": [1]}
    with pytest.raises(ValueError, match="gram"):
        product.multiply(HOST, a, a.swapaxes(-1, -2), shape="gram", **options)

"""cuBLAS and cuSOLVER as `mdqr.linalg._update.library` calls them, by LAPACK on host memory."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import numpy as np
import scipy.linalg

from mdqr.linalg._update.library import Library
from mdqr.tensorcore._engine import numpy_reflector

_TYPES = {0: "f", 1: "d", 4: "F", 5: "D"}


def matrix(address, rows, columns, stride, dtype):
    """The matrix in column-major memory, to read and write."""
    assert stride >= max(rows, 1)
    item = np.dtype(dtype).itemsize
    size = item * (stride * (columns - 1) + rows)
    memory = np.frombuffer((ctypes.c_char * size).from_address(address), dtype=dtype)
    return np.lib.stride_tricks.as_strided(memory, (rows, columns), (item, stride * item))


def _scalar(address, dtype):
    return matrix(address, 1, 1, 1, dtype)[0, 0]


def _turned(x, flag):
    return (x, x.T, x.conj().T)[flag]


class Blas:
    """What is called of cuBLAS."""

    def gemmEx(
        self,
        handle,
        ta,
        tb,
        m,
        n,
        k,
        alpha,
        a,
        at,
        lda,
        b,
        bt,
        ldb,
        beta,
        c,
        ct,
        ldc,
        compute,
        algo,
    ):
        assert at == bt == ct
        assert compute == (71 if _TYPES[ct] in "dD" else 68)
        kind = _TYPES[ct]
        x = matrix(a, *((k, m) if ta else (m, k)), lda, kind)
        y = matrix(b, *((n, k) if tb else (k, n)), ldb, kind)
        out = matrix(c, m, n, ldc, kind)
        product = _scalar(alpha, kind) * (_turned(x, ta) @ _turned(y, tb))
        factor = _scalar(beta, kind)
        out[...] = product + factor * out if factor else product

    def sgeam(self, handle, ta, tb, m, n, alpha, a, lda, beta, b, ldb, c, ldc):
        """Sums, of which the second is always 0."""
        assert tb == _scalar(beta, "f") == 0
        assert (b, ldb) == (c, ldc)
        x = matrix(a, *((n, m) if ta else (m, n)), lda, "f")
        factor = _scalar(alpha, "f")
        matrix(c, m, n, ldc, "f")[...] = factor * _turned(x, ta) if factor else 0

    def sdgmm(self, handle, mode, m, n, a, lda, x, step, c, ldc):
        """Rows times numbers."""
        assert (mode, step) == (0, 1)
        rows = matrix(x, m, 1, m, "f") * matrix(a, m, n, lda, "f")
        matrix(c, m, n, ldc, "f")[...] = rows

    def trsm(self, kind, handle, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb):
        assert side == 1
        assert trans in (0, 1)
        full = matrix(a, n, n, lda, kind)
        x = matrix(b, m, n, ldb, kind)
        call = scipy.linalg.blas.get_blas_funcs("trsm", dtype=kind)
        options = {"side": 1, "lower": not uplo, "trans_a": trans, "diag": diag}
        x[...] = call(_scalar(alpha, kind), full, x, **options)

    def __getattr__(self, name):
        kind = dict(zip("sdcz", "fdFD", strict=True))[name[0]]
        assert name[1:] == "trsm"
        return lambda *arguments: self.trsm(kind, *arguments)


class Solver:
    """What is called of cuSOLVER."""

    def __getattr__(self, name):
        if name.endswith("_bufferSize"):
            return lambda *arguments: 3
        kind = dict(zip("sdcz", "fdFD", strict=True))[name[0]]
        assert name[1:] in ("potrf", "geqrf", "ungqr" if kind in "FD" else "orgqr")
        return lambda *arguments: getattr(self, name[2:])(
            getattr(scipy.linalg.lapack, name), kind, *arguments
        )

    def eqrf(self, call, kind, handle, m, n, a, lda, tau, room, size, status):
        x = matrix(a, m, n, lda, kind)
        h, scales, _, info = call(x)
        assert info == 0
        assert size == 3
        x[...] = h
        matrix(tau, min(m, n), 1, min(m, n), kind)[:, 0] = scales

    def rgqr(self, call, kind, handle, m, n, k, a, lda, tau, room, size, status):
        x = matrix(a, m, n, lda, kind)
        q, _, info = call(x.copy(), matrix(tau, k, 1, k, kind)[:, 0])
        assert info == 0
        x[...] = q

    ngqr = rgqr

    def otrf(self, call, kind, handle, uplo, n, a, lda, room, size, status):
        x = matrix(a, n, n, lda, kind)
        assert uplo == 0
        lower, info = call(x.copy(), lower=1)
        x[...] = lower
        matrix(status, 1, 1, 1, np.int32)[...] = info


class HostLibrary(Library):
    """The calls, over NumPy arrays."""

    def __init__(self, dtype):
        self._kernels = SimpleNamespace(xp=np, address=lambda x: x.ctypes.data)
        self._dtype = np.dtype(dtype)
        self._cublas, self._cusolver, self._recording = Blas(), Solver(), None
        self._scalars = {x: np.full(1, x, dtype=dtype) for x in (-1.0, 0.0, 1.0)}

    def sign_rows(self, r, count, columns):
        signs = np.where(np.diagonal(r).real[:count] < 0, -1, 1).astype(r.real.dtype)
        r[:count] *= signs[:, None]
        r[:, :columns] = np.triu(r[:, :columns])
        return signs

    def widened(self):
        return HostLibrary(np.result_type(self._dtype, np.float64))

    def _handle(self, library):
        return None


class HostPanels:
    """Panels as the kernels of CUDA compute them."""

    def __init__(self):
        self.doubtful = np.zeros(1, dtype=np.int64)
        self.called = 0

    def reflections(self, a, r, k, signs):
        q, upper, middle = (_array(part) for part in (a, r, k))
        assert not upper.any()
        assert len(q) >= q.shape[1] == len(upper) == len(middle)
        self.called += 1
        with np.errstate(all="ignore"):
            self.doubtful |= int(not numpy_reflector.orthonormal(q, upper, False))
            numpy_reflector.reflector(q, middle, _array((signs, len(upper), len(upper), 1))[:, 0])


def _array(part):
    """The matrix of an address, the stride of columns, rows and columns."""
    address, stride, rows, columns = part
    return matrix(address, rows, columns, stride, "f")

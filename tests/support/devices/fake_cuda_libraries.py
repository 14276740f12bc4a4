"""cuBLAS and cuSOLVER as `mdqr._backend.cuda.vendor` calls them, by LAPACK on host memory."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import numpy as np
import scipy.linalg

from mdqr._backend.cuda.floats.library import Library
from mdqr._backend.cuda.vendor.cublas import Cublas
from mdqr._backend.cuda.vendor.cusolver import Cusolver
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


def _transposed(x, flag):
    return (x, x.T, x.conj().T)[flag]


class Blas:
    """The functions of cuBLAS that are called."""

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
        if compute == 72:
            self.multiply_bytes((ta, tb), (m, n, k), alpha, (a, at, lda), (b, bt, ldb), beta,
                                (c, ct, ldc))  # fmt: skip
            return
        assert at == bt == ct
        assert compute == 71 if _TYPES[ct] in "dD" else compute == 68
        kind = _TYPES[ct]
        x = matrix(a, *((k, m) if ta else (m, k)), lda, kind)
        y = matrix(b, *((n, k) if tb else (k, n)), ldb, kind)
        out = matrix(c, m, n, ldc, kind)
        product = _scalar(alpha, kind) * (_transposed(x, ta) @ _transposed(y, tb))
        factor = _scalar(beta, kind)
        out[...] = product + factor * out if factor else product

    def multiply_bytes(self, flags, shape, alpha, left, right, beta, result):
        """Products of bytes, where tensor cores serve them; no sum may leave 32 bits."""
        (a, at, lda), (b, bt, ldb), (c, ct, ldc) = left, right, result
        m, n, k = shape
        assert (at, bt, ct, *flags) == (3, 3, 10, 1, 0)
        assert not any(x % 16 for x in (*shape, lda, ldb, ldc, a, b, c))
        assert (_scalar(alpha, "i"), _scalar(beta, "i")) == (1, 0)
        x, y = matrix(a, k, m, lda, "b").astype("d"), matrix(b, k, n, ldb, "b").astype("d")
        sums = x.T @ y
        assert abs(sums).max() < 2**31
        matrix(c, m, n, ldc, "i")[...] = sums

    def gemmStridedBatchedEx(
        self, handle, ta, tb, m, n, k, alpha, a, at, lda, sa, b, bt, ldb, sb, beta, c, ct, ldc, sc,
        count, compute, algo,
    ):  # fmt: skip
        sizes = {3: 1, 10: 4} | {key: np.dtype(kind).itemsize for key, kind in _TYPES.items()}
        for i in range(count):
            places = (a + i * sizes[at] * sa, at, lda, b + i * sizes[bt] * sb, bt, ldb)
            result = (c + i * sizes[ct] * sc, ct, ldc, compute, algo)
            self.gemmEx(handle, ta, tb, m, n, k, alpha, *places, beta, *result)

    def dgemv(self, handle, ta, m, n, alpha, a, lda, x, step, beta, y, other):
        assert step == other == 1
        rows, k = (n, m) if ta else (m, n)
        self.gemmEx(
            handle, ta, 0, rows, 1, k, alpha, a, 1, lda, x, 1, max(k, 1), beta, y, 1, max(rows, 1),
            71, -1,
        )  # fmt: skip

    def sgeam(self, handle, ta, tb, m, n, alpha, a, lda, beta, b, ldb, c, ldc):
        """Sums, of which the second is always 0."""
        assert tb == _scalar(beta, "f") == 0
        assert (b, ldb) == (c, ldc)
        x = matrix(a, *((n, m) if ta else (m, n)), lda, "f")
        factor = _scalar(alpha, "f")
        matrix(c, m, n, ldc, "f")[...] = factor * _transposed(x, ta) if factor else 0

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
    """The functions of cuSOLVER that are called."""

    def __getattr__(self, name):
        if name.endswith("_bufferSize"):
            return lambda *arguments: 3
        kind = dict(zip("sdcz", "fdFD", strict=True))[name[0]]
        prefix = "un" if kind in "FD" else "or"
        assert name[1:] in ("potrf", "getrf", "geqrf", prefix + "gqr", prefix + "mqr")
        return lambda *arguments: getattr(self, name[2:])(
            getattr(scipy.linalg.lapack, name), kind, *arguments
        )

    def eqrf(self, call, kind, handle, m, n, a, lda, tau, work, size, status):
        x = matrix(a, m, n, lda, kind)
        h, scales, _, info = call(x)
        assert info == 0
        assert size == 3
        x[...] = h
        matrix(tau, min(m, n), 1, min(m, n), kind)[:, 0] = scales

    def etrf(self, call, kind, handle, m, n, a, lda, work, places, status):
        x = matrix(a, m, n, lda, kind)
        found, swaps, info = call(x.copy())
        x[...] = found
        matrix(places, n, 1, n, np.int32)[:, 0] = swaps + 1
        matrix(status, 1, 1, 1, np.int32)[...] = info

    def rgqr(self, call, kind, handle, m, n, k, a, lda, tau, work, size, status):
        x = matrix(a, m, n, lda, kind)
        q, _, info = call(x.copy(), matrix(tau, k, 1, k, kind)[:, 0])
        assert info == 0
        x[...] = q

    ngqr = rgqr

    def rmqr(
        self, call, kind, handle, side, flag, m, n, k, a, lda, tau, c, ldc, work, size, status
    ):
        assert (side, size) == (0, 3)
        x, scales = matrix(c, m, n, ldc, kind), matrix(tau, k, 1, k, kind)[:, 0]
        trans = "N" if not flag else "C" if kind in "FD" else "T"
        assert flag in (0, 2 if kind in "FD" else 1)
        found, _, info = call("L", trans, matrix(a, m, k, lda, kind), scales, x.copy(), max(n, 1))
        assert info == 0
        x[...] = found

    nmqr = rmqr

    def otrf(self, call, kind, handle, uplo, n, a, lda, work, size, status):
        x = matrix(a, n, n, lda, kind)
        assert uplo == 0
        lower, info = call(x.copy(), lower=1)
        x[...] = lower
        matrix(status, 1, 1, 1, np.int32)[...] = info


ADDRESSES = SimpleNamespace(xp=np, address=lambda x: x.ctypes.data)


def libraries():
    """cuBLAS and cuSOLVER over NumPy arrays."""
    return Cublas(Blas(), lambda: None), Cusolver(np, ADDRESSES.address, Solver(), lambda: None)


class HostLibrary(Library):
    """The calls, over NumPy arrays."""

    def __init__(self, dtype):
        super().__init__(ADDRESSES, np.dtype(dtype), *libraries())

    def sign_rows(self, r, count, columns):
        signs = np.where(np.diagonal(r).real[:count] < 0, -1, 1).astype(r.real.dtype)
        r[:count] *= signs[:, None]
        r[:, :columns] = np.triu(r[:, :columns])
        return signs

    def widened(self):
        return HostLibrary(np.result_type(self._dtype, np.float64))


class HostPanels:
    """Panels as the kernels of CUDA compute them."""

    def __init__(self):
        self.breakdown = np.zeros(1, dtype=np.int64)
        self.called = 0

    def reflections(self, a, r, k, signs):
        q, upper, middle = (_array(part) for part in (a, r, k))
        assert not upper.any()
        assert len(q) >= q.shape[1] == len(upper) == len(middle)
        self.called += 1
        with np.errstate(all="ignore"):
            self.breakdown |= int(not numpy_reflector.orthonormal(q, upper, False))
            numpy_reflector.reflector(q, middle, _array((signs, len(upper), len(upper), 1))[:, 0])


def _array(part):
    """The matrix of an address, the stride of columns, rows and columns."""
    address, stride, rows, columns = part
    return matrix(address, rows, columns, stride, "f")

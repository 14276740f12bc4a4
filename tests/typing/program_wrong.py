"""Mistakes of users: both checkers find these errors, and no other."""

from __future__ import annotations

import mdqr
from mdqr import linalg, series, tensorcore

a = mdqr.array([[1, 2], [3, 4]], precision="quad")  # expect: arg-type
mdqr.ones((2, 2), precision=mdqr.qd, digits=60)  # expect: call-overload
mdqr.eye(2, precision=64)  # expect: call-overload
mdqr.zeros(3)  # expect: call-overload
mdqr.full((2, 2), 0.5, dtype=complex)  # expect: call-overload
mdqr.eye(2, dtype=float)  # expect: call-overload
mdqr.random.normal((2, 2), scale=2)  # expect: call-overload
a.astype(precision="float64")  # expect: arg-type
a.astype("double")  # expect: arg-type
a.precison  # expect: attr-defined
a.reshape(4, order="fortran")  # expect: arg-type
mdqr.exp(x=a)  # expect: call-arg
mdqr.quantile(a, "0.5", method="median")  # expect: arg-type
text: str = a[0] > 1  # expect: assignment
number: float = a.sum()  # expect: assignment
linalg.solve(a, a, method="refined")  # expect: call-overload
linalg.inv(a, rcond=1e-3)  # expect: call-overload
linalg.lstsq(a, a, method="svd")  # expect: arg-type
linalg.lstsq(a, a).info.rank_deficient  # expect: attr-defined
linalg.qr(a, "economic")  # expect: call-overload
linalg.qr(a, mode="r").Q  # expect: attr-defined
linalg.qr(a, pivoting=True).info.swaps  # expect: attr-defined
linalg.eigh(a, UPLO="lower")  # expect: arg-type
linalg.svd(a, compute_uv=False).S  # expect: attr-defined
linalg.eig(a).values  # expect: attr-defined
linalg.det(a, return_info=True).real  # expect: attr-defined
linalg.norm(a, "frobenius")  # expect: arg-type
linalg.cholesky(a).digits  # expect: attr-defined
linalg.solve_triangular(a, a, "H")  # expect: call-overload
linalg.cho_solve((a, True), a, return_info=True).limbs  # expect: attr-defined
linalg.qr_delete(a, a, 0, which="column")  # expect: arg-type
linalg.schur(a, output="r")  # expect: arg-type
series.PowerSeries.identity(8, precision="octo")  # expect: arg-type
tensorcore.qr(a, compute="fp8")  # expect: call-overload
tensorcore.lowrank(a, 2).V  # expect: attr-defined
roots = series.System.from_strings(["x^2 - 2"], ["x"])
series.solve(roots, start="dense")  # expect: call-overload
series.solve(roots).values  # expect: attr-defined
series.solve(roots)[0].isreal  # expect: attr-defined

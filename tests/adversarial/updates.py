"""Verdicts on `UpdatableLstsq`: sequences of rows and columns that come and go."""

from __future__ import annotations

import math

import numpy as np

import mdqr

from .draws import Draw, limbs_of
from .exact import Truth, flint_matrix, integers, log2
from .problems import Problem
from .verdicts import Verdict, answered

_LOG10_2 = math.log10(2)
# Beyond this a float64 SVD does not tell the smallest singular value to a digit.
_KNOWN = 1e12


def updatable(seed, index):
    """Judge one sequence, exactly after each change."""
    sequence = _Sequence(Draw(f"updates/{seed}/{index}"), seed, index)
    verdict = sequence.run()
    return sequence.given, verdict


class _Sequence:
    """A problem that changes, its exact mirror, and what was found of it."""

    def __init__(self, r, seed, index):
        self.r = r
        self.precision = r.precision(25, 35, 20, 20)
        self.parts = 2 if r.chance(0.3) else 1
        self.n, m = r.randint(1, 4), r.randint(4, 9)
        self.right = r.choice([0, 0, 1, 2])
        self.keep_q, self.keep_data = r.chance(0.5), r.chance(0.5)
        self.spread = r.choice([0, 8, self.precision.bits // 4, self.precision.bits * 3 // 8])
        # The exponent of each row; rows of one exponent come and go together.
        self.scales = [0] * m
        self.data = self.rows(m, 0)
        for scale in sorted(r.randint(0, self.spread) for _ in range(r.randint(0, 3))):
            count = r.randint(1, 3)
            self.data = np.concatenate([self.data, self.rows(count, scale)], axis=2)
            self.scales += [scale] * count
        kind = f"{'Q' if self.keep_q else 'R'}{' and data' if self.keep_data else ''}"
        side = f"spread {'0' if not self.spread else 'of rows'}"
        a = self.array(self.data[..., : self.n])
        self.given = Problem(
            seed, index, kind, side, a, self.b(self.data), None, None, self.precision
        )
        self.verdict, self.caught, self.changes, self.removals = Verdict(), [], 0, 0
        self.largest, self.target, self.said = 0.0, 0.0, []

    def rows(self, count, scale):
        """Limbs of rows of A and b, times a power of two."""
        columns = self.n + max(self.right, 1)
        bits = self.r.choice([3, self.precision.bits])
        ints = self.r.full((self.parts, count, columns), bits)
        return self.limbs(limbs_of(ints, scale - bits, self.precision.limbs))

    def columns(self, m):
        """Limbs of a column, with the scales that the rows have."""
        ints = self.r.full((self.parts, m, 1), self.precision.bits)
        scale = np.array(self.scales)[:, None] - self.precision.bits
        return self.limbs(limbs_of(ints, scale, self.precision.limbs))

    def limbs(self, block):
        made = self.array(block).limbs
        return made if self.parts == 2 else made[None]

    def array(self, block):
        if self.parts == 2:
            return mdqr.from_limbs(np.ascontiguousarray(block), dtype=complex)
        return mdqr.from_limbs(np.ascontiguousarray(block[0]))

    def b(self, block):
        found = self.array(block[..., self.n :])
        return found if self.right else found[..., 0]

    def call(self, function):
        found, error, caught = answered(function)
        self.caught += caught
        self.said += [w for w in caught if issubclass(w.category, mdqr.PrecisionWarning)]
        return found, error

    def run(self):
        """Make the changes and judge after each."""
        self.fit, error = self.call(
            lambda: mdqr.linalg.UpdatableLstsq(
                self.given.a, self.given.b, keep_q=self.keep_q, keep_data=self.keep_data
            )
        )
        while error is None and self.judge() and self.changes < 6:
            error = self.change()
            self.changes += 1
        if error is not None:
            self.refused(error)
        self.verdict.note_warnings(self.caught)
        return self.verdict

    def change(self):
        """Change the mirror and the fit; return what was raised."""
        kinds = ["insert", "delete", "delete", "delete_cols"]
        kind = self.r.choice([*kinds, "insert_cols", "repair"] if self.keep_data else kinds)
        m, n = self.data.shape[2], self.n
        if kind == "delete" and m > n:
            return self.delete(m, n)
        if kind == "delete_cols" and n > 1:
            k = self.r.randrange(n)
            self.data, self.n = np.delete(self.data, k, axis=3), n - 1
            return self.call(lambda: self.fit.delete_cols(k))[1]
        if kind == "insert_cols" and m > n:
            k, new = self.r.randint(0, n), self.columns(m)
            self.data, self.n = np.insert(self.data, [k], new, axis=3), n + 1
            return self.call(lambda: self.fit.insert_cols(self.array(new), k))[1]
        if kind == "repair":
            return self.call(self.fit.repair)[1]
        p, k = self.r.randint(1, 3), self.r.randint(0, m)
        scale = self.r.randint(0, self.spread)
        new = self.rows(p, scale)
        self.scales[k:k] = [scale] * p
        self.data = np.insert(self.data, [k] * p, new, axis=2)
        u = self.array(new[..., :n])
        return self.call(lambda: self.fit.insert_rows(u, self.b(new), k))[1]

    def delete(self, m, n):
        p = self.r.randint(1, min(3, m - n))
        k = self.r.randint(0, m - p)
        if self.r.chance(0.6):
            # The rows that the others are small beside: what they leave is what is lost.
            k = self.scales.index(max(self.scales))
            p = min(m - n, self.scales[k:].count(self.scales[k]), m - k)
        del self.scales[k : k + p]
        old = self.data[:, :, k : k + p]
        self.data = np.delete(self.data, range(k, k + p), axis=2)
        self.removals += 1
        options = {}
        if not self.keep_data:
            options["b"] = self.b(old)
            if not self.keep_q:
                options["u"] = self.array(old[..., :n])
        return self.call(lambda: self.fit.delete_rows(k, p, **options))[1]

    def sizes(self):
        """The smallest and largest singular value in float64, and the norm of b."""
        values = self.data.sum(axis=1)
        values = values[0] + 1j * values[1] if self.parts == 2 else values[0]
        s = np.linalg.svd(values[:, : self.n], compute_uv=False)
        return s[-1], s[0], np.linalg.norm(values[:, self.n :])

    def refused(self, error):
        if not self.verdict.note_error(error):
            return
        self.verdict.outcome = "regular_raised"
        low, high, _ = self.sizes()
        known = low > high / _KNOWN
        # Without Q a removal sees the square of what the rows before it had.
        self.verdict.condition = max(self.largest, high) / low if low else math.inf
        worst = 20 * self.n * (self.changes + 1) * self.precision.eps
        if known and self.verdict.condition**2 * worst < 1e-3:
            self.verdict.note("needless_error")

    def judge(self):
        """Judge the factors and the solution; return whether to go on."""
        low, high, target = self.sizes()
        self.largest, self.target = max(self.largest, high), max(self.target, target)
        if self.data.shape[2] < self.n:
            return True
        self.judge_r()
        truth = Truth(self.data[..., : self.n], self.data[..., self.n :])
        warned = len(self.said)
        found, error = self.call(self.fit.solve)
        if truth.singular or not low > high / _KNOWN:
            if truth.singular and error is None and len(self.said) == warned:
                self.verdict.note("singular_silent")
            return False
        if error is not None:
            self.refused(error)
            return False
        self.judge_x(truth, found, low, high)
        return True

    def judge_r(self):
        """``R^H R - A^H A`` within what the docstring says, for all changes together."""
        r = self.fit.R.limbs
        difference, unit = _gram_difference(
            self.data[..., : self.n], r if self.parts == 2 else r[None]
        )
        total = sum(value * value for value in difference)
        if total == 0:
            return
        error = log2(total) / 2 + unit
        factor = stated(self.n, self.changes, self.removals)
        allowed = math.log2(factor * self.precision.eps) + 2 * math.log2(self.largest)
        self.compare(error, allowed)

    def compare(self, error, allowed):
        if error > allowed:
            self.verdict.violations["all"] += 1
            self.verdict.note("bound_violated", "excess", (error - allowed) * _LOG10_2)
        else:
            self.verdict.gaps.append(("all", (allowed - error) * _LOG10_2))

    def judge_x(self, truth, found, low, high):
        """The error beside that of a fresh factorisation is what `lost_digits` says at most."""
        block = found.limbs if self.parts == 2 else found.limbs[None]
        block = block if block.ndim == 4 else block[..., None]
        if not np.isfinite(block).all():
            self.verdict.note("infinite_silent")
            return
        ints, exponents = integers(block, ())
        info = self.fit.info
        bounds, digits = (x.reshape(self.n, -1).tolist() for x in (info.error_bound, info.digits))
        for k in range(block.shape[-1]):
            pairs = [
                (
                    truth.log2_error(ints[:, j, k].tolist(), int(exponents[j, k]), j, k),
                    truth.log2_size(j, k),
                )
                for j in range(self.n)
            ]
            self.verdict.components += self.n
            for j, pair in enumerate(pairs):
                self.judge_claims(*pair, bounds[j][k], digits[j][k])
            error, size = (max(values) for values in zip(*pairs, strict=True))
            if error == -math.inf or size == -math.inf:
                continue
            rest = self.target / low
            fresh = 16 * self.n * self.precision.eps * high / low
            fresh *= 1 + high / low * min(rest * 2.0 ** min(-size, 1000.0), 2.0**900)
            lost = (error - size - math.log2(fresh)) * _LOG10_2
            self.verdict.silent = max(self.verdict.silent, lost)
            if lost > self.fit.lost_digits + 1 and not self.said:
                self.verdict.note("lost_more", "overclaim", lost - self.fit.lost_digits)

    def judge_claims(self, error, size, bound, digits):
        """No component errs by more than `info` says."""
        allowed = math.log2(bound) if bound else -math.inf
        if error > allowed + 1e-9:
            self.verdict.note("bound_violated", "excess", min((error - allowed) * _LOG10_2, 9999.0))
        true = (size - error) * _LOG10_2 if error > -math.inf else math.inf
        if digits > max(true, 0.0) + 1e-9:
            self.verdict.note("false_digits", "overclaim", digits - true)


def stated(n, changes, removals):
    """Return what updates promise of ``R^H R - A^H A``, in eps."""
    return 40 * n * (changes + 1) + 20 * n * removals


def _gram_difference(a, r):
    """The entries of ``A^H A - R^H R``, real and imaginary, and the exponent of their unit."""
    grams = []
    for block in (a, r):
        ints, exponent = integers(block, (0, 1))
        parts = [flint_matrix(part) for part in ints]
        transposed = [part.transpose() for part in parts]
        if len(parts) == 1:
            gram = [transposed[0] * parts[0]]
        else:
            gram = [
                transposed[0] * parts[0] + transposed[1] * parts[1],
                transposed[0] * parts[1] - transposed[1] * parts[0],
            ]
        grams.append((gram, 2 * int(exponent.ravel()[0])))
    (first, p), (second, q) = grams
    unit = min(p, q)
    entries = []
    for x, y in zip(first, second, strict=True):
        shifted = x * (1 << (p - unit)) - y * (1 << (q - unit))
        entries += shifted.entries()
    return entries, unit

"""The nearest singularity of a homotopy, from ratios of coefficients: why precision counts.

``(1 - t) (x^2 - 1) + t (3 x^2 - 3/2) = 0`` has the solution ``sqrt((1 + t/2) / (1 + 2 t))``, which
is singular at -1/2.
"""

from __future__ import annotations

from fractions import Fraction

from mdqr.series import PowerSeries, System, newton_series, pade, radius

DEGREES = (16, 32, 64, 128)


def main() -> None:
    """Print the errors of estimates from coefficients in quad-double, and rounded to double."""
    system = System.from_strings(["(1-t)*(x^2-1) + t*(3*x^2-3/2)"], ["x"])
    whole = newton_series(system, [1], degree=max(DEGREES), precision="qd")["x"]
    print("degree  last ratio  extrapolated, uncertainty    from float64  nearest pole")
    for degree in DEGREES:
        series = whole.truncated(degree)
        found = radius(series, "fabry")
        rounded = radius(PowerSeries(series.to_numpy(), precision="qd"), "fabry")
        ratio = series.coeffs[-2] / series.coeffs[-1]
        poles = pade(series.truncated(32), *(min(degree, 32) // 2,) * 2).poles.values
        errors = [
            abs(float(each.real + Fraction(1, 2)))
            for each in (ratio, found.location, rounded.location, poles[0])
        ]
        print(
            f"{degree:6}  {errors[0]:10.1e}  {errors[1]:12.1e}  {found.uncertainty:11.1e}"
            f"  {errors[2]:12.1e}  {errors[3]:12.1e}"
        )


if __name__ == "__main__":
    main()

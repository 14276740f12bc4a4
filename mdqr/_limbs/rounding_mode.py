"""The rounding mode of the thread, which sums of doubles rely on.

NumPy and Python compute in the mode of the thread, and so would what stands between the kernels. So
every kernel and every conversion that adds doubles refuses another mode.
"""

_SMALL = 2.0**-60


def require_nearest() -> None:
    """Raise FloatingPointError unless this thread rounds to nearest, as threads begin.

    Upward the first sum is above 1, downward and towards zero the second is below it.
    """
    if 1.0 + _SMALL != 1.0 - _SMALL:
        raise FloatingPointError(
            "this thread does not round to nearest, which mdqr's sums of doubles need; "
            "call fesetround(FE_TONEAREST) before"
        )

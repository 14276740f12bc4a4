"""QR from factors in float64, corrected by products to working precision.

A sweep measures ``E = A - Q R`` and ``F = I - Q^H Q`` beyond the precision that Q and R have. With
``Y = E R^-1`` and ``C = Q^H Y``, to first order ``(I + T) R`` and ``Q + Y - Q T`` are the factors
of A, where T is the upper part of ``C + C^H - F`` with half its diagonal: ``A = (Q + dQ) (R + dR)``
and ``(Q + dQ)^H (Q + dQ) = I`` without terms of second order (G. W. Stewart 1993 and X.-W. Chang,
C. C. Paige, G. W. Stewart 1997 on the perturbation of QR). What is left is their square, so the
arithmetic of a sweep needs half of the bits it makes. ``R^-1`` is refined by Newton's iteration
from sweep to sweep, ``X + G X`` with ``G = I - X R`` (G. Schulz 1933), so that all but its start in
float64 is products. What a sweep left is bounded from the norms of E, F, Y, T, X and G and the
rounding errors of the sweep: no further products certify the factors.

Where A is too near to singular for float64, its R in float64 becomes the first of a product: ``A
R^-1``, in as many limbs as its cancellation takes, is factored in float64 again (S. M. Rump 2009
and T. Ogita 2010 on extremely ill-conditioned matrices).
"""

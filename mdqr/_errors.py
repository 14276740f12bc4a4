"""The warning that mdqr adds to NumPy's exceptions."""

from __future__ import annotations


class PrecisionWarning(UserWarning):
    """A result has fewer correct digits than its precision promises.

    Turn it into an error with ``warnings.filterwarnings("error", category=mdqr.PrecisionWarning)``.

    Examples
    --------
    >>> import mdqr
    >>> issubclass(mdqr.PrecisionWarning, UserWarning)
    True
    """


PrecisionWarning.__module__ = "mdqr"

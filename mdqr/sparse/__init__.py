"""Products and systems of SciPy's sparse matrices with all digits of a precision."""

from mdqr.sparse._public import lstsq, matmul, solve

__all__ = ["lstsq", "matmul", "solve"]


def __dir__() -> list[str]:
    return sorted(__all__)

"""The names that messages use for the function that a user called, and for its operands."""

from __future__ import annotations

from typing import NamedTuple


class Caller(NamedTuple):
    """A public function, for the messages of what it calls.

    Attributes
    ----------
    function : str
        Its name.
    a, b : str
        What the matrix and the right-hand sides are to its users, in the singular.
    """

    function: str
    a: str = "a"
    b: str = "b"

    @property
    def public(self) -> str:
        """Its name in `mdqr`."""
        return self.function if self.function == "polyfit" else f"linalg.{self.function}"

    @property
    def wants_square(self) -> bool:
        """True if its matrices are square: without full rank they are called singular."""
        return self.function in ("inv", "matrix_power", "cond") or self.function.startswith("solve")

    @property
    def has_options(self) -> bool:
        """True if messages may name options of `lstsq`, `solve` and `inv`."""
        return self.function in ("lstsq", "solve", "inv")


LSTSQ, SOLVE, INV = map(Caller, ("lstsq", "solve", "inv"))

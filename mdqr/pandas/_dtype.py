"""The type of a column: a precision."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from pandas.api.extensions import ExtensionDtype, register_extension_dtype

from mdqr._array.array import MDArray
from mdqr._precision import PRECISIONS, Precision, as_precision
from mdqr._stability import experimental
from mdqr._typing import PrecisionLike


@experimental
@register_extension_dtype
class MDDtype(ExtensionDtype):
    """The type of a column of real multiple doubles, by name ``"mdqr[qd]"`` and so on.

    Parameters
    ----------
    precision : Precision or str
        The precision of the values.

    Attributes
    ----------
    precision : Precision
        The precision of the values.

    Examples
    --------
    >>> import pandas as pd
    >>> import mdqr.pandas
    >>> column = pd.Series(["0.1", "0.2"], dtype="mdqr[qd]")
    >>> print(column.sum())
    0.3
    """

    type = MDArray
    na_value = np.nan
    kind = "O"
    _is_numeric = True
    _metadata = ("precision",)

    def __init__(self, precision: PrecisionLike) -> None:
        self._precision = as_precision(precision)

    @property
    def precision(self) -> Precision:
        """The precision of the values."""
        return self._precision

    @property
    def name(self) -> str:
        """The name, by which pandas finds the type."""
        return f"mdqr[{self._precision.name}]"

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return MDDtype, (self._precision.name,)

    @classmethod
    def construct_from_string(cls, string: str) -> MDDtype:
        """Return the type of a name.

        Parameters
        ----------
        string : str
            As ``"mdqr[qd]"``.

        Returns
        -------
        MDDtype
            The type.

        Raises
        ------
        TypeError
            If it is not the name of one.
        """
        if not isinstance(string, str):
            raise TypeError(f"'construct_from_string' expects a string, got {type(string)}")
        found = re.fullmatch(r"mdqr\[(\w+)\]", string)
        if found is None or found[1] not in {precision.name for precision in PRECISIONS}:
            raise TypeError(f"Cannot construct a 'MDDtype' from '{string}'")
        return cls(as_precision(found[1]))

    def construct_array_type(self) -> Any:
        """Return the class of the columns.

        Returns
        -------
        type
            `mdqr.pandas.MDExtensionArray`.
        """
        from mdqr.pandas._array import MDExtensionArray

        return MDExtensionArray

    def _get_common_dtype(self, dtypes: list[Any]) -> Any:
        """Return the highest precision, also with NumPy's integers and floats; else None."""
        kinds = (isinstance(x, MDDtype) or getattr(x, "kind", "O") in "iufb" for x in dtypes)
        if not all(kinds):
            return None
        return MDDtype(max(x.precision for x in dtypes if isinstance(x, MDDtype)))


MDDtype.__module__ = "mdqr.pandas"

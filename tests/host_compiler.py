"""The C++ compiler of this machine: whoever builds mdqr has one, and tests compile by it."""

from __future__ import annotations

import os
import shutil
from functools import cache


@cache
def host_compiler() -> str:
    """Return the path of the compiler; raises where there is none."""
    names = (os.environ.get("CXX", ""), "c++", "g++", "clang++")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise RuntimeError("the tests need a C++ compiler, as the build does: set CXX")
    return found

"""The C++ compiler of this machine; where the tests of a wheel run, there may be none."""

from __future__ import annotations

import os
import shutil

import pytest

COMPILER = next(
    filter(None, map(shutil.which, (os.environ.get("CXX", ""), "c++", "g++", "clang++"))), None
)
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler on this machine")

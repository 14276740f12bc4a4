#!/usr/bin/env bash
# A wheel for Pyodide, tried under node: `packaging/pyodide/build.sh [FOLDER]`. cibuildwheel fetches
# Emscripten and Pyodide.
#
# Threads do not exist there: the pool starts none, and the caller computes alone. For that the
# exception of a thread that cannot be started has to be caught, which Emscripten leaves out unless
# it is asked.
set -euo pipefail
cd "$(dirname "$0")/../.."
python -m pip install --quiet "cibuildwheel>=4.3"
export CIBW_BUILD="cp313-pyodide_*"
export CIBW_ENVIRONMENT="CXXFLAGS=-fwasm-exceptions LDFLAGS=-fwasm-exceptions"
export CIBW_TEST_COMMAND="python {project}/packaging/pyodide/first_steps.py"
python -m cibuildwheel --platform pyodide --output-dir "${1:-dist}" .

#!/usr/bin/env bash
# Tests with one more precision, of LIMBS limbs: that nothing depends on which precisions there are.
#
#     tests/limb_count.sh FOLDER LIMBS [files of tests]
#
# FOLDER gets a copy of the tree with the lines that a precision, mdqr.xd, takes, and what is compiled:
# one CPU level. docs/developer/adding-a-precision.md says what does not follow from these lines.
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd)
limbs=$2
shift 2
cd "$(dirname "$0")/.."

git ls-files -co --exclude-standard -z | xargs -0 tar c --ignore-failed-read | tar x -C "$folder"
cd "$folder"
python tests/support/another_precision.py . "$limbs"
cmake -S kernels -B build -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DPython_EXECUTABLE="$(command -v python)"
ninja -C build _mdqr_host

if [ $# -eq 0 ]; then
    set -- tests/functions tests/convert tests/io tests/factor tests/products tests/solve tests/spectral \
        tests/update tests/series tests/array
fi
export PYTHONPATH=".:$folder/build"
python -m pytest -q -p no:cacheprovider -k xd "$@"

#!/usr/bin/env bash
# Tests with one more precision, of LIMBS limbs: that nothing depends on which precisions there are.
#
#     tests/limb_count.sh FOLDER LIMBS [files of tests]
#
# FOLDER gets a copy of the tree with the few lines that a precision takes, and what is compiled.
# docs/developer/adding-a-precision.md says what does not follow from these lines.
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
    for name in contract elementwise reductions comparison rounding convert convert_strings \
        elementary gamma_erf matmul matvec norms exact_bounds qr lu cholesky triangular lstsq solve \
        refinement minimum_norm updatable update_accuracy svd eigh eig roots determinant series; do
        for file in tests/*/"test_$name.py"; do
            [ -e "$file" ] && set -- "$@" "$file"
        done
    done
fi
export PYTHONPATH=".:$folder/build"
python -m pytest -q -p no:cacheprovider -k "another or precision" "$@"

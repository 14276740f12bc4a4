#!/usr/bin/env bash
# The tests of the kernels on an extension that AddressSanitizer and UndefinedBehaviorSanitizer watch.
#
#     tests/sanitize.sh FOLDER [files of tests]
#
# FOLDER holds what is compiled. GCC on Linux; docs/developer/sanitizers.md has the runs.
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd)
shift
cd "$(dirname "$0")/.."

# Of UndefinedBehaviorSanitizer, what AddressSanitizer does not see: its checks of pointers double the compile time.
checks=bounds,shift,integer-divide-by-zero,float-cast-overflow,bool,enum,vla-bound,builtin
checks+=,nonnull-attribute,returns-nonnull-attribute,return,unreachable
cmake -S kernels -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Debug \
    -DMDQR_SANITIZE="address,$checks" -DPython_EXECUTABLE="$(command -v python)"
ninja -C "$folder" _mdqr_host

kernels="kernel_calls elementwise triangular matmul qr windows convert reductions comparison rounding signs
    linalg_bits small_systems refine lstsq solve updatable updatable_lost_digits update_panels threads
    layouts lu cholesky series_order exact exact_bounds exact_limits elementary gamma_erf remainders"
if [ $# -eq 0 ]; then
    for name in $kernels; do
        set -- "$@" $(find tests -name "test_$name.py")
    done
fi

# What Python allocates is never freed at its end, and shadow memory does not fit a limit of memory.
# GCC 13's stack of its own for use after return does not align vectors of AVX-512.
export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0 UBSAN_OPTIONS=print_stacktrace=1
export PYTHONPATH="$folder"
runtime=$("${CXX:-g++}" -print-file-name=libasan.so)
stdcxx=$("${CXX:-g++}" -print-file-name=libstdc++.so)
LD_PRELOAD="$runtime $stdcxx" python -m pytest -q -p no:cacheprovider -n 0 \
    -k "not no_thread_can_be_started and not threads_that_there_are" "$@"

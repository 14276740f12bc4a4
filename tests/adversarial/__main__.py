"""Judge random problems: ``python -m tests.adversarial --count 20000 --seed 1 --jobs 2``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks.common.environment import environment

from .findings import table
from .run import FUNCTIONS, run, show


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.adversarial", description=__doc__)
    parser.add_argument("--functions", nargs="+", choices=FUNCTIONS, default=list(FUNCTIONS))
    parser.add_argument("--count", type=int, default=1000, help="problems of each function")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the first index")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--output", type=Path, help="a JSON file for the findings")
    parser.add_argument("--show", type=int, metavar="INDEX", help="print one problem instead")
    options = parser.parse_args()
    if options.show is not None:
        for name in options.functions:
            show(options.seed, options.show, name)
        return
    command = f"python -m tests.adversarial {' '.join(sys.argv[1:])}"
    record = environment(command) | {"seed": options.seed, "first": options.first, "functions": {}}
    for name in options.functions:
        found = run(name, options.seed, options.count, options.jobs, options.first, progress=True)
        record["functions"][name] = found.record()
        print(table(name, record["functions"][name]))
    if options.output is not None:
        options.output.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()

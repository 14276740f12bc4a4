"""Run the GPU tests from a source tree and write report.md and report.json.

    python tests/gpu/run.py --out FOLDER [--commit HASH] [--values N] [-n PROCESSES]
    python tests/gpu/run.py --out FOLDER [-k EXPRESSION] update tensorcore solve
    python tests/gpu/run.py --out FOLDER --sanitize memcheck|racecheck [-k EXPRESSION] [NAME ...]
    python tests/gpu/run.py --out FOLDER --as t4|rtx4090|a100|all [NAME ...]

With --as the device stands in for a smaller one: launches are planned for its multiprocessors and
its shared memory, kernels compiled for its units. "all" runs the tests as each of the three. The
report is in a folder of that name.

Names are those of files, test_gpu_NAME.py, run in that order. All of them without a name, the
elementwise operations last: they take the longest, and change least. The sanitizers, which make
tests some hundred times slower, get "small" without a name.

The exit code is 0 if every test passed and, with --record, all files ran, none was left out with -k
and none was skipped for want of the host extension.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RECORDED_VALUES, VALUES = 10_000_000, 1_000_000
# As tests/support/devices/stand_ins.py has them.
STAND_INS = ("t4", "rtx4090", "a100")
FILES = {path.stem.removeprefix("test_gpu_"): path for path in sorted(HERE.glob("test_gpu_*.py"))}
FILES["elementwise"] = FILES.pop("elementwise")


def machine():
    """Return what ran: device, driver, CUDA, packages."""
    import cupy
    import numpy

    runtime = cupy.cuda.runtime
    device = runtime.getDeviceProperties(runtime.getDevice())
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    driver = "unknown"
    if shutil.which(query[0]):
        answer = subprocess.run(query, capture_output=True, text=True)
        driver = (answer.stdout.split() or [driver])[0]
    return {
        "device": device["name"].decode(),
        "compute capability": f"{device['major']}.{device['minor']}",
        "driver": driver,
        "CUDA runtime": runtime.runtimeGetVersion(),
        "NVRTC": ".".join(map(str, cupy.cuda.nvrtc.getVersion())),
        "CuPy": cupy.__version__,
        "NumPy": numpy.__version__,
        "Python": sys.version.split()[0],
        "CPUs": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
    }


def commit(given):
    """Return the commit that was given, or that of the tree, or "unknown"."""
    if given:
        return given
    try:
        head = subprocess.check_output(
            ["git", "rev-parse", "HEAD"], cwd=ROOT, text=True, stderr=subprocess.DEVNULL
        )
        changes = subprocess.check_output(["git", "status", "--porcelain"], cwd=ROOT, text=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head.strip() + ("+changes" if changes else "")


def command(options):
    """Return the command that runs the tests, under the sanitizer if asked."""
    names = options.names or (["small"] if options.sanitize else FILES)
    tests = [
        sys.executable, "-m", "pytest", "-c", str(HERE / "pytest.ini"),
        *(str(FILES[name]) for name in names), "-q",
        "--rootdir", str(ROOT), "--confcutdir", str(HERE.parent),
        "-m", "gpu", "-o", f"faulthandler_timeout={options.timeout}", "--durations=15",
        "--tb=short", "-p", "no:benchmark",
    ]  # fmt: skip
    if options.sanitize:
        tool = ["compute-sanitizer", "--tool", options.sanitize, "--error-exitcode", "9"]
        tests = [*tool, "--report-api-errors", "no", "--print-limit", "20", *tests]
    if options.n > 1:
        tests += ["-n", str(options.n), "--dist", "worksteal"]
    return [*tests, *(["-k", options.k] if options.k else [])]


def environment(options, record):
    """Return the environment of the tests: the source tree first, and where to record."""
    paths = [str(ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    settings = {
        "PYTHONPATH": os.pathsep.join(paths),
        "MDQR_GPU_RECORD": str(record),
        "MDQR_GPU_VALUES": str(options.values),
        "PYTHONUNBUFFERED": "1",
    }
    if options.n > 1:
        settings["MDQR_NUM_THREADS"] = str(max(1, (os.cpu_count() or 1) // options.n))
    if options.sanitize == "memcheck":
        settings["MDQR_GPU_NO_POOL"] = "1"
    if options.stand_in:
        settings["MDQR_GPU_STAND_IN"] = options.stand_in
    return os.environ | settings


def execute(options, out):
    """Run the tests; return the exit code, or None if they took too long, and what was recorded."""
    record, log = out / "record.jsonl", out / "log.txt"
    record.unlink(missing_ok=True)
    with log.open("w") as file:
        process = subprocess.Popen(
            command(options), cwd=ROOT, env=environment(options, record),
            stdout=file, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            code = process.wait(options.timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            code = None
    text = log.read_text()
    print("\n".join(text.splitlines()[-60:]))
    lines = record.read_text().splitlines() if record.exists() else []
    return code, [json.loads(line) for line in lines], text


def summary(options, code, tests, log, seconds):
    """Return the report as a dictionary."""
    from gpu_presence import why_no_host

    counts = {
        name: sum(test["outcome"] == name for test in tests)
        for name in ("passed", "failed", "skipped")
    }
    reasons: dict[str, int] = {}
    for test in tests:
        if test["outcome"] == "skipped":
            reasons[test["reason"]] = reasons.get(test["reason"], 0) + 1
    found = re.findall(r"ERROR SUMMARY: .*|RACECHECK SUMMARY: .*", log)
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": " ".join(["python", "tests/gpu/run.py", *sys.argv[1:]]),
        "commit": commit(options.commit),
        "machine": machine(),
        "stands in for": options.stand_in,
        "host extension": why_no_host() or "compared with",
        "sanitizer": {"tool": options.sanitize, "summary": found} if options.sanitize else None,
        "exit code": code,
        "seconds": round(seconds, 1),
        "values an operation": options.values,
        **counts,
        "skipped because": reasons,
        "failures": [test for test in tests if test["outcome"] == "failed"],
        "values": {
            test["test"].split("::")[-1]: test["properties"]["values"]
            for test in tests
            if "values" in test["properties"]
        },
        "notes": {
            f"{test['test'].split('::')[-1]}: {key}": value
            for test in tests
            for key, value in test["properties"].items()
            if key not in ("operation", "values")
        },
    }


def good(report, options):
    """Say whether the run proves what it set out to."""
    complete = report["exit code"] == 0 and report["passed"] > 0 and report["failed"] == 0
    if options.sanitize:
        said = report["sanitizer"]["summary"]
        complete &= bool(said) and all(
            re.search(r"[:(] ?0 (errors|hazards)", line) for line in said
        )
    if options.record:
        complete &= options.k is None and not options.names
        complete &= report["host extension"] == "compared with"
        complete &= report["values an operation"] >= RECORDED_VALUES or bool(options.sanitize)
    return complete


def markdown(report, verdict):
    """Return the report as text."""
    machine = ", ".join(f"{name} {value}" for name, value in report["machine"].items())
    code = "timed out" if report["exit code"] is None else f"exit code {report['exit code']}"
    lines = [
        f"# GPU tests: {'good' if verdict else 'NOT GOOD'}",
        "",
        f"`{report['command']}`, {report['date']}, commit {report['commit']}.",
        "",
        f"{machine}. Host: {report['host extension']}.",
        "",
        f"{report['passed']} passed, {report['failed']} failed, {report['skipped']} skipped, "
        f"{report['seconds']} s, {code}.",
    ]
    if report["stands in for"]:
        lines += ["", f"The device stands in for {report['stands in for']}."]
    if report["sanitizer"]:
        said = "; ".join(report["sanitizer"]["summary"]) or "no summary"
        lines += ["", f"compute-sanitizer {report['sanitizer']['tool']}: {said}"]
    if report["skipped because"]:
        lines += ["", "| skipped | because |", "|--:|---|"]
        lines += [f"| {count} | {reason} |" for reason, count in report["skipped because"].items()]
    if report["values"]:
        lines += ["", "| operation | values with the same limbs as on the host |", "|---|--:|"]
        lines += [f"| {name} | {count:,} |" for name, count in report["values"].items()]
    lines += ["", *(f"- {name}: {value}" for name, value in report["notes"].items())]
    for failure in report["failures"]:
        lines += ["", f"## {failure['test']}", "", "```", failure["reason"], "```"]
    return "\n".join(lines).rstrip() + "\n"


def parsed():
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description="Run the GPU tests and write a report.")
    parser.add_argument("--out", type=Path, required=True, help="folder of the report")
    parser.add_argument("--commit", help="what the tree is a copy of, where there is no git")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(FILES)}")
    parser.add_argument(
        "--values", type=lambda text: int(float(text)), default=os.environ.get("MDQR_GPU_VALUES"),
        help=f"an elementwise operation; {VALUES:,}, with --record {RECORDED_VALUES:,}",
    )  # fmt: skip
    parser.add_argument("--timeout", type=float, default=540, help="seconds for the tests")
    parser.add_argument("--sanitize", choices=("memcheck", "racecheck"))
    parser.add_argument(
        "--as", dest="stand_in", choices=(*STAND_INS, "all"), help="a device to stand in for"
    )
    parser.add_argument("--record", action="store_true", help="fail without the host extension")
    parser.add_argument("-n", type=int, default=1, help="processes side by side (pytest-xdist)")
    parser.add_argument("-k", help="only these tests, as pytest selects them")
    options = parser.parse_args()
    unknown = set(options.names) - set(FILES)
    if unknown:
        parser.error(f"no test_gpu_{min(unknown)}.py")
    options.values = options.values or (RECORDED_VALUES if options.record else VALUES)
    return options


def run(options, out):
    """Run the tests once and write the report; say whether all is good."""
    out.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    code, tests, log = execute(options, out)
    report = summary(options, code, tests, log, time.monotonic() - start)
    verdict = good(report, options)
    name = f"report-{options.sanitize}" if options.sanitize else "report"
    (out / f"{name}.json").write_text(json.dumps(report | {"good": verdict}, indent=1) + "\n")
    (out / f"{name}.md").write_text(markdown(report, verdict))
    print(f"{'good' if verdict else 'NOT GOOD'}: {out / name}.md")
    return verdict


def main():
    options = parsed()
    sys.path[:0] = [str(ROOT), str(HERE / "support")]
    from gpu_presence import why_absent

    reason = why_absent()
    if reason is not None:
        sys.exit(f"no GPU to test on: {reason}")
    out = options.out.resolve()
    verdicts = []
    for stand_in in STAND_INS if options.stand_in == "all" else (options.stand_in,):
        options.stand_in = stand_in
        verdicts.append(run(options, out / (stand_in or "")))
    sys.exit(0 if all(verdicts) else 1)


if __name__ == "__main__":
    main()

"""The timers of benchmarks, their phases, and what a run leaves."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
from benchmark_pages import load


@pytest.fixture
def timing():
    return load("common.timing")


class Device:
    """A clock in place of CuPy: events note its time, and work lets it go on."""

    def __init__(self):
        self.now = 0.0
        self.cuda = SimpleNamespace(Event=self.event, get_elapsed_time=lambda a, b: b.at - a.at)

    def event(self):
        event = SimpleNamespace(at=math.nan, synchronize=lambda: None)
        event.record = lambda: setattr(event, "at", self.now)
        return event

    def work(self, milliseconds):
        self.now += milliseconds


@pytest.fixture
def device(timing, monkeypatch):
    device = Device()
    monkeypatch.setattr(timing, "cupy", lambda: device)
    return device


def test_steps_are_timed_apart_and_first_runs_do_not_count(timing, device):
    lengths = iter([100.0, 3.0, 1.0, 2.0])
    first, second = (lambda: device.work(next(lengths))), (lambda: device.work(5.0) or "last")
    times, result = timing.timed(first, second, repeats=3, skip=1, before=lambda: device.work(50.0))
    assert times == [2.0, 5.0]
    assert result == "last"


def test_the_innermost_phase_owns_the_time(timing, device):
    def inner():
        device.work(2.0)

    def outer():
        device.work(1.0)
        owner.inner()
        device.work(4.0)

    owner = SimpleNamespace(inner=inner, outer=outer)
    targets = [(owner, "outer", "a"), (owner, "inner", "b")]

    def call():
        owner.outer()
        device.work(8.0)

    assert timing.Phases(targets).milliseconds(call) == {"rest": 8.0, "a": 5.0, "b": 2.0}
    within = timing.Phases(targets, {"b": ("a",)})
    assert within.milliseconds(call) == {"rest": 8.0, "a": 7.0}
    assert (owner.inner, owner.outer) == (inner, outer)


def test_the_timer_of_the_host(timing, monkeypatch):
    clock = SimpleNamespace(now=0.0, calls=0)
    monkeypatch.setattr(timing.time, "perf_counter", lambda: clock.now)

    def call():
        clock.calls += 1
        clock.now += 0.25

    assert timing.Timer(3, at_least=1.0).seconds(call) == 0.25
    assert clock.calls == 1 + 3 * 4
    clock.calls = 0
    assert timing.Timer(5, at_most=0.75).seconds(call) == 0.25
    assert clock.calls == 1 + 3


@pytest.fixture
def benchmark():
    rows = load("common.rows")

    def good(options):
        yield rows.Row("good", "sum", "mdqr", "dd", "4" if options.quick else "8", 2.0, "s", 3.0)

    def bad(options):
        yield rows.Row("bad", "sum", "mdqr", "dd", "4", math.nan, "s")
        raise ValueError("broken")

    parts = {"good": good, "bad": bad, "other": bad}
    return load("common.runner").Benchmark("name", "Title", parts, further=("other",))


def test_a_part_that_fails_is_reported_and_the_others_are_kept(benchmark, tmp_path, capsys):
    path = tmp_path / "name.json"
    assert benchmark.main("name", ["--quick", "--output", str(path), "--commit", "abc"]) == 1
    results = load("common.rows").read(path, benchmark.row_of)
    assert [row.group for row in results.rows] == ["good", "bad"]
    assert results.rows[0].met
    assert math.isnan(results.rows[1].value)
    assert list(results.failures) == ["bad"]
    assert results.about["commit"] == "abc"
    page = path.with_suffix(".md").read_text()
    assert "| sum | mdqr | dd | 4 | 2 s | 3 met |" in page
    assert "## Bad failed" in page
    assert capsys.readouterr().out.strip() == page.strip()


def test_results_are_read_and_parts_are_chosen(benchmark, tmp_path, capsys):
    """What is read is not measured, and what is quick or partial writes nothing by itself."""
    path = tmp_path / "name.json"
    arguments = ["--only", "good", "--output", str(path)]
    assert benchmark.main("name", arguments) == 0
    once = capsys.readouterr().out
    assert benchmark.main("name", ["--read", str(path), str(path)]) == 0
    assert capsys.readouterr().out == once
    assert not (load("common.rows").RESULTS / "name.json").exists()

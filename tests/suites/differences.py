"""Deliberate differences from SciPy: the tests that fail are those, all of them and no others."""

from __future__ import annotations

from collections.abc import Callable

import pytest


class Differences:
    """A plugin for pytest by which a run succeeds if each test fails that is to, and no other."""

    def __init__(self, is_deliberate: Callable[[str], object]) -> None:
        self._is_deliberate = is_deliberate
        self._known: list[str] = []
        self._faults: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Compare the outcome of a test with the one that is listed."""
        is_known = report.when == "call" and bool(self._is_deliberate(report.nodeid))
        if report.failed != is_known:
            self._faults.append(f"{report.outcome}, {report.when}: {report.nodeid}")
        elif is_known:
            self._known.append(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Let the comparison decide, unless the run ended early or had no tests."""
        if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            failed = pytest.ExitCode.TESTS_FAILED if self._faults else pytest.ExitCode.OK
            session.exitstatus = failed

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the number of differences, and tests that came out otherwise than listed."""
        terminalreporter.section("differences from SciPy")
        terminalreporter.line(f"{len(self._known)} deliberate, {len(self._faults)} others")
        for fault in self._faults:
            terminalreporter.line(fault)

"""Which work is recorded, when, and for how long a recording is kept: over arrays of NumPy."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from mdqr._backend.cuda.runtime import graphs
from mdqr._backend.cuda.runtime.graphs import Graphs


class Stream:
    """What is done while it is being recorded is not seen; a graph does it again."""

    recording = None

    def __init__(self, non_blocking=False, ptr=7):
        self.ptr = ptr

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def synchronize(self):
        pass

    def begin_capture(self):
        Stream.recording = self

    def end_capture(self):
        Stream.recording = None
        return SimpleNamespace(upload=lambda stream: None, launch=lambda stream: self.again())


@pytest.fixture
def device(monkeypatch):
    """CuPy as far as recordings use it."""
    current = [0, Stream()]

    @contextmanager
    def using_allocator(_):
        yield

    pool = SimpleNamespace(malloc=None, total_bytes=lambda: 100)
    cuda = SimpleNamespace(
        runtime=SimpleNamespace(getDevice=lambda: current[0]),
        get_current_stream=lambda: current[1],
        MemoryPool=lambda: pool,
        Stream=Stream,
        using_allocator=using_allocator,
    )
    monkeypatch.setattr(graphs, "recording_cublas", lambda xp, stream: stream)
    return SimpleNamespace(current=current, zeros=np.zeros, cuda=cuda)


class Doubling:
    """Work that doubles its operand, and how often Python ran it."""

    def __init__(self):
        self.runs = 0

    def __call__(self, x, stream):
        self.runs += 1
        out = np.empty_like(x)

        def again():
            np.multiply(x, 2.0, out=out)
            # Other threads run meanwhile.
            time.sleep(1e-5)

        stream.again = again
        if Stream.recording is None:
            again()
        return [out]


def test_work_is_recorded_when_it_comes_for_the_third_time(device):
    run, work = Graphs(device).run, Doubling()
    for x in (1.0, 2.0):
        assert run("key", np.full(3, x), work) is None
    assert work.runs == 0
    x = np.full(3, 3.0)
    (first,) = run("key", x, work)
    # Once to compile and to fill the pool, once for the recording.
    assert work.runs == 2
    (second,) = run("key", x + 1, work)
    assert work.runs == 2
    np.testing.assert_array_equal([*first, *second, *x], [6.0] * 3 + [8.0] * 3 + [3.0] * 3)


@pytest.mark.parametrize("error", [MemoryError, RuntimeError])
@pytest.mark.parametrize("late", [False, True])
def test_a_recording_that_fails_is_not_kept(device, error, late):
    """Before or while it is recorded; without memory the caller does the work itself."""
    found, work = Graphs(device), Doubling()

    def failing(x, stream):
        if late and Stream.recording is None:
            return work(x, stream)
        raise error("no")

    for _ in range(2):
        found.run("key", np.ones(2), failing)
    if error is MemoryError:
        assert found.run("key", np.ones(2), failing) is None
        # As if it had never come.
        assert [found.run("key", np.ones(2), work) for _ in range(2)] == [None, None]
    else:
        with pytest.raises(RuntimeError, match="no"):
            found.run("key", np.ones(2), failing)
    assert Stream.recording is None
    assert not found._recordings
    np.testing.assert_array_equal(found.run("key", np.ones(2), work), [[2.0, 2.0]])


def test_recordings_differ_by_all_they_depend_on(device):
    """Work, shape, type, device and stream."""
    run = Graphs(device).run
    works = [Doubling() for _ in range(5)]
    cases = [
        ("a", (3,), "f4", 0, 7),
        ("b", (3,), "f4", 0, 7),
        ("a", (4,), "f4", 0, 7),
        ("a", (3,), "f8", 0, 7),
        ("a", (3,), "f4", 0, 8),
    ]
    for _ in range(4):
        for work, (key, shape, dtype, number, ptr) in zip(works, cases, strict=True):
            device.current[:] = [number, Stream(ptr=ptr)]
            found = run(key, np.ones(shape, dtype), work)
            assert found is None or (found[0].shape == shape and found[0].dtype == dtype)
    assert [work.runs for work in works] == [2] * 5


def test_the_default_stream_of_each_thread_is_its_own(device):
    """The address is the same in all."""
    found, work = Graphs(device), Doubling()
    device.current[1] = Stream(ptr=2)

    def thrice():
        for _ in range(3):
            found.run("key", np.ones(2), work)

    thrice()
    other = threading.Thread(target=thrice)
    other.start()
    other.join()
    assert len(found._recordings) == 2


def test_the_oldest_are_forgotten(device, monkeypatch):
    monkeypatch.setattr(graphs, "_MOST_BYTES", 250)
    run, works = Graphs(device).run, [Doubling() for _ in range(3)]
    for i in (0, 1, 0, 2, 1, 0):
        for _ in range(3):
            run(i, np.ones(1), works[i])
    # Recorded again: 1 when 2 came, which was used before 0; then 0 when 1 came back. Both had to
    # come for the third time again.
    assert [work.runs for work in works] == [4, 4, 2]


def test_operands_that_would_displace_others_are_not_recorded(device):
    run = Graphs(device, lambda: 16 * 80).run
    assert [run("key", np.ones(10), Doubling()) is None for _ in range(3)] == [True, True, False]
    assert [run("key", np.ones(11), Doubling()) is None for _ in range(3)] == [True] * 3


def test_several_operands(device):
    """All are copied, and a recording belongs to the layouts of all."""
    found = Graphs(device)

    def work(operands, stream):
        out = np.empty_like(operands[0])

        def again():
            np.add(*operands, out=out)

        stream.again = again
        if Stream.recording is None:
            again()
        return [out]

    for i in range(4):
        given = np.full(3, float(i)), np.full((), 2.0)
        result = found.run_all("key", given, work)
        assert result is None if i < 2 else (result[0] == i + 2.0).all()
    assert found.run_all("key", (np.ones(3), np.ones(3)), work) is None


def test_layouts_that_are_counted_are_bounded(device, monkeypatch):
    monkeypatch.setattr(graphs, "_MOST_COUNTS", 10)
    found = Graphs(device)
    for i in range(100):
        assert found.run(i, np.ones(2), Doubling()) is None
    assert len(found._counts) <= 10


def test_threads_take_turns(device):
    """The memory of a recording belongs to one of them from copy to copy."""
    run, work, wrong = Graphs(device).run, Doubling(), []
    for _ in range(3):
        run("key", np.zeros(50), work)

    def check(x):
        for _ in range(200):
            (found,) = run("key", np.full(50, x), work)
            if not (found == 2 * x).all():
                wrong.append(x)

    threads = [threading.Thread(target=check, args=(float(i),)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong

"""Copies to and from another GPU, with NumPy's arrays in place of CuPy's."""

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from mdqr._backend.cuda.runtime.peers import Peer
from mdqr._backend.cuda.runtime.places import _KEPT, OnGPU
from mdqr._backend.places import Here


class _Pointer:
    def __init__(self, array):
        self.array = array

    def copy_from_device_async(self, source, size, stream):
        assert size == source.array.nbytes == self.array.nbytes
        assert self.array.flags.c_contiguous
        assert source.array.flags.c_contiguous
        self.array[...] = source.array.reshape(self.array.shape)


class _Array(np.ndarray):
    @property
    def data(self):
        return _Pointer(self)

    @property
    def device(self):
        return SimpleNamespace(id=0)


class _Stream:
    def record(self):
        return self

    def wait_event(self, event):
        assert event is not None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


class _Cupy:
    def __init__(self):
        self.cuda = SimpleNamespace(
            get_current_stream=_Stream,
            Device=nullcontext,
            Stream=lambda non_blocking: _Stream(),
        )

    def empty(self, shape, dtype=float):
        return np.empty(shape, dtype).view(_Array)

    def ascontiguousarray(self, x):
        return np.ascontiguousarray(x).view(_Array)


@pytest.fixture
def peer():
    return Peer(SimpleNamespace(xp=_Cupy()), 1)


SHAPES = [(2, 5, 7), (2, 5, 1), (2, 1, 5), (2, 1, 1), (2, 4, 5, 3), (5,), (1,)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [float, np.int64])
def test_what_is_taken_is_the_same(peer, shape, dtype, rng):
    """Of one column, too: such an array is in C order, and so is its transpose."""
    x = rng.integers(-9, 9, shape).astype(dtype).view(_Array)
    views = [x, x[..., ::2]]
    views += [x.swapaxes(-1, -2), x[..., :1], x[..., :1, :]] if x.ndim > 1 else []
    for view in views:
        taken = peer.take(view)
        assert taken.dtype == dtype
        assert np.array_equal(taken, view)
        assert not np.shares_memory(taken, x)


@pytest.mark.parametrize("shape", [(2, 5, 7), (2, 5, 1), (2, 2, 3, 4)], ids=str)
@pytest.mark.parametrize("given", ["dense", "rows", "columns", "transposed"])
def test_what_is_started_sets_out(peer, shape, given, rng):
    whole = np.zeros((*shape[:-2], 9, 9)).view(_Array)
    m, n = shape[-2:]
    out = {
        "dense": np.zeros(shape).view(_Array),
        "rows": np.zeros((*shape[:-2], 9, n)).view(_Array)[..., 2 : 2 + m, :],
        "columns": whole[..., :m, :n],
        "transposed": np.zeros((*shape[:-2], n, m)).view(_Array).swapaxes(-1, -2),
    }[given]
    x, y = rng.random(shape).view(_Array), rng.random(shape).view(_Array)

    def call(backend, left, right, nothing, result):
        assert nothing is None
        result[...] = left - right

    peer.start(call, [x, y, None], out)
    peer.finish()
    assert np.array_equal(out, x - y)
    assert np.count_nonzero(whole) == (out.size if given == "columns" else 0)


def test_memory_is_kept_until_all_is_done(peer, rng):
    """Also where a call fails, and the memory is that of the caller."""
    x, out = rng.random((2, 3, 4)).view(_Array), np.zeros((2, 3, 4)).view(_Array)
    waited = []

    def fail(backend, left, result):
        raise MemoryError

    class Stream(_Stream):
        def wait_event(self, event):
            waited.append(len(peer._taken))

    with pytest.raises(MemoryError):
        peer.start(fail, [x], out)
    assert [x.shape for x in peer._taken] == [x.shape]
    peer._calls.xp.cuda.get_current_stream = Stream
    peer.finish()
    assert waited == [1]  # before it is given away
    assert not peer._taken
    assert not out.any()


class _Marks(_Stream):
    """A stream that writes down what it waits for."""

    def __init__(self):
        self.begun, self.waited = 0, []

    def record(self):
        self.begun += 1
        return self, self.begun

    def wait_event(self, event):
        self.waited.append(event)


@pytest.fixture
def two():
    backend = SimpleNamespace(xp=_Cupy())
    backend.xp.asarray = lambda x: np.array(x).view(_Array)
    return [OnGPU(backend, number, _Marks()) for number in (0, 1)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_places_take_copies_in_the_order_of_both(two, shape, rng):
    """After all that the source has begun; it gives no memory away before that is read."""
    home, place = two
    x = rng.random(shape).view(_Array)
    for count, view in enumerate([x, x[..., ::2]], start=1):
        taken = place.take(view, home)
        assert np.array_equal(taken, view)
        assert not np.shares_memory(taken, x)
        assert place._stream.waited[-1] == (home._stream, count)
    assert home._stream.waited == []
    assert place.take(x, place) is x
    for _ in range(_KEPT):
        place.take(x, home)
    assert len(home._kept) == _KEPT
    assert home._stream.waited == [(place._stream, 1), (place._stream, 2)]
    home.finish()
    assert not home._kept
    assert home._stream.waited == [(place._stream, i) for i in range(1, _KEPT + 3)]


def test_places_take_from_the_host(two, rng):
    x = rng.random((2, 5, 7))
    taken = two[1].take(x[..., ::2], Here(SimpleNamespace(xp=np)))
    assert np.array_equal(taken, x[..., ::2])
    assert not np.shares_memory(taken, x)

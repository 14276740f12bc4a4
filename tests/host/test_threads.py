"""Long calls hear signals, and threads that cannot be started are done without."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from flushing import needs_mxcsr

import mdqr
from mdqr._backend import for_block
from mdqr._limbs.planes import Kind

HERE = str(Path(__file__).parent)
SUPPORT = str(Path(__file__).parents[1] / "support")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the limit of Linux")


def run(program):
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


@LINUX
def test_computes_where_no_thread_can_be_started():
    # Less address space than the stack of a thread.
    run("""
import resource, threading, mdqr
mdqr.config.set_num_threads(1)
x = mdqr.random.uniform((24, 24), precision="od", rng=1)
want = (x @ x).limbs.tobytes(), (x * x).limbs.tobytes()
pages = int(open("/proc/self/statm").read().split()[0])
size = pages * resource.getpagesize() + 3 * 2**19
resource.setrlimit(resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))
try:
    threading.Thread(target=print).start()
    raise SystemExit("a thread was started")
except RuntimeError:
    pass
mdqr.config.set_num_threads(4)
assert ((x @ x).limbs.tobytes(), (x * x).limbs.tobytes()) == want
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
assert ((x @ x).limbs.tobytes(), (x * x).limbs.tobytes()) == want
""")


@LINUX
def test_computes_with_the_threads_that_there_are():
    run("""
import resource, mdqr
mdqr.config.set_num_threads(1)
x = mdqr.random.uniform((70, 70), precision="dd", rng=1)
want = (x * x).limbs.tobytes()
stack = resource.getrlimit(resource.RLIMIT_STACK)[0]
stack = 2**21 if stack == resource.RLIM_INFINITY else stack
pages = int(open("/proc/self/statm").read().split()[0])
size = pages * resource.getpagesize() + 2 * stack + stack // 2
resource.setrlimit(resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))
mdqr.config.set_num_threads(8)
for _ in range(3):
    assert (x * x).limbs.tobytes() == want
tasks = len(__import__("os").listdir("/proc/self/task"))
assert tasks < 8, tasks
""")


def wide_product():
    """Operands of a product of which no element is served by digits."""
    rng = np.random.default_rng(3)
    exponents = rng.integers(-300, 301, (180, 180))
    x = mdqr.random.uniform((180, 180), low=-1, high=1, precision="od", rng=4)
    ldexp = for_block(x.limbs).ldexp
    return mdqr.from_limbs(ldexp(x.limbs, exponents)), mdqr.from_limbs(ldexp(x.limbs, -exponents))


def long_wide_product():
    """The same with few elements of many terms each."""
    k = 2**17
    rng = np.random.default_rng(6)
    x = rng.uniform(-1, 1, k) * 2.0 ** rng.integers(-300, 301, k)
    x, y = (blocks(values) for values in (x, 1 / x))
    return np.broadcast_to(x[:, None, :], (8, 5, k)), np.broadcast_to(y[:, :, None], (8, k, 8))


def blocks(values):
    """Octuple doubles with 8 nonzero limbs each."""
    return np.stack([values * 2.0 ** (-54 * i) for i in range(8)])


def one_row():
    return (blocks(np.random.default_rng(7).uniform(-1, 1, 2**20)),)


def tall_panel():
    return (mdqr.random.uniform((9000, 24), low=-1, high=1, precision="od", rng=5),)


def panel(x):
    h, tau, _, t = for_block(x.limbs).qr_panel(x.limbs, kind=Kind(8, False))
    return np.concatenate([part.ravel() for part in (h, tau, t)])


def product(x, y):
    return mdqr.linalg.matmul(x, y, method="direct").limbs


def blocks_product(x, y):
    return for_block(x).matmul(x, y, kind=Kind(8, False))


def running_sums(x):
    return for_block(x).cumsum(x, kind=Kind(8, False))


@pytest.fixture
def one_thread():
    extension = mdqr._backend.host.backend.extension()
    before = extension.num_threads()
    extension.set_num_threads(1)
    yield
    extension.set_num_threads(before)


@pytest.fixture
def on_alarm():
    """Set what runs every 20 ms, never within itself: it may take longer than that."""

    def start(handler):
        due = 0.0

        def alarm(number, frame):
            nonlocal due
            if time.monotonic() < due:
                return
            due = np.inf
            try:
                handler()
            finally:
                due = time.monotonic() + 0.02

        signal.signal(signal.SIGALRM, alarm)
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)

    before = signal.getsignal(signal.SIGALRM)
    yield start
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


LONG = {
    "product": (product, wide_product),
    "many terms": (blocks_product, long_wide_product),
    "panel": (panel, tall_panel),
    "one row": (running_sums, one_row),
}


@pytest.mark.parametrize(("compute", "operands"), LONG.values(), ids=LONG.keys())
def test_signal_handlers_run_within_a_kernel(compute, operands, one_thread, on_alarm):
    """Twice or more in one call, computing themselves; the result is the same."""
    values = operands()
    want = compute(*values)
    few = mdqr.random.uniform((40, 24), low=-1, high=1, precision="od", rng=8)
    inner = panel(few)
    seen = []
    on_alarm(lambda: seen.append(panel(few).tobytes()))
    result = compute(*values)
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert result.tobytes() == want.tobytes()
    assert len(seen) > 1
    assert set(seen) == {inner.tobytes()}


def test_an_exception_of_a_handler_ends_a_kernel(one_thread, on_alarm):
    class Stop(Exception):
        pass

    x, y = wide_product()
    out = np.full((8, 180, 180), np.nan)

    def stop():
        raise Stop

    on_alarm(stop)
    with pytest.raises(Stop):
        for_block(out).matmul(x.limbs, y.limbs, kind=Kind(8, False), out=out)
    signal.setitimer(signal.ITIMER_REAL, 0)
    # A call that runs to its end leaves no NaN.
    assert np.isnan(out).any()
    assert mdqr.array_equal(x + x, 2 * x)


@needs_mxcsr
@pytest.mark.parametrize("flushing", [False, True])
def test_a_handler_runs_in_the_mode_of_the_caller_and_leaves_the_kernel_its_own(
    flushing, one_thread, on_alarm
):
    set_ftz = mdqr._backend.host.backend.extension().set_ftz
    tiny, one = np.float64(2.0**-1074), np.float64(1.0)
    x = np.zeros((8, 2**20))
    x[0] = 2.0**-1074
    y = np.zeros((8, 2**20))
    y[0] = 1.0
    out = np.full_like(x, np.nan)
    seen = []

    def turn():
        seen.append(tiny * one == 0.0)
        set_ftz(not seen[-1])

    set_ftz(flushing)
    try:
        on_alarm(turn)
        mdqr._backend.host.backend.extension().binary("divide", out, x, y, 8, False)
        signal.setitimer(signal.ITIMER_REAL, 0)
        after = tiny * one == 0.0
    finally:
        set_ftz(False)
    assert len(seen) > 1
    # Each handler sees what the one before it left, and so does the caller.
    assert [*seen, after] == [flushing ^ i % 2 == 1 for i in range(len(seen) + 1)]
    assert np.all(out.view(np.int64)[0] == 1)
    assert not out[1:].any()


@pytest.mark.parametrize("size", [40, 250])
def test_a_daemon_in_a_kernel_does_not_abort_the_end_of_the_process(size):
    """The interpreter takes a while to end: the thread asks for the GIL meanwhile."""
    program = f"""
import sys, threading, time, mdqr
class Slow:
    def __del__(self):
        end = time.perf_counter() + 0.1
        while time.perf_counter() < end: pass
sys.kept = Slow()
a = mdqr.random.uniform(({size}, {size}), precision="dd", rng=1)
a @ a
def compute():
    while True: a @ a
for _ in range(2): threading.Thread(target=compute, daemon=True).start()
time.sleep(0.1)
"""
    for _ in range(6):
        run(program)


@LINUX
def test_fork_within_a_kernel():
    """A child that was born in a pause ends the call without the threads of its parent."""
    run(f"""
import os, signal, sys
sys.path[:0] = [{HERE!r}, {SUPPORT!r}]
import mdqr
from test_threads import product, wide_product
mdqr.config.set_num_threads(2)
x, y = wide_product()
want = product(x, y).tobytes()
children = []
def fork(number, frame):
    if not children:
        signal.setitimer(signal.ITIMER_REAL, 0)
        children.append(os.fork())
signal.signal(signal.SIGALRM, fork)
signal.setitimer(signal.ITIMER_REAL, 0.02)
same = product(x, y).tobytes() == want
assert children
if children == [0]: os._exit(0 if same else 1)
assert same and os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 0
""")


def test_a_call_of_one_thread_does_not_wait_for_a_long_one():
    """A long call holds the workers: what comes meanwhile is computed in its own thread."""
    run("""
import threading, mdqr
mdqr.config.set_num_threads(2)
a = mdqr.random.uniform((500, 500), low=-1, high=1, precision="od", rng=1)
x = mdqr.random.uniform(10_000, precision="dd", rng=1)
y = x[:64].reshape(8, 8)
want = (x * x).limbs.tobytes(), (y @ y).limbs.tobytes()
ended, done = threading.Event(), 0
thread = threading.Thread(target=lambda: (mdqr.linalg.matmul(a, a, method="direct"), ended.set()))
thread.start()
while not ended.is_set():
    assert ((x * x).limbs.tobytes(), (y @ y).limbs.tobytes()) == want
    done += 1
thread.join()
assert done > 20, done  # a call that waits for the workers gets them ten times a second
""")


def test_a_subinterpreter_is_refused():
    """Taking the lock back there would wait for the main interpreter without end."""
    subinterpreters = pytest.importorskip("_xxsubinterpreters")
    try:
        name = subinterpreters.create(isolated=False)
    except TypeError:
        pytest.skip("this Python has no legacy subinterpreters by that name")
    subinterpreters.destroy(name)
    run("""
import sys, _xxsubinterpreters as subinterpreters
code = f'''
import sys, warnings
warnings.simplefilter("ignore")
sys.path[:] = {sys.path!r}
import mdqr
try:
    mdqr.qd(2) * 2
except ImportError as error:
    assert "main interpreter" in str(error)
else:
    raise AssertionError
'''
subinterpreters.run_string(subinterpreters.create(isolated=False), code)
""")

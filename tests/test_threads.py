"""Long calls hear signals, and threads that cannot be started are done without."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import mdqr
from mdqr._backend import for_block

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


def wild_product():
    """Operands of a product of which no element is served by digits."""
    rng = np.random.default_rng(3)
    exponents = rng.integers(-300, 301, (180, 180))
    x = mdqr.random.uniform((180, 180), -1, 1, precision="od", rng=4)
    ldexp = for_block(x.limbs).ldexp
    return mdqr.from_limbs(ldexp(x.limbs, exponents)), mdqr.from_limbs(ldexp(x.limbs, -exponents))


def tall_panel():
    return (mdqr.random.uniform((9000, 24), -1, 1, precision="od", rng=5),)


def panel(x):
    h, tau, _, t = for_block(x.limbs).qr_panel(x.limbs, limbs=8, is_complex=False)
    return np.concatenate([part.ravel() for part in (h, tau, t)])


def product(x, y):
    return mdqr.linalg.matmul(x, y, method="direct").limbs


@pytest.fixture
def one_thread():
    extension = mdqr._backend.host.extension()
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


LONG = [(product, wild_product), (panel, tall_panel)]


@pytest.mark.parametrize(("compute", "operands"), LONG, ids=["product", "panel"])
def test_signal_handlers_run_within_a_kernel(compute, operands, one_thread, on_alarm):
    """Twice or more in one call, computing themselves; the result is the same."""
    values = operands()
    want = compute(*values)
    few = tuple(x[:40, :24] for x in values[:1])
    inner = panel(*few)
    seen = []
    on_alarm(lambda: seen.append(panel(*few).tobytes()))
    result = compute(*values)
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert result.tobytes() == want.tobytes()
    assert len(seen) > 1
    assert set(seen) == {inner.tobytes()}


def test_an_exception_of_a_handler_ends_a_kernel(one_thread, on_alarm):
    class Stop(Exception):
        pass

    x, y = wild_product()
    out = np.full((8, 180, 180), np.nan)

    def stop():
        raise Stop

    on_alarm(stop)
    with pytest.raises(Stop):
        for_block(out).matmul(x.limbs, y.limbs, limbs=8, is_complex=False, out=out)
    signal.setitimer(signal.ITIMER_REAL, 0)
    # A call that runs to its end leaves no NaN.
    assert np.isnan(out).any()
    assert mdqr.array_equal(x + x, 2 * x)


@LINUX
def test_fork_within_a_kernel():
    """A child that was born in a pause ends the call without the threads of its parent."""
    run("""
import os, signal, sys
sys.path.insert(0, "tests")
import mdqr
from test_threads import product, wild_product
mdqr.config.set_num_threads(2)
x, y = wild_product()
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

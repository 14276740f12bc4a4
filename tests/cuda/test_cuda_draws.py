"""Random limbs of the kernel, run by the CPU, are those of the host."""

import pytest
from cuda_cases import assert_same

from mdqr._backend import draws

KEYS = [(0, 0), (2**64 - 1, 1), (0x123456789ABCDEF, 0xFEDCBA9876543210)]


@pytest.mark.parametrize("name", draws.DRAWS)
@pytest.mark.parametrize("key", KEYS)
def test_draws_are_those_of_the_host(cuda, precision, name, key):
    for shape in ((), (3,), (0, 4), (3001,), (37, 11)):
        count = 1
        for n in shape:
            count *= n
        wanted = draws.DRAWS[name](key, count, precision.limbs)
        assert_same(
            cuda.draw(name, key, shape, precision.limbs), wanted.reshape(precision.limbs, *shape)
        )


def test_normal_doubles_of_the_tail_and_of_wedges(cuda):
    # Some 1,200 of these take further words, 26 the tail.
    count = 100_000
    wanted = draws.normal(KEYS[2], count, 1)
    assert (abs(wanted) > draws.TAIL).sum() > 10
    assert_same(cuda.draw("normal", KEYS[2], (count,), 1), wanted)

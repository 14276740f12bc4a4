"""The CUDA backend: the calls of `mdqr._backend.protocol.Backend` by kernels/cuda."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from mdqr._backend.cuda.draws import Draws
from mdqr._backend.cuda.elementwise import Elementwise
from mdqr._backend.cuda.factor.balance import Balance
from mdqr._backend.cuda.factor.elimination import Eliminations
from mdqr._backend.cuda.factor.panel import Panels
from mdqr._backend.cuda.factor.reflect import Reflections
from mdqr._backend.cuda.factor.small import SmallSystems
from mdqr._backend.cuda.factor.triangular import Triangles
from mdqr._backend.cuda.factor.window import Windows
from mdqr._backend.cuda.floats.fold import fold
from mdqr._backend.cuda.held import HeldLimbs
from mdqr._backend.cuda.products.exact import ExactProducts
from mdqr._backend.cuda.reductions import Reductions
from mdqr._backend.cuda.rounded import RoundedSums
from mdqr._backend.cuda.runtime.kernels import CupyKernels
from mdqr._backend.cuda.runtime.recorded import Recorded
from mdqr._backend.cuda.series.order import SeriesOrders
from mdqr._backend.cuda.series.paths import Paths
from mdqr._limbs.folds import use_on_device
from mdqr._limbs.planes import Kind


@cache
def backend() -> CudaBackend:
    """Return the only instance."""
    kernels = CupyKernels()
    use_on_device(partial(fold, kernels))
    return CudaBackend(kernels)


class CudaBackend(
    Elementwise,
    Reductions,
    Balance,
    Draws,
    Eliminations,
    ExactProducts,
    HeldLimbs,
    Panels,
    Recorded,
    Reflections,
    RoundedSums,
    SmallSystems,
    Triangles,
    Windows,
    SeriesOrders,
    Paths,
):
    """NVIDIA GPUs; see `mdqr._backend.protocol.Backend` for what each call computes."""

    name = "cuda"

    def expect(self, function: str, kind: Kind) -> None:
        """Start to compile the kernels of a function of linear algebra for results of `kind`."""
        if isinstance(self.kernels, CupyKernels):
            self.kernels.expect(function, kind)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the name of the only instance, so that copies and pickles are that instance."""
        return backend, ()

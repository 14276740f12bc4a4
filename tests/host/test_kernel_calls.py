"""The extension takes blocks that fit, and refuses all others before a kernel runs."""

import ast
import re
import warnings

import numpy as np
import pytest
from kernel_calls import calls, misfits

import mdqr
from mdqr._backend.host.backend import extension
from mdqr._backend.protocol import BINARY, REAL_ONLY, REDUCTIONS, UNARY
from mdqr._backend.sources import kernels_folder
from mdqr._precision import PRECISIONS


def listed(file, macro):
    """The arguments of the lines of a list of the kernels."""
    text = (kernels_folder() / "include" / "mdqr" / file).read_text()
    lines = re.findall(rf"^{macro}\(([^)]*)\)", text, flags=re.MULTILINE)
    return [tuple(line.split(", ")) for line in lines]


def test_the_protocol_names_the_operations_of_the_kernels():
    unary, binary, reductions = (
        listed("operations.def", f"MDQR_{family}_OP") for family in ("UNARY", "BINARY", "REDUCE")
    )
    unary += listed("operations.def", "MDQR_ELEMENTARY_UNARY_OP")
    binary += listed("operations.def", "MDQR_ELEMENTARY_BINARY_OP")
    for lines, names in ((unary, UNARY), (binary, BINARY), (reductions, REDUCTIONS)):
        assert tuple(line[0] for line in lines) == names
    assert {name for name, kind in unary + binary if kind == "real"} == REAL_ONLY


def test_there_are_kernels_for_every_precision():
    counts = [int(count) for (count,) in listed("limb_counts.def", "MDQR_LIMB_COUNT")]
    assert counts == [p.limbs for p in PRECISIONS]


def test_the_stub_describes_the_extension():
    """mypy checks calls by the stub: it has the functions and their parameters."""
    stub = ast.parse((kernels_folder() / "host" / "module" / "_mdqr_host.pyi").read_text())
    functions = {
        node.name: [argument.arg for argument in node.args.args]
        for node in stub.body
        if isinstance(node, ast.FunctionDef)
    }
    found = {
        name: re.findall(r"(?:\(|, )(\w+): ", function.__doc__)
        for name, function in vars(extension()).items()
        if callable(function) and name[0] != "_"
    }
    assert functions == found
    constants = {node.target.id for node in stub.body if isinstance(node, ast.AnnAssign)}
    assert constants == {name for name in vars(extension()) if name[0] != "_"} - set(found)


@pytest.mark.parametrize(
    ("op", "is_complex"), [*((op, True) for op in sorted(REAL_ONLY)), ("abs", False)]
)
def test_operations_without_a_form_for_a_field_are_refused(op, is_complex):
    x = np.zeros((2, 2, 3) if is_complex else (2, 3))
    field = "real" if is_complex else "complex"
    arguments = (x.copy(), x, x) if op in BINARY else (x.copy(), x)
    call = extension().binary if op in BINARY else extension().unary
    with pytest.raises(ValueError, match=f"{op} is for {field} numbers"):
        call(op, *arguments, 2, is_complex)


def test_what_does_not_fit_is_refused(precision, dtype):
    """Planes, parts, axes and lengths, one at a time; results stay as they are."""
    is_complex = dtype is complex
    refused = 0
    for call in calls(precision.limbs, is_complex):
        call.run()
        before = [call.blocks[name].copy() for name in call.results]
        for name, block in misfits(call, precision.limbs, is_complex):
            with pytest.raises(ValueError, match="a kernel was given"):
                call.run(**{name: block})
            refused += 1
        for name, kept in zip(call.results, before, strict=True):
            assert call.blocks[name].tobytes() == kept.tobytes()
    assert refused > 200


def test_arrays_of_other_types_are_refused_not_converted(precision, dtype):
    # A converted copy of a result would be thrown away.
    is_complex = dtype is complex
    for call in calls(precision.limbs, is_complex):
        for name, block in call.blocks.items():
            for other in (np.int32, np.dtype(np.float64).newbyteorder()):
                with pytest.raises(TypeError):
                    call.run(**{name: block.astype(other)})


@pytest.mark.parametrize("shape", [(1, 6), (6, 1), (3, 2), (6,)])
def test_the_shape_of_limbs_is_that_of_a_view(shape):
    a = mdqr.zeros((3,), precision="dd")
    limbs = a.limbs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of NumPy 2.5
        limbs.shape = shape
    for _ in range(10):
        a += 1
    assert a.limbs.shape == (2, 3)
    assert a.tolist() == [mdqr.dd(10)] * 3
    assert limbs.ravel().tolist() == [10.0] * 3 + [0.0] * 3


@pytest.mark.parametrize("name", [p.name for p in PRECISIONS[1:]])
def test_arrays_with_too_few_planes_are_refused(name):
    precision = mdqr._precision.as_precision(name)
    for shape in ((1, 100), (1, 3, 5)):
        broken = mdqr.MDArray._wrap(np.zeros(shape), precision, False)
        with pytest.raises(ValueError, match=f"wants {precision.limbs}"):
            broken += 1


def test_wrong_numbers_are_refused():
    module = extension()
    x = np.ones((2, 3, 3))
    with pytest.raises(ValueError, match="1, 2, 4, 8 and 16 limbs"):
        module.binary("add", x, x, x, 3, False)
    with pytest.raises(ValueError, match="parts of a sum"):
        module.window(np.ones((2, 1, 3, 2)), [], [], 1, 3, 2, False)
    with pytest.raises(ValueError, match="diagonals"):
        module.window(np.ones((2, 1, 3, 2)), [], [], 3, 1, 2, False)
    y = np.ones((2, 1, 3, 3))
    with pytest.raises(ValueError, match="signs"):
        module.residual(y.copy(), [1, 1], [y], y, y, 2, False, False)
    with pytest.raises(ValueError, match="rows without values"):
        module.argreduce(True, np.empty(2, dtype=np.int64), np.ones((2, 2, 0)), 2)
    z = np.ones((2, 2, 3))
    with pytest.raises(ValueError, match="real numbers"):
        module.binary("hypot", z, z, z, 2, True)


def test_as_many_axes_as_numpy_has(precision):
    a = mdqr.ones((1,) * 61 + (3, 2), precision=precision)
    b = mdqr.full((3, 1), 2, precision=precision)
    assert (a + b).shape == a.shape
    assert (a * b).sum().item() == 12
    assert (a + b).max().item() == 3
    assert (a == b).shape == a.shape
    with pytest.raises(ValueError, match="do not broadcast"):
        a + mdqr.ones((4, 2), precision=precision)
    with pytest.raises(ValueError, match="64"):
        mdqr.ones((1,) * 64, precision=precision)

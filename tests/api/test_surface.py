"""A change of the public surface is in the changelog."""

from __future__ import annotations

import surface

from mdqr._precision import PRECISIONS

HOW = (
    "these names differ from tests/api/surface.txt: name each in CHANGELOG.md under Unreleased, in "
    "backticks. `python -m tests.api.surface` writes the file anew, for a release"
)
BEFORE = "mdqr.linalg.eigh(a, UPLO='L', *, b=None)\nmdqr.roots(p)\n$ mdqr lstsq --level = 0.95\n"


def test_changes_are_in_the_changelog():
    names = surface.changed(surface.FILE.read_text(), surface.surface())
    assert surface.unnamed(names, (surface.ROOT / "CHANGELOG.md").read_text()) == [], HOW


def test_every_kind_of_change_is_seen():
    changes = {
        "mdqr.linalg.eigh": BEFORE.replace("UPLO='L'", "UPLO='U'"),
        "mdqr.roots": BEFORE.replace("mdqr.roots(p)\n", ""),
        "mdqr.pi": BEFORE + "mdqr.pi Constant\n",
        "--level": BEFORE.replace("0.95", "0.9"),
        "mdqr.linalg.SVDResult.S": BEFORE + "mdqr.linalg.SVDResult.S\n",
    }
    for name, after in changes.items():
        assert surface.changed(BEFORE, after) == {name}
        last = name.rpartition(".")[2]
        assert surface.unnamed({name}, "## [Unreleased]\n\n- Nothing.\n") == [name]
        assert surface.unnamed({name}, f"## [Unreleased]\n\n- `{last}` is another.\n") == []
        assert surface.unnamed({name}, f"## [Unreleased]\n\n## [0.1.0]\n\n- `{last}`\n") == [name]


def test_the_surface_has_signatures_fields_attributes_warnings_and_options():
    names = ",".join(p.name for p in PRECISIONS)
    lines = surface.surface().splitlines()
    assert len(lines) == len(set(lines))
    for line in (
        "mdqr.linalg.SVDResult class(tuple) [U, S, Vh]",
        "mdqr.linalg.SVDResult.info",
        "mdqr.linalg.EigInfo.bound_kind",
        "mdqr.linalg.QRFactor.apply_q(x)",
        "mdqr.config.num_threads(n, /)",
        "mdqr.MDArray.T",
        f"$ mdqr lstsq --precision {{{names}}} = qd",
    ):
        assert line in lines
    assert any(line.startswith("mdqr.PrecisionWarning class(") for line in lines)
    assert not [line for line in lines if " at 0x" in line]

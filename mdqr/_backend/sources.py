"""The folder of the kernel sources, and the digests that tie a compiled extension to them."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

# kernels/digest.cmake lists the same patterns and computes the same digests.
PARTS = {
    "include": ("include/**/*.hpp", "include/**/*.def"),
    "cuda": ("cuda/**/*.hpp", "cuda/**/*.cu"),
    "host": ("host/**/*.hpp", "host/**/*.cpp", "CMakeLists.txt", "digest.cmake"),
}


def kernels_folder() -> Path:
    """Return ``mdqr/kernels`` of an installed wheel, else ``kernels`` beside the package."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "kernels"
    return installed if installed.is_dir() else package.parent / "kernels"


def digest(kernels: Path, part: str) -> str:
    """Return the SHA-256 of the lines ``path sha256`` of the files of `part`, sorted by path.

    Parameters
    ----------
    kernels : Path
        The folder of kernel sources.
    part : str
        A key of `PARTS`.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    files = {
        file.relative_to(kernels).as_posix(): file
        for pattern in PARTS[part]
        for file in kernels.glob(pattern)
    }
    lines = (f"{name} {sha256(files[name].read_bytes()).hexdigest()}\n" for name in sorted(files))
    return sha256("".join(lines).encode()).hexdigest()


def check_digests(compiled: Mapping[str, str], kernels: Path) -> None:
    """Refuse an extension that was compiled from other sources than those in `kernels`.

    A wheel carries the headers only; in a source tree the host sources are compared too.

    Parameters
    ----------
    compiled : mapping of str to str
        The digests that the extension carries, by part.
    kernels : Path
        The folder of kernel sources, see `kernels_folder`.

    Raises
    ------
    ImportError
        If a digest differs.
    """
    for part in compiled:
        if (kernels / part).is_dir() and compiled[part] != digest(kernels, part):
            raise ImportError(
                f"the compiled extension _mdqr_host was built from other sources than "
                f"{kernels / part}; run `pip install .` in the source tree to build it again"
            )

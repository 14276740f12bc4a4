"""Writes the bill of materials of a wheel, CycloneDX 1.6: ``python packaging/sbom.py WHEEL FILE``.

It lists the packages that the wheel requires, and what its extension is linked with, which has its
licence in LICENSES.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import Any

Entry = dict[str, Any]


def required(requirement: str) -> Entry:
    """Return the entry of a requirement such as ``numpy>=2.1``."""
    found = re.match(r"[\w.-]+", requirement)
    assert found is not None, requirement
    return entry(found[0], f"pkg:pypi/{found[0].lower()}") | {"description": requirement}


def entry(name: str, purl: str) -> Entry:
    """Return the entry of a package."""
    return {"type": "library", "bom-ref": purl, "name": name, "purl": purl}


def bill(wheel: Path) -> Entry:
    """Return the bill of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        fields = Parser().parsestr(archive.read(metadata).decode())
    linked = [name for name in names if ".dist-info/licenses/LICENSES/" in name]
    parts = [entry(Path(name).stem, f"pkg:generic/{Path(name).stem}") for name in sorted(linked)]
    requirements = fields.get_all("Requires-Dist", [])
    parts += [required(each) for each in requirements if "extra ==" not in each]
    version = fields["Version"]
    main = entry(fields["Name"], f"pkg:pypi/{fields['Name']}@{version}") | {
        "version": version,
        "licenses": [{"license": {"id": fields["License-Expression"]}}],
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(wheel.read_bytes()).hexdigest()}],
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": main},
        "components": parts,
        "dependencies": [
            {"ref": main["bom-ref"], "dependsOn": [part["bom-ref"] for part in parts]},
            *({"ref": part["bom-ref"]} for part in parts),
        ],
    }


def main() -> None:
    """Write the file."""
    wheel, target = map(Path, sys.argv[1:])
    target.write_text(json.dumps(bill(wheel), indent=2) + "\n")


if __name__ == "__main__":
    main()

"""Digests of source files, by which what was made of them is known to be of today."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from step.host.extensions import installed_sources

EXTENDED = ("hw.units", "hw.functions", "step.ops", "step.functions", "step.lowering.plans", "step.rules")
"""Packages that others add to, of which RTL is made."""

RTL = (
    "hw",
    "step.language",
    "step.functions",
    "step.ops",
    "step.firing",
    "step.rules",
    "step.lowering",
    "cosim.verilog",
)
"""Packages that say what the RTL does in which cycle, that of the memory behind it included."""


@cache
def source_digest(*packages: str) -> str:
    """Digest of the Python, C++ and Verilog files of ``packages``, and of all that is installed to extend them.

    Nothing is imported, so any floor may ask for those above it.
    """
    digest = hashlib.sha256()
    for package in packages:
        root = _folder(package)
        for path in sorted(root.rglob("*")):
            if path.suffix in (".py", ".cpp", ".sv"):
                digest.update(f"{package}/{path.relative_to(root)}\n".encode() + path.read_bytes())
    for path in installed_sources(*EXTENDED):
        digest.update(f"{path}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _folder(package: str) -> Path:
    """Where the files of ``package`` lie."""
    top, *inner = package.split(".")
    spec = find_spec(top)
    assert spec is not None and spec.submodule_search_locations is not None, package
    return Path(spec.submodule_search_locations[0]).joinpath(*inner)

"""Sources that results are made of, and digests of these, by which what is kept in a cache is known to be of today."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from step.host.builds import content_key
from step.host.extensions import installed_sources

MADE_OF = {
    "verilog": (
        *("hw", "step.language", "step.functions", "step.ops", "step.firing", "step.rules", "step.lowering"),
        "step.running.result",
    ),
    "fuzz": ("step_check.fuzz", "step_check.samples", "step.ops", "step.functions", "step.language", "step.library"),
}
"""Packages and modules by what is made of them: the Verilog of modules, and the program of a seed."""

EXTENDED = ("hw.units", "hw.functions", "step.ops", "step.functions", "step.lowering.plans", "step.rules")
"""Packages that others add to, of which both are made."""

SUFFIXES = (".py", ".hpp", ".cpp", ".sv", ".json", ".npy", ".npz")
"""How the names of files end that decide results."""


@cache
def source_digest(result: str) -> str:
    """Digest of what ``result``, one of `MADE_OF`, is made of, and of what is installed to extend the toolkit.

    Nothing is imported, so any floor may ask for those above it.
    """
    files = [each for package in MADE_OF[result] for each in files_of(folder_of(package), package)]
    files += [(str(path), path) for path in installed_sources(*EXTENDED)]
    return content_key(part for name, path in files for part in (name, path.read_bytes()))


def files_of(root: Path, name: str) -> Iterator[tuple[str, Path]]:
    """The file ``root``, or those that lie in it and decide results, sorted, with names that begin with ``name``."""
    if root.is_file():
        yield name, root
    for path in sorted(root.rglob("*")):
        if path.suffix in SUFFIXES:
            yield f"{name}/{path.relative_to(root).as_posix()}", path


def folder_of(package: str) -> Path:
    """Folder of the files of ``package``, or the file that it is: a name of nothing would be part of no digest."""
    top, *inner = package.split(".")
    spec = find_spec(top)
    assert spec is not None and spec.submodule_search_locations is not None, package
    found = Path(spec.submodule_search_locations[0]).joinpath(*inner)
    if not found.is_dir():
        found = found.with_suffix(".py")
        assert found.is_file(), f"{package} is neither a package nor a module"
    return found

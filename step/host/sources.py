"""Sources that results are made of, and digests of these, by which a result is known to be of today.

This is the one place that says so. A digest sees the meaning of Python files: neither comments nor docstrings nor the
place of a line change it. Of other files it sees every byte.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from step.host.extensions import installed_sources
from step.host.files import cache_directory, write_atomically, writing_cache

HARDWARE = (
    *("hw", "step.language", "step.functions", "step.ops", "step.firing", "step.rules", "step.lowering"),
    "step.running.result",
)
MADE_OF = {
    "verilog": HARDWARE,
    "rtl": (*HARDWARE, "cosim.building.verilog"),
    "fabric": (
        *("step.language", "step.functions", "step.ops", "step.firing", "step.rules", "step.library"),
        *("step.lowering", "step.programs", "step.running", "step_models", "sim_approx"),
    ),
    "files": (),
    "fuzz": ("step_check.fuzz", "step_check.samples", "step.ops", "step.functions", "step.language", "step.library"),
}
"""Packages and modules by what is made of them: the Verilog of modules; what RTL does in which cycle, that of the
memory behind it included; results of the fast model; what files of its own decide alone; the program of a seed."""

OPEN = ("verilog", "rtl", "fuzz")
"""Made of what is installed to extend the toolkit, too."""

EXTENDED = ("hw.units", "hw.functions", "step.ops", "step.functions", "step.lowering.plans", "step.rules")
"""Packages that others add to, of which RTL is made."""

SUFFIXES = (".py", ".hpp", ".cpp", ".sv", ".json", ".npy", ".npz")
"""How the names of files end that decide results."""


@cache
def source_digest(result: str, *files: Path | str) -> str:
    """Digest of what ``result``, one of `MADE_OF`, is made of, and of ``files`` and folders of its own.

    What is installed to extend the toolkit is part of some (`OPEN`). Nothing is imported, so any floor may ask for
    those above it.
    """
    sources = [each for package in MADE_OF[result] for each in _files(_folder(package), package)]
    sources += [each for path in map(Path, files) for each in _files(path, path.parent.name + "/" + path.name)]
    if result in OPEN:
        sources += [(str(path), path) for path in installed_sources(*EXTENDED)]
    contents = [(name, path, path.read_bytes()) for name, path in sources]
    known = cache_directory() / "sources" / _digest((name.encode(), content) for name, _, content in contents)
    if known.is_file():
        return known.read_text()
    digest = _digest(
        (name.encode(), meaning(content) if path.suffix == ".py" else content) for name, path, content in contents
    )
    with writing_cache():
        known.parent.mkdir(exist_ok=True)
        write_atomically(known, digest.encode())
    return digest


def meaning(source: bytes) -> bytes:
    """Syntax of a Python file, without comments and docstrings."""
    return _plain(ast.parse(source)).encode(errors="surrogatepass")


def _plain(node: Any) -> str:
    """A syntax tree as text, in which what is empty is left out: versions of Python differ in that."""
    if isinstance(node, list):
        return "".join(map(_plain, node))
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = dict(ast.iter_fields(node))
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        fields["body"] = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    said = (f"{name}={_plain(value)}," for name, value in fields.items() if value is not None and value != [])
    return f"{type(node).__name__}({''.join(said)})"


def _digest(parts: Iterator[tuple[bytes, bytes]]) -> str:
    digest = hashlib.sha256()
    for name, content in parts:
        digest.update(b"%s\n%d\n" % (name, len(content)) + content)
    return digest.hexdigest()


def _files(root: Path, name: str) -> Iterator[tuple[str, Path]]:
    """The file ``root``, or those that lie in it and decide results, sorted, with names that begin with ``name``."""
    if root.is_file():
        yield name, root
    for path in sorted(root.rglob("*")):
        if path.suffix in SUFFIXES:
            yield f"{name}/{path.relative_to(root).as_posix()}", path


def _folder(package: str) -> Path:
    """Folder of the files of ``package``, or the file that it is: a name of nothing would be part of no digest."""
    top, *inner = package.split(".")
    spec = find_spec(top)
    assert spec is not None and spec.submodule_search_locations is not None, package
    found = Path(spec.submodule_search_locations[0]).joinpath(*inner)
    if not found.is_dir():
        found = found.with_suffix(".py")
        assert found.is_file(), f"{package} is neither a package nor a module"
    return found

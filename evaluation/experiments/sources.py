"""Digests of the sources that results are made of, by which a result is known to be of today.

A digest sees the meaning of Python files: neither comments nor docstrings nor the place of a line change it. Of other
files it sees every byte.
"""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from step.host.sources import files_of, folder_of

FABRIC = (
    *("step.language", "step.functions", "step.ops", "step.firing", "step.rules", "step.library"),
    *("step.lowering", "step.programs", "step.running", "step_models", "sim_approx"),
)
MADE_OF = {"fabric": FABRIC, "torch": (*FABRIC, "step_torch", "step_explore"), "files": ()}
"""Packages by what is made of them: results of the fast model, those of models of PyTorch with their depths
and areas, and what files of its own decide alone."""


@cache
def source_digest(result: str, *files: Path | str) -> str:
    """Digest of what ``result``, one of `MADE_OF`, is made of, and of ``files`` and folders of its own."""
    sources = [each for package in MADE_OF[result] for each in files_of(folder_of(package), package)]
    sources += [each for path in map(Path, files) for each in files_of(path, path.parent.name + "/" + path.name)]
    digest = hashlib.sha256()
    for name, path in sources:
        content = meaning(path.read_bytes()) if path.suffix == ".py" else path.read_bytes()
        digest.update(b"%s\n%d\n" % (name.encode(), len(content)) + content)
    return digest.hexdigest()


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

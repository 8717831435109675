"""What a verb does, in a line, without loading it: its docstring stands in its source."""

from __future__ import annotations

import ast
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path

import click


def summary(verb: EntryPoint) -> str:
    """The first sentence of the docstring of ``verb``; nothing where there is none to be read."""
    spec = find_spec(verb.module)
    if spec is None or spec.origin is None:
        return ""
    for each in ast.parse(Path(spec.origin).read_bytes()).body:
        if isinstance(each, ast.FunctionDef) and each.name == verb.attr:
            return click.Command(None, help=ast.get_docstring(each)).get_short_help_str(limit=120)
    return ""

"""Modules as they are written: those that are instances of a module with parameters are replaced by that."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from hw.verilog.convert import ModuleText
from hw.verilog.generic import Generic

_INSTANCE = re.compile(r"^  (\w+)(?= \w+ \($)", re.MULTILINE)


def with_parameters(modules: Mapping[str, ModuleText]) -> tuple[dict[str, ModuleText], dict[str, Generic]]:
    """Modules to write for ``modules``, by name, sorted; and of which of them all others are instances."""
    generics = {name: module.generic for name, module in modules.items() if module.generic is not None}
    found: dict[str, ModuleText] = {}
    for name, module in modules.items():
        generic = generics.get(name)
        plain = module if generic is None else replace(module, name=generic.name, text=generic.text, generic=None)
        children = tuple(generics[each].name if each in generics else each for each in module.children)
        text = _INSTANCE.sub(lambda match: f"  {instantiated(match[1], generics)}", plain.text)
        written = replace(plain, text=text, children=children)
        assert found.setdefault(written.name, written) == written, f"there are two modules {written.name}"
    return dict(sorted(found.items())), generics


def instantiated(module: str, generics: Mapping[str, Generic]) -> str:
    """Start of an instance of ``module``."""
    return generics[module].instance if module in generics else module

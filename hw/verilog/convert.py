"""From components to Verilog, each distinct one once, with the text kept on disk.

A text is a function of the component's class and parameters, the sources of this toolkit and the versions of the
tools; that is its key in the cache.
"""

from __future__ import annotations

import functools
import hashlib
import json
import warnings
from collections import Counter
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from amaranth.hdl import UnusedElaboratable

from hw.verilog.heads import numbers, summary, told_ports
from hw.verilog.modules import Parametric
from hw.verilog.parameters import with_parameters
from hw.verilog.rtlil import circuits, rtlil_of
from hw.verilog.simplified import simplify, without_initial_values
from hw.verilog.structure import Structure, Written
from hw.verilog.written import ModuleWriter
from step.host.files import cache_directory, write_atomically, writing_cache
from step.host.progress import Progress, silent
from step.host.sources import source_digest
from step.host.usage import is_recent, mark_used


@dataclass(frozen=True)
class ModuleText:
    """Verilog of a component, without that of its children.

    ``folder`` is where it is written to, ``kind`` the class (``module:name``) that says what it is. ``children`` are
    the modules that it instantiates, one entry per instance. ``model`` says that it is for simulation only.
    """

    name: str
    text: str
    folder: str
    kind: str
    children: tuple[str, ...] = ()
    model: bool = False

    @classmethod
    def of(cls, component: Parametric, text: str, **more: Any) -> ModuleText:
        """The text of ``component``, with its numbers at its head."""
        kind = f"{component.kind.__module__}:{component.kind.__qualname__}"
        text = numbers(component.parameters) + told_ports(component) + text
        return cls(component.module_name, text, component.folder, kind, model=component.simulated, **more)

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.folder}/{self.name}.sv"


@functools.cache
def tool_versions() -> dict[str, str]:
    """Versions of what takes part in the conversion."""
    return {"amaranth": version("amaranth")}


class ModuleLibrary:
    """Collects the distinct components of a design, which are ``required`` by name, and gives their texts.

    ``generic``: those that differ in numbers alone are one module with parameters; else each has a text of its own.
    ``named``: wires are few and have names; else there is one for each operator, as what counts these wants it.
    """

    def __init__(
        self, directory: Path | None = None, *, initial_values: bool = True, generic: bool = True, named: bool = True
    ) -> None:
        self._initial_values, self.generic, self._named = initial_values, generic, named
        self._directory = (directory or cache_directory()) / "verilog"
        self.required: dict[str, Parametric] = {}
        self._used: list[str] = []

    def require(self, component: Parametric) -> str:
        """Note that ``component`` is needed; returns the name of its Verilog module."""
        if self.generic:
            component = component.generic or component
        name = component.module_name
        known = self.required.setdefault(name, component)
        same = type(known) is type(component) and known.key == component.key
        assert same, f"two components have the module name {name}: {known.key} and {component.key}"
        self._used.append(name)
        return name

    def require_all(self, *structures: Structure) -> Counter[str]:
        """Note all that ``structures`` are made of but other structures; returns how often each module is used."""
        used = (each.component for structure in structures for each in structure.instances)
        return Counter(self.require(each) for each in used if not isinstance(each, Written))

    def texts(self, progress: Progress = silent) -> dict[str, ModuleText]:
        """Verilog of everything required so far and of all that it needs, by module name, sorted."""
        found: dict[str, ModuleText] = {}
        waiting, unsaved = list(self.required), list[str]()
        while waiting:
            name = waiting.pop()
            if name in found:
                continue
            progress(f"writing Verilog: {len(found):,} of {len({*waiting, name, *found}):,} modules")
            component = self.required[name]
            if (cached := self._load(self._file(component))) is not None:
                found |= {each.name: each for each in cached}
                continue
            found[name] = self._written(component)
            waiting += found[name].children
            unsaved.append(name)
        for name in unsaved:  # files name those of children, which are known now
            self._save(self.required[name], found[name])
        # The comment that says what it is is not kept: digests of sources do not see docstrings.
        return {name: replace(each, text=summary(each.kind) + each.text) for name, each in sorted(found.items())}

    def _written(self, component: Parametric) -> ModuleText:
        """The text of ``component``, with the modules that it instantiates."""
        self._used = []
        try:
            converted = rtlil_of(component, component.module_name, self)
        except BaseException:
            # What was broken off (Ctrl-C, an error) was not used up, and Amaranth would warn of that besides.
            warnings.simplefilter("ignore", UnusedElaboratable)
            raise
        numbers = not component.variables
        text = verilog(converted, initial_values=self._initial_values, named=self._named, numbers=numbers)
        return ModuleText.of(component, with_parameters(component, text), children=tuple(self._used))

    # -- the cache: a file per module, which names those of its children ------------------------------------------

    def _file(self, component: Parametric) -> str:
        what = (type(component).__module__, type(component).__qualname__, component.key)
        chosen = (self._initial_values, self.generic, self._named)
        made = (source_digest("verilog"), repr(tool_versions()), *map(repr, chosen))
        key = "\n".join([component.module_name, *what, *made])
        return f"{component.module_name}-{hashlib.sha256(key.encode()).hexdigest()[:24]}.json"

    def _load(self, file: str) -> list[ModuleText] | None:
        """The module in ``file`` and all below it; None where any of it is missing."""
        try:
            path = self._directory / file
            entry = json.loads(path.read_text())
            if not is_recent(path):
                mark_used(path)
        except (FileNotFoundError, ValueError):
            return None
        files = entry.pop("files")
        found = [ModuleText(**{**entry, "children": tuple(entry["children"])})]
        for child in files:
            below = self._load(child)
            if below is None:
                return None
            found += below
        return found

    def _save(self, component: Parametric, text: ModuleText) -> None:
        files = [self._file(self.required[child]) for child in sorted(set(text.children))]
        entry = json.dumps({**asdict(text), "files": files})
        with writing_cache():
            self._directory.mkdir(exist_ok=True)
            write_atomically(self._directory / self._file(component), entry.encode())


def verilog(text: str, *, initial_values: bool = True, named: bool = True, numbers: bool = True) -> str:
    """SystemVerilog of modules given as RTLIL; the parameters are as of `ModuleLibrary` and `ModuleWriter`."""
    found = list[str]()
    for circuit in circuits(text):
        if not initial_values:
            without_initial_values(circuit)
        simplify(circuit)
        found.append(ModuleWriter(circuit, named=named, numbers=numbers).text())
    return "\n".join(found)

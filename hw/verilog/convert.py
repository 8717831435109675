"""From components to Verilog, each distinct one once, with the text kept on disk.

A text is a function of the component's class and parameters, the sources of this toolkit and the versions of the
tools; that is its key in the cache.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import warnings
from collections import Counter
from collections.abc import Container
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from amaranth._toolchain.yosys import YosysBinary, find_yosys
from amaranth.hdl import UnusedElaboratable

from hw.verilog.heads import numbers, summary, told_ports
from hw.verilog.laid_out import laid_out, with_parameters
from hw.verilog.modules import Parametric
from hw.verilog.readable import readable
from hw.verilog.rtlil import plain_rtlil
from hw.verilog.structure import Structure, Written
from step.host.files import cache_directory, caching_tools, write_atomically, writing_cache
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

    @property
    def introduced(self) -> ModuleText:
        """With a comment that says what it is. It is not kept: digests of sources do not see docstrings."""
        return replace(self, text=summary(self.kind) + self.text)


@functools.cache
def yosys() -> type[YosysBinary]:
    """One that is installed, or else Amaranth's own."""
    return find_yosys(lambda found: found >= (0, 40))


@functools.cache
def tool_versions() -> dict[str, str]:
    """Versions of what takes part in the conversion."""
    return {"amaranth": version("amaranth"), "yosys": ".".join(str(part) for part in yosys().version())}


class ModuleLibrary:
    """Collects the distinct components of a design and gives their texts.

    ``generic``: those that differ in numbers alone are one module with parameters; else each has a text of its own.
    ``named``: wires are few and have names; else there is one for each operator, as what counts these wants it.
    """

    def __init__(
        self, directory: Path | None = None, *, initial_values: bool = True, generic: bool = True, named: bool = True
    ) -> None:
        self._initial_values, self.generic, self._named = initial_values, generic, named
        self._directory = (directory or cache_directory()) / "verilog"
        self._components: dict[str, Parametric] = {}
        self._used: list[str] = []

    def require(self, component: Parametric) -> str:
        """Note that ``component`` is needed; returns the name of its Verilog module."""
        if self.generic:
            component = component.generic or component
        name = component.module_name
        known = self._components.setdefault(name, component)
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
        elaborated: dict[str, tuple[str, tuple[str, ...]]] = {}
        waiting = list(self._components)
        while waiting:
            done = len(found) + len(elaborated)
            left = len(set(waiting).difference(found, elaborated))
            progress(f"writing Verilog: {done:,} of {done + left:,} modules")
            name = waiting.pop()
            component = self._components[name]
            if name in found or name in elaborated:
                continue
            if (cached := self._load(self._file(component))) is not None:
                found |= {each.name: each for each in cached}
            else:
                elaborated[name] = self._elaborate(component)
                waiting += elaborated[name][1]
        if elaborated:
            progress(f"writing Verilog: {len(elaborated):,} modules through Yosys")
        sized = {name for name in elaborated if self._components[name].variables}
        texts = to_verilog({name: text for name, (text, _) in elaborated.items()}, sized, named=self._named)
        for name, (_, children) in elaborated.items():
            component = self._components[name]
            found[name] = ModuleText.of(component, with_parameters(component, texts[name]), children=children)
            self._save(component, found[name])
        return {name: found[name].introduced for name in sorted(found)}

    def _elaborate(self, component: Parametric) -> tuple[str, tuple[str, ...]]:
        """RTLIL of ``component``, and the modules that it instantiates."""
        self._used = []
        try:
            text = plain_rtlil(component, component.module_name, self, self._initial_values)
        except BaseException:
            # What was broken off (Ctrl-C, an error) was not used up, and Amaranth would warn of that besides.
            warnings.simplefilter("ignore", UnusedElaboratable)
            raise
        return text, tuple(self._used)

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
        files = [self._file(self._components[child]) for child in sorted(set(text.children))]
        entry = json.dumps({**asdict(text), "files": files})
        with writing_cache():
            self._directory.mkdir(exist_ok=True)
            write_atomically(self._directory / self._file(component), entry.encode())


_MODULE = re.compile(r"^module (\w+)\(.*?^endmodule$", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"^module \\(\w+)$", re.MULTILINE)


def to_verilog(modules: dict[str, str], sized: Container[str] = (), *, named: bool = True) -> dict[str, str]:
    """SystemVerilog of modules given as RTLIL, by name; one call of Yosys.

    Submodules that are not shared come with the module that they are part of. Names of wires of those that are
    ``sized`` tell no numbers, for which there will be parameters; ``named`` is as of `ModuleLibrary`.
    """
    if not modules:
        return {}
    script = (
        *("read_rtlil <<rtlil", *modules.values(), "rtlil", "proc -nomux -norom", "memory_collect"),
        *("attrmap -remove full_case", "write_verilog -sv"),
    )
    with caching_tools():
        written = str(yosys().run(["-q", "-"], "\n".join(script), ignore_warnings=True))
    texts = {match[1]: laid_out(match[0]) for match in _MODULE.finditer(written)}
    found = dict[str, str]()
    for name, text in modules.items():
        own = [texts[each] for each in _NAMED.findall(text)]
        found[name] = "\n".join(readable(each, numbers=name not in sized) for each in own) if named else "\n".join(own)
    return found

"""From components to Verilog, each distinct one once, with the text kept on disk.

A text is a function of the component's class and parameters, the sources of this toolkit and the versions of the
tools; that is its key in the cache.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import textwrap
import warnings
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from amaranth._toolchain.yosys import find_yosys
from amaranth.back import rtlil, verilog
from amaranth.hdl import UnusedElaboratable

from hw.shared import Parametric
from hw.spelling import plain_spelling
from hw.wide import allow_wide_modules
from step.host.files import cache_directory, caching_tools, write_atomically, writing_cache
from step.host.sources import source_digest
from step.host.usage import is_recent, mark_used


@dataclass(frozen=True)
class ModuleText:
    """Verilog of a component, without that of its children.

    ``children`` are the modules that it instantiates, one entry per instance. ``model`` says that it is for
    simulation only.
    """

    name: str
    text: str
    children: tuple[str, ...] = ()
    model: bool = False


@functools.cache
def tool_versions() -> dict[str, str]:
    """What takes part in the conversion."""
    yosys = find_yosys(lambda found: found >= (0, 40))
    return {"amaranth": version("amaranth"), "yosys": ".".join(str(part) for part in yosys.version())}


class ModuleLibrary:
    """Collects the distinct components of a design (see `hw.shared.ModuleLibrary`) and gives their texts."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = (directory or cache_directory()) / "verilog"
        self._components: dict[str, Parametric] = {}
        self._used: list[str] = []

    def require(self, component: Parametric) -> str:
        name = component.module_name
        known = self._components.setdefault(name, component)
        same = type(known) is type(component) and known.parameters == component.parameters
        assert same, f"two components have the module name {name}: {known.parameters} and {component.parameters}"
        self._used.append(name)
        return name

    def texts(self) -> dict[str, ModuleText]:
        """Verilog of everything required so far and of all that it needs, by module name, sorted."""
        found: dict[str, ModuleText] = {}
        elaborated: dict[str, tuple[str, tuple[str, ...]]] = {}
        waiting = list(self._components)
        while waiting:
            name = waiting.pop()
            component = self._components[name]
            if name in found or name in elaborated:
                continue
            if (cached := self._load(self._file(component))) is not None:
                found |= {each.name: each for each in cached}
            elif hasattr(component, "verilog"):
                found[name] = ModuleText(name, component.verilog(), model=True)
                self._save(found[name])
            else:
                elaborated[name] = self._elaborate(component)
                waiting += elaborated[name][1]
        texts = to_verilog({name: text for name, (text, _) in elaborated.items()})
        for name, (_, children) in elaborated.items():
            found[name] = ModuleText(name, _described(self._components[name]) + texts[name], children)
            self._save(found[name])
        return dict(sorted(found.items()))

    def _elaborate(self, component: Parametric) -> tuple[str, tuple[str, ...]]:
        """RTLIL of ``component``, and the modules that it instantiates."""
        self._used = []
        allow_wide_modules()
        try:
            text = rtlil.convert(component, name=component.module_name, platform=self, emit_src=False)
        except BaseException:
            # What was broken off (Ctrl-C, an error) was not used up, and Amaranth would warn of that besides.
            warnings.simplefilter("ignore", UnusedElaboratable)
            raise
        return text, tuple(self._used)

    # -- the cache: a file per module, which names those of its children ------------------------------------------

    def _file(self, component: Parametric) -> str:
        what = (type(component).__module__, type(component).__qualname__, repr(component.parameters))
        key = "\n".join([component.module_name, *what, source_digest("verilog"), repr(tool_versions())])
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
        found = [ModuleText(entry["name"], entry["text"], tuple(entry["children"]), entry["model"])]
        for child in entry["files"]:
            below = self._load(child)
            if below is None:
                return None
            found += below
        return found

    def _save(self, text: ModuleText) -> None:
        files = [self._file(self._components[child]) for child in sorted(set(text.children))]
        entry = json.dumps({**asdict(text), "files": files})
        with writing_cache():
            self._directory.mkdir(exist_ok=True)
            write_atomically(self._directory / self._file(self._components[text.name]), entry.encode())


def _described(component: Parametric) -> str:
    """A comment that says what the module is made of, for digests in names say nothing."""
    lines = textwrap.wrap(f"{component.stem} {component.parameters}", 116, break_on_hyphens=False)
    return "".join(f"// {line}\n" for line in lines)


_MODULE = re.compile(r"^module (\S+?) ?\(.*?^endmodule$", re.MULTILINE | re.DOTALL)
_TRIGGER = re.compile(r"^ *(?:reg \\\$auto\S+  = 0;|if \(\\\$auto\S+ \) begin end)\n", re.MULTILINE)
_INITIAL = re.compile(r"^ *\(\* init = .* \*\)\n", re.MULTILINE)
_EMPTY = re.compile(r"^ *wire \[-1:0\] .*;\n", re.MULTILINE)


def to_verilog(modules: dict[str, str]) -> dict[str, str]:
    """SystemVerilog of modules given as RTLIL, by name; one call of Yosys, which takes longer to start than to run.

    Submodules that are not shared come with the module that they are part of. Wires of no bits go. Yosys makes
    ``always @*`` run at time 0 with a register numbered over the whole call; ``always_comb`` does so by itself.
    """
    if not modules:
        return {}
    with caching_tools():
        verilog_text = verilog._convert_rtlil_text("\n".join(modules.values()), strip_internal_attrs=True)
    for pattern in (_TRIGGER, _INITIAL, _EMPTY):
        verilog_text = pattern.sub("", verilog_text)
    verilog_text = verilog_text.replace("always @*", "always_comb")
    parts: dict[str, list[str]] = {name: [] for name in modules}
    for match in _MODULE.finditer(verilog_text):
        parts[match[1].lstrip("\\").split(".")[0]].append(match[0])
    order = {name: sorted(texts, key=lambda text: "." in text.split("(")[0]) for name, texts in parts.items()}
    return {name: plain_spelling("\n\n".join(texts)) + "\n" for name, texts in order.items()}

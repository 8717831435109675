"""Pieces of a design for the C++ compiler."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from cosim.building.design import BenchDesign

SMALL_TEXT = 4_000
"""Modules below this many bytes of flattened Verilog are inlined: a call would cost more than the code."""

MANY = 4
"""Modules used fewer times than this are inlined: a function would not save code."""

LARGE_DESIGN = 30_000_000
"""Bytes of flattened Verilog from which on separately compiled modules pay.

A mixture of experts of 18 MB takes 78 s of processor time to build flat and 62 s apart; flat it runs 1.4 times as fast:
a module that is compiled apart is called through an interface that costs as much as a small unit. Verilator's own time
grows with the flattened design, so four products on 1 024 lanes each (54 MB) stay apart.
"""

_MODULE = re.compile(r"^\s*module\s+(\\\S+|\w+)(.*?)^\s*endmodule", re.MULTILINE | re.DOTALL)
_INPUT = re.compile(r"^\s*input (?:wire )?(?:\[[^\]]*\] ?)?(\w+)", re.MULTILINE)
_INSTANCE = re.compile(r"^\s*(\\\S+|\w+)\s+(?:#\s*\(.*?\)\s*)?(?:\\\S+|\w+)\s*\(\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Hierarchy:
    """The modules of a design: their text, their inputs but clock and reset, how often each instantiates which."""

    module: str
    sizes: dict[str, int]
    inputs: dict[str, tuple[str, ...]]
    children: dict[str, Counter[str]]
    candidates: tuple[str, ...]

    @classmethod
    def of(cls, design: BenchDesign) -> Hierarchy:
        """Read from the Verilog, which must list each instance with its ports on lines of their own."""
        bodies: dict[str, str] = {}
        for path in design.verilog:
            for match in _MODULE.finditer(path.read_text(errors="replace")):
                bodies[match[1].lstrip("\\")] = match[2]
        children = {
            name: Counter(
                each for each in (match[1].lstrip("\\") for match in _INSTANCE.finditer(body)) if each in bodies
            )
            for name, body in bodies.items()
        }
        sizes = {name: len(body) for name, body in bodies.items()}
        inputs = {
            name: tuple(port for port in _INPUT.findall(body) if port not in ("clk", "rst"))
            for name, body in bodies.items()
        }
        known = tuple(name for name in design.hierarchical if name in bodies)
        return cls(design.module, sizes, inputs, children, known)

    @cached_property
    def uses(self) -> Counter[str]:
        """Uses of each module in the flattened design."""
        uses: Counter[str] = Counter()

        def visit(name: str, times: int) -> None:
            uses[name] += times
            for child, count in self.children.get(name, Counter()).items():
                visit(child, times * count)

        visit(self.module, 1)
        return uses

    @cached_property
    def flat_sizes(self) -> dict[str, int]:
        """Bytes of Verilog of each module when every instance in it has its own copy."""
        sizes: dict[str, int] = {}

        def size(name: str) -> int:
            if name not in sizes:
                children = self.children.get(name, Counter())
                sizes[name] = self.sizes.get(name, 0) + sum(size(child) * count for child, count in children.items())
            return sizes[name]

        size(self.module)
        return sizes

    @property
    def functions(self) -> list[str]:
        """The modules to keep as functions: of those that are used often, the smallest that are large enough."""
        large = {name for name, size in self.flat_sizes.items() if size >= SMALL_TEXT and self.uses[name] >= MANY}
        return sorted(name for name in large if not large & set(self.children[name]))

    @property
    def worthwhile(self) -> bool:
        """Whether separately compiled modules pay."""
        return bool(self.candidates) and self.flat_sizes[self.module] >= LARGE_DESIGN

    def control_file(self, hierarchical: bool, public: Sequence[str]) -> str:
        """Verilator's control file: what to compile apart, what not to inline, which ports Python may reach.

        Instances of a module have one function in common only where their texts are the same. So inputs of functions
        are public: else Verilator puts the signals of the parent in their place, and every instance is code of its own.
        """
        lines = ["`verilator_config"]
        apart = self.candidates if hierarchical else ()
        lines += [f'hier_block -module "{name}"' for name in sorted(apart)]
        for name in self.functions:
            if name not in apart:
                lines.append(f'no_inline -module "{name}"')
                lines += [f'public_flat_rd -module "{name}" -var "{port}"' for port in self.inputs[name]]
        lines += [f'public_flat_rw -module "{self.module}" -var "{port}"' for port in public]
        return "\n".join(lines) + "\n"

"""How a design is best cut into pieces for the C++ compiler."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from cosim.design import Design

SMALL_TEXT = 4_000
"""Modules below this many bytes are inlined: a call would cost more than the code."""

MANY = 4
"""Modules used fewer times than this are inlined: a function would not save code."""

LARGE_DESIGN = 40_000_000
"""Bytes of flattened Verilog from which on separately compiled modules build faster and run as fast."""

_MODULE = re.compile(r"^\s*module\s+(\\\S+|\w+)(.*?)^\s*endmodule", re.MULTILINE | re.DOTALL)
_INSTANCE = re.compile(r"^\s*(\\\S+|\w+)\s+(?:#\s*\(.*?\)\s*)?(?:\\\S+|\w+)\s*\(\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Hierarchy:
    """The modules of a design: their text, and how often each instantiates which."""

    module: str
    sizes: dict[str, int]
    children: dict[str, Counter[str]]
    candidates: tuple[str, ...]

    @classmethod
    def of(cls, design: Design) -> Hierarchy:
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
        known = tuple(name for name in design.hierarchical if name in bodies)
        return cls(design.module, sizes, children, known)

    @cached_property
    def uses(self) -> Counter[str]:
        """How often each module is there in the flattened design."""
        uses: Counter[str] = Counter()

        def visit(name: str, times: int) -> None:
            uses[name] += times
            for child, count in self.children.get(name, Counter()).items():
                visit(child, times * count)

        visit(self.module, 1)
        return uses

    @property
    def flat_size(self) -> int:
        """Bytes of Verilog when every instance has its own copy."""
        return sum(self.sizes.get(name, 0) * times for name, times in self.uses.items())

    @property
    def worthwhile(self) -> bool:
        """Whether separately compiled modules pay."""
        return bool(self.candidates) and self.flat_size >= LARGE_DESIGN

    def control_file(self, hierarchical: bool, public: Sequence[str]) -> str:
        """Verilator's control file: what to compile apart, what not to inline, which ports Python may reach."""
        lines = ["`verilator_config"]
        apart = self.candidates if hierarchical else ()
        lines += [f'hier_block -module "{name}"' for name in sorted(apart)]
        lines += [
            f'no_inline -module "{name}"'
            for name, times in sorted(self.uses.items())
            if name not in apart and times >= MANY and self.sizes.get(name, 0) >= SMALL_TEXT
        ]
        lines += [f'public_flat_rw -module "{self.module}" -var "{port}"' for port in public]
        return "\n".join(lines) + "\n"

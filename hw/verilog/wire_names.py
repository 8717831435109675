"""Names of wires: their own, as Verilog may have them, or else what they are, in words, or what they are for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from hw.verilog.circuit import Bits, Cell, Circuit, Slice, wires_of

LONGEST = 32
"""Characters of a name that says what a wire is."""

KEYWORDS = frozenset(Path(__file__).with_name("keywords.txt").read_text().split())
"""Those of SystemVerilog (IEEE 1800-2017, annex B)."""

_KINDS = {
    "choice": ("mux",),
    "sum": ("add", "sub", "neg"),
    "product": ("mul",),
    "shifted": ("shl", "shr", "sshr", "shift"),
    "condition": ("and", "or", "xor", "not", "eq", "ne", "lt", "le", "gt", "ge"),
}
_KIND_OF = {kind: name for name, kinds in _KINDS.items() for kind in kinds}


def natural(name: str) -> list[tuple[int, str]]:
    """Key that sorts numbers in names as numbers."""
    return [(int(each), "") if each.isdigit() else (0, each) for each in re.split(r"(\d+)", name)]


class WireNames:
    """Names for what the ``cells`` of ``circuit`` read and drive.

    ``said`` gives words for a wire that has no name. They depend on the order of the cells and on nothing that Amaranth
    numbers. Without ``numbers`` they tell no constants, which may be parameters.
    """

    def __init__(
        self,
        circuit: Circuit,
        cells: Iterable[Cell],
        states: Mapping[str, str],
        said: Callable[[str], str] | None,
        *,
        numbers: bool,
    ) -> None:
        self._said, self._numbers = said, numbers
        self.names, self._taken, self._users = dict[str, str](), set[str](), dict[str, str]()
        self._kinds = {cell.wire: cell.kind for cell in cells if cell.outputs}
        ports = {name: name for name, wire in circuit.wires.items() if wire.way}
        self._taken |= {*ports}
        self.names |= ports
        for cell in cells:
            for port, wire in cell.outputs.items():
                if not wire.isdigit():
                    self.of(wire)
                elif cell.is_instance:
                    self._users[wire] = f"{cell.name}_{port}"
        for cell in cells:
            for port, bits in cell.reads():
                for wire in wires_of(bits):
                    user = f"{cell.name}_{port}" if cell.is_instance else cell.wire or cell.parameters["MEMID"]
                    self._users.setdefault(wire, states.get(user, user))

    def of(self, wire: str) -> str:
        """The name of ``wire`` in Verilog."""
        if wire not in self.names:
            name = re.sub(r"\W+", "_", re.sub(r"\$\d+", "", wire))
            if wire.isdigit():
                name = f"n{wire}" if self._said is None else self._said(wire)
                if not name[:1].isalpha() or len(name) > LONGEST:
                    name = self._purpose(wire)
            self.names[wire] = self.unique(name)
        return self.names[wire]

    def unique(self, name: str) -> str:
        """``name``, with a number behind it where it is taken."""
        base = found = f"{name}_" if name in KEYWORDS else name
        number = 2
        while found in self._taken:
            found, number = f"{base}_{number}", number + 1
        self._taken.add(found)
        return found

    def _purpose(self, wire: str) -> str:
        """What ``wire`` is for: the signal with a name behind it, and what kind of value that is."""
        kind, passed = _KIND_OF.get(self._kinds.get(wire, ""), "value"), set[str]()
        while wire.isdigit() and wire not in passed:
            passed.add(wire)
            wire = self._users.get(wire, "state")
        return f"{'state' if wire.isdigit() else self.names.get(wire, wire)}_{kind}"

    def words(self, bits: Bits) -> str:
        """Words for the value ``bits``; none where there are no good ones."""
        if len(bits) != 1:
            return "" if bits else "0"
        if isinstance(bits[0], str):
            return str(int(bits[0], 2)) if self._numbers else "constant"
        return self.of(bits[0].wire).strip("_")

    def part(self, chunk: Slice) -> str:
        """Words for a part of a wire."""
        ends = f"{chunk.low + chunk.width - 1}_to_{chunk.low}" if chunk.width > 1 else str(chunk.low)
        return f"{self.of(chunk.wire).strip('_')}_{ends if self._numbers else 'part'}"

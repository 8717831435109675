"""PeakRDL's register block without structures: a signal for each field, and plain ports."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hw.verilog.structure import Structure, range_text

HEAD = """\
// {name}: the registers of {name}.rdl behind an AXI4-Lite slave.
//   The text is that of PeakRDL-regblock, with a signal for each field of its structures:
//   hardware writes REGISTER_FIELD or reads it, a field keeps field_storage_REGISTER_FIELD_value.
//   lock: locked settings are not written
//   forget: no interrupt is up any more
//   interrupt: one that is enabled is up
"""

_STRUCTURE = re.compile(r"    typedef struct \{\n((?:        .*\n)*)    \} \w+;\n    \w+ (\w+);\n")
_MEMBER = re.compile(r"\b(hwif_in|hwif_out|field_combo|field_storage|decoded_reg_strb)\.([\w.]+)")
_BLOCK = re.compile(r"^    always_comb begin\n(?:     .*\n|\n)*    end\n", re.MULTILINE)
_PART = re.compile(r"\b([a-z]\w*)\[(\d+)(?::(\d+))?\](?! = )")
_OWN = {"swwel": "lock", "hwclr": "forget"}


def plain(text: str, name: str, top: Structure) -> str:
    """The module ``name`` in PeakRDL's ``text`` with the ports of ``top``."""
    body = text.split(");\n", maxsplit=1)[1]
    body = _STRUCTURE.sub(lambda found: "".join(reversed([*_fields(*found.groups())])), body.replace("automatic ", ""))
    body = _MEMBER.sub(lambda found: _signal(*found.groups()), body)
    body = re.sub(r"^    assign (\w+) = \1;\n", "", body, flags=re.MULTILINE)
    driven = {*re.findall(r"^ +(?:assign )?(\w+) <?= ", body, re.MULTILINE)}
    kinds = {
        port: "logic" if way == "output" and port in driven else "wire" for port, (way, _) in top.all_ports.items()
    }
    listed = ",\n".join(
        f"  {way} {kinds[port]} {range_text(width)}{port}" for port, (way, width) in top.all_ports.items()
    )
    own, _, _ = text.partition("\nmodule")
    return f"{HEAD.format(name=name)}{own}\nmodule {name} (\n{listed}\n);\n{_parts_outside(body)}"


def _fields(members: str, name: str) -> Iterator[str]:
    """A declaration for each member of the structure ``name``, the last one first."""
    path = [name]
    for line in reversed(members.splitlines()):
        words = line.split()
        if words[0] == "}":
            path.append(words[1].rstrip(";"))
        elif words[0] == "struct":
            path.pop()
        else:
            width = f"{words[1]} " if len(words) == 3 else ""
            yield f"    logic {width}{'_'.join([*path, words[-1].rstrip(';')])};\n"


def _signal(structure: str, path: str) -> str:
    """The signal that is there for a member of a structure."""
    names = path.split(".")
    if structure == "hwif_in":
        return _OWN.get(names[-1], "_".join(names[:-1]))
    if structure == "hwif_out":
        return "interrupt" if names[-1] == "intr" else "_".join(names[:-1])
    return "_".join([structure, *names])


def _parts_outside(body: str) -> str:
    """With signals for parts of signals that combinational blocks read: Icarus waits for whole ones only."""
    parts = dict[str, str]()

    def named(found: re.Match[str]) -> str:
        signal, high, low = found.groups()
        name = f"{signal}_{high}" + (f"_to_{low}" if low else "")
        width = range_text(int(high) - int(low or high) + 1)
        parts[name] = f"    logic {width}{name};\n    assign {name} = {found[0]};\n"
        return name

    def block(found: re.Match[str]) -> str:
        local = {*re.findall(r"^ +logic .*?(\w+);$", found[0], re.MULTILINE)}
        return _PART.sub(lambda part: part[0] if part[1] in local else named(part), found[0])

    changed = _BLOCK.sub(block, body)
    for text in parts.values():
        signal = re.findall(r"= (\w+)", text)[0]
        changed = re.sub(rf"^(    logic [^\n]*\b{signal};\n)", rf"\1{text}", changed, count=1, flags=re.MULTILINE)
    return changed

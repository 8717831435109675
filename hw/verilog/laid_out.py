"""Verilog as Yosys writes it, laid out: ports in the header, parameters for numbers, signals assigned once."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from hw.verilog.modules import Parametric

_NUMERAL = re.compile(r"(?<=[\[:])\d+(?=[:\]])|(\d+)'h([0-9a-f]+)")


def with_parameters(component: Parametric, text: str) -> str:
    """The ``text`` of ``component`` with expressions of its variables for the numbers that they are there."""
    if not component.variables:
        return text
    names, said = {"clog2": lambda number: (number - 1).bit_length(), **component.variables}, dict[int, str]()
    for each in component.expressions:
        said.setdefault(eval(each.replace("$", ""), names), each)

    def number(match: re.Match[str]) -> str:
        if match[1] is None:
            return said.get(int(match[0]), match[0])
        value = int(match[2], 16)
        expression = said.get(value, str(value) if int(match[1]) - 1 in said else match[0])
        return f"({expression})" if " " in expression else expression

    parameters = ",\n".join(f"  parameter bit [31:0] {name} = {value}" for name, value in component.variables.items())
    head = f"module {component.module_name} "
    return _NUMERAL.sub(number, text).replace(head, f"{head}#(\n{parameters}\n) ", 1)


_PORT = re.compile(r"^  (input|output) (.*?)(\w+);\n  (wire|reg) .*?( = .*)?;\n", re.MULTILINE)
_REGISTER = re.compile(r"^  reg (\[\S+\] )?(\w+)", re.MULTILINE)
_ASSIGNMENTS = re.compile(r"(?:^  assign .*\n)+", re.MULTILINE)
_ZEROS = re.compile(r"(?<='h)0+(?=[0-9a-f])")
_KEYWORD = re.compile(r"\\(\w+) ")
_CONSTANT = re.compile(r"^  always_comb\n(    (\w+)\[\S+\] = \d+'h[0-9a-f]+;\n)", re.MULTILINE)
_BLOCK = re.compile(
    r"^  always_comb begin\n(?=    (?!\w+_next )(\w+)(?:\[\S+\])? = )((?:    .*\n)+)  end\n", re.MULTILINE
)


MOST_OF_A_LINE = 40_000
"""Characters of a line: Verilator refuses one of more words."""
_WRAPPED = re.compile(r"(.{2000}[^,]*,) ")


def laid_out(text: str) -> str:
    """A module with its ports in its header, short zeros, and an underscore behind names that are keywords.

    Assignments that stand together are sorted: Yosys writes them in an order that depends on all that it has read. What
    is longer than `MOST_OF_A_LINE` goes on in the next line.
    """
    text = "".join(line for line in text.splitlines(True) if not line.startswith("  (* init = "))
    text = _KEYWORD.sub(r"\1_", _ZEROS.sub("", text))
    header, body = text.split(";\n", maxsplit=1)
    declared = {match[3]: "  {0} {3} {1}{2}{4}".format(*match.groups("")) for match in _PORT.finditer(body)}
    name, ports = header.split("(")
    listed = ",\n".join(declared[port] for port in re.findall(r"\w+", ports))
    body = _ASSIGNMENTS.sub(lambda match: "".join(sorted(match[0].splitlines(True))), _PORT.sub("", body))
    widths = {each[2]: each[1] or "" for each in _REGISTER.finditer(text)}
    lines = f"{name} (\n{listed}\n);\n{_assigned_once(body, widths)}\n".split("\n")
    return "\n".join(_WRAPPED.sub(r"\1\n", line) if len(line) > MOST_OF_A_LINE else line for line in lines)


def _assigned_once(body: str, widths: dict[str, str]) -> str:
    """Signals but for next states, which end at registers, get their values in one step, at the end of a block.

    The value before that of an ``if`` would be seen outside for a moment. Where bits of two vectors depend on one
    another in turn, though none on itself, an event-driven simulator (Icarus Verilog) then never comes to rest. A part
    that is constant is assigned there, too: a block of its own has nothing to wait for, and Icarus never runs it.
    """
    blocks = Counter(match[1] for match in _BLOCK.finditer(body))
    words, constants = set(re.findall(r"\w+", body)), defaultdict[str, str](str)

    def without(match: re.Match[str]) -> str:
        if blocks[match[2]] != 1:
            return match[0]
        constants[match[2]] += match[1]
        return ""

    def once(match: re.Match[str]) -> str:
        signal, lines = match[1], constants[match[1]] + match[2]
        value = f"{signal}_value"
        while value in words:
            value += "_"
        assigned = re.compile(rf"^( +){signal}(?=(\[\S+\])? = )", re.MULTILINE)
        parts = {each[2] or "" for each in assigned.finditer(lines) if each[1] == "    "}
        whole = "" in parts or f"[{sum(map(_bits, parts)) - 1}:0] " == widths[signal]
        last = "".join(f"    {signal}{part} = {value}{part};\n" for part in ([""] if whole else sorted(parts)))
        inside = assigned.sub(rf"\1{value}", lines)
        return f"  always_comb begin\n    reg {widths[signal]}{value};\n{inside}{last}  end\n"

    def _bits(part: str) -> int:
        high, _, low = part.strip("[]").partition(":")
        return int(high) - int(low or high) + 1

    body = _CONSTANT.sub(without, body)
    return _BLOCK.sub(once, body)

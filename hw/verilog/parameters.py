"""Parameters for the numbers in the Verilog of a module."""

from __future__ import annotations

import re

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

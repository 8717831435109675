"""Steps of a process as Verilog: assignments, and choices between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hw.verilog.circuit import Cell, Slice, Step, Switch, part_of
from hw.verilog.expressions import Expressions, constant, part_text, used


class StepWriter:
    """Writes steps of processes.

    ``states``: registers by the wires that are their next values. ``widths``: bits of wires.
    """

    def __init__(self, states: Mapping[str, str], widths: Mapping[str, int]) -> None:
        self._states, self._widths = states, widths

    def lines(
        self, cell: Cell, target: str, values: Expressions, reads: dict[str, None], steps: list[Step] | None = None
    ) -> Iterator[str]:
        """Lines for ``steps`` of ``cell``, all by default; ``target`` has a place for a range."""
        state, width = self._states.get(cell.wire), self._widths[cell.wire]
        for step in cell.steps if steps is None else steps:
            if isinstance(step, Switch):
                write = self._choice if all(_is_condition(patterns) for patterns, _ in step.cases) else self._case
                yield from (f"  {line}" for line in write(cell, step, target, values, reads))
            elif state is None or step.value != (Slice(state, 0, width),):
                value = used(values.value(step.value), reads)
                yield f"  {target.format(part_text(step.target, width))} {value};"

    def _choice(
        self, cell: Cell, switch: Switch, target: str, values: Expressions, reads: dict[str, None]
    ) -> Iterator[str]:
        """The cases of a ``switch`` that test one bit each."""
        start = ""
        for patterns, steps in switch.cases:
            if patterns:
                (pattern,) = patterns
                place = len(pattern) - 1 - max(pattern.find("0"), pattern.find("1"))
                bit = values.condition(part_of(switch.value, place, 1))
                condition = used(bit, reads) if "1" in pattern else f"~{used(bit, reads, inside=True)}"
                yield f"{start}if ({condition}) begin"
            else:
                yield f"{start}begin"
            yield from self.lines(cell, target, values, reads, steps)
            start = "end else "
        yield "end"

    def _case(
        self, cell: Cell, switch: Switch, target: str, values: Expressions, reads: dict[str, None]
    ) -> Iterator[str]:
        wild = any("-" in pattern for patterns, _ in switch.cases for pattern in patterns)
        yield f"{'casez' if wild else 'case'} ({used(values.value(switch.value), reads)})"
        for patterns, steps in switch.cases:
            labels = (f"{len(each)}'b{each.replace('-', '?')}" if "-" in each else constant(each) for each in patterns)
            lines = [*self.lines(cell, target, values, reads, steps)]
            yield f"  {', '.join(labels) or 'default'}:{'' if lines else ' ;'}"
            block = len(lines) > 1
            yield from ["    begin"] if block else []
            yield from (f"  {line}" for line in lines)
            yield from ["    end"] if block else []
        if switch.cases[-1][0]:
            yield "  default: ;"
        yield "endcase"


def _is_condition(patterns: list[str]) -> bool:
    return not patterns or (len(patterns) == 1 and len(patterns[0].replace("-", "")) == 1)

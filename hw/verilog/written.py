"""The Verilog of a module: few wires, those that are left named, and each before what it is for."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from hw.verilog.circuit import Bits, Cell, Circuit, Slice, part_of, width_of, wires_of
from hw.verilog.expressions import OPERATORS, Expression, Expressions, ValueKind, constant, part_text, used
from hw.verilog.steps import StepWriter
from hw.verilog.structure import range_text, separated
from hw.verilog.wire_names import WireNames, natural

MOST_OF_A_LINE = 40_000
"""Characters of a line: Verilator refuses one of more words, so that it goes on in the next one."""
_WRAPPED = re.compile(r"(.{2000}[^,]*,) ")
_FIELD = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


class ModuleWriter:
    """Writes ``circuit``. Only with ``numbers`` names of wires may tell constants.

    Without ``named`` there is a wire for each operator and each next value.
    """

    def __init__(self, circuit: Circuit, *, named: bool = True, numbers: bool = True) -> None:
        self._circuit, self._named = circuit, named
        self._widths = {name: wire.width for name, wire in circuit.wires.items()}
        self._drivers = {wire: cell for cell in circuit.cells for wire in cell.outputs.values()}
        self._cells = self._live()
        self._uses = uses = Counter(wire for cell in self._cells for _, bits in cell.reads() for wire in wires_of(bits))
        self._states = {
            wire: cell.wire for cell in self._cells if cell.kind == "dff" for wire in self._next_value(cell, uses)
        }
        operators = {wire: cell for wire, cell in self._drivers.items() if cell.kind in OPERATORS}
        self._values, self._whole = (
            Expressions(operators, self._widths, uses, partial(self._plain, whole=whole), folded=named)
            for whole in (False, True)
        )
        self._names = WireNames(circuit, self._cells, self._states, self._said if named else None, numbers=numbers)
        self._fields = dict[Bits, str]()
        for name, bits in circuit.aliases.items() if named else ():
            part = len(bits) == 1 and isinstance(bits[0], Slice) and bits[0].width < self._widths[bits[0].wire]
            port = circuit.wires[name].way  # it has a driver of its own
            if part and not port and bits not in self._fields and _FIELD.fullmatch(name):
                self._add_field(name, bits)
        self._steps = StepWriter(self._states, self._widths)
        self._statements = dict[int, tuple[str, dict[str, None]]]()

    def _live(self) -> list[Cell]:
        """Cells on which an output, an instance or a memory that is read depends."""
        writers, found = defaultdict[str, list[Cell]](list), set[int]()
        for cell in self._circuit.cells:
            if cell.kind == "memwr_v2":
                writers[cell.parameters["MEMID"]].append(cell)
        outputs = {name for name, wire in self._circuit.wires.items() if wire.way == "output"}
        waiting = [
            each for each in self._circuit.cells if each.is_instance or not outputs.isdisjoint(each.outputs.values())
        ]
        while waiting:
            cell = waiting.pop()
            if id(cell) not in found:
                found.add(id(cell))
                read = {wire for _, bits in cell.reads() for wire in wires_of(bits)}
                waiting += [self._drivers[wire] for wire in read if wire in self._drivers]
                waiting += writers[cell.parameters["MEMID"]] if cell.kind == "memrd_v2" else []
        return [cell for cell in self._circuit.cells if id(cell) in found]

    def _next_value(self, register: Cell, uses: Counter[str]) -> Iterator[str]:
        for wire in wires_of(register.inputs["D"]):
            whole = register.inputs["D"] == (Slice(wire, 0, self._widths[wire]),)
            process = wire in self._drivers and self._drivers[wire].kind == "process"
            if self._named and whole and process and wire.isdigit() and uses[wire] == 1:
                yield wire

    @property
    def names(self) -> dict[str, str]:
        """What wires, memories and instances of the circuit are called in the text."""
        return self._names.names

    # -- values ---------------------------------------------------------------------------------------------------

    def _said(self, wire: str) -> str:
        cell = self._drivers[wire]
        if cell.kind == "field":
            (chunk,) = cell.inputs["A"]
            return self._names.part(chunk) if isinstance(chunk, Slice) else ""
        return self._values.words(wire)

    def _add_field(self, name: str, bits: Bits) -> None:
        self._fields[bits], self._widths[name] = name, width_of(bits)
        self._drivers[name] = Cell("field", name, inputs={"A": bits}, outputs={"Y": name})

    def _plain(self, bits: Bits, whole: bool = False, fields: bool = True) -> Expression:
        """``bits`` side by side; ``whole``: parts of signals are signals, as Icarus waits for whole ones only."""
        texts, reads, words = list[str](), list[str](), ""
        for chunk in bits:
            if isinstance(chunk, str):
                texts.append(constant(chunk))
                continue
            wire, all_bits = chunk.wire, self._widths[chunk.wire]
            if chunk.width < all_bits and whole and (chunk,) not in self._fields:
                self._add_field(self._circuit.wire(chunk.width), (chunk,))
            if chunk.width < all_bits and fields and (chunk,) in self._fields:
                wire = self._fields[(chunk,)]
                texts.append(self._names.of(wire))
            else:
                texts.append(self._names.of(wire) + part_text(chunk, all_bits))
                words = self._names.part(chunk) if chunk.width < all_bits else ""
            reads.append(wire)
        if len(bits) == 1:
            words = words or self._names.words(bits if not reads else (Slice(reads[0], 0, 0),))
        text = texts[0] if len(texts) == 1 else f"{{ {', '.join(texts)} }}" if texts else "1'h0"
        return Expression(text, 1, ValueKind.OTHER, tuple(reads), words)

    # -- statements -----------------------------------------------------------------------------------------------

    def text(self) -> str:
        """The module."""
        for cell in self._cells:
            if cell.kind in OPERATORS:  # they stand behind their operands: each finds those known
                self._values.of(cell.wire)
        lines, declared, seen = list[str](), dict[str, str](), set[int]()
        for cell in self._cells:
            later = id(cell) in seen or (cell.kind in OPERATORS and cell.wire.isdigit())  # it stands before its uses
            waiting = [] if later else [cell]
            while waiting:
                now = waiting[-1]
                seen.add(id(now))
                text, reads = self._statement(now)
                drivers = (self._drivers[wire] for wire in reads if wire in self._drivers)
                before = next((each for each in drivers if self._is_wire(each) and id(each) not in seen), None)
                if before is not None:
                    waiting.append(before)
                    continue
                waiting.pop()
                lines.append(text)
                driven = {wire: self._declared(wire) for wire in now.outputs.values() if self._is_read(wire)}
                assert declared.keys().isdisjoint(driven), f"{self._circuit.name}: several drive one of {[*driven]}"
                declared |= driven
        wires = self._circuit.wires
        ports = separated(f"  {wire.way} {self._declared(name)}" for name, wire in wires.items() if wire.way)
        inner = [f"  {line};\n" for name, line in declared.items() if name not in wires or not wires[name].way]
        inner.sort(key=lambda line: natural(_NAME.search(line)[1]))  # type: ignore[index]
        memories = dict.fromkeys(cell.parameters["MEMID"] for cell in self._cells if cell.kind == "memrd_v2")
        kept = [line for name in memories for line in self._memory(name)]
        head = "\n".join([f"module {self._circuit.name} (", *ports, ");"])
        text = f"{head}\n{''.join([*inner, *kept, *lines])}endmodule\n"
        return "\n".join(
            _WRAPPED.sub(r"\1\n", line) if len(line) > MOST_OF_A_LINE else line for line in text.split("\n")
        )

    def _is_wire(self, cell: Cell) -> bool:
        """Whether ``cell`` drives a wire, and no register, at once."""
        return not (cell.is_instance or cell.kind == "dff" or cell.flag("CLK_ENABLE") or cell.wire in self._states)

    def _is_read(self, wire: str) -> bool:
        """Whether anybody reads ``wire``, which may be a port; the next value of a register is none then."""
        port = wire in self._circuit.wires and self._circuit.wires[wire].way
        return bool(port or self._uses[wire] or self._drivers[wire].kind == "field") and wire not in self._states

    def _declared(self, wire: str) -> str:
        cell = self._drivers.get(wire)
        variable = cell is not None and (cell.kind in ("dff", "process") or cell.flag("CLK_ENABLE"))
        initial = self._circuit.wires[wire].initial if wire in self._circuit.wires else ""
        value = f" = {constant(initial)}" if initial else ""
        return f"{'reg' if variable else 'wire'} {range_text(self._widths[wire])}{self._names.of(wire)}{value}"

    def _memory(self, name: str) -> Iterator[str]:
        memory, called = self._circuit.memories[name], self._names.of(name)
        yield from (f"  {each}\n" for each in memory.attributes)
        yield f"  reg {range_text(memory.width)}{called} [0:{memory.depth - 1}];\n"
        if memory.rows:
            yield "  initial begin\n"
            yield from (f"    {called}[{place}] = {constant(row)};\n" for place, row in enumerate(memory.rows))
            yield "  end\n"

    def _statement(self, cell: Cell) -> tuple[str, dict[str, None]]:
        """What ``cell`` is in Verilog, and the wires that it reads."""
        if id(cell) not in self._statements:
            reads = dict[str, None]()
            write = ModuleWriter._instance if cell.is_instance else _WRITERS.get(cell.kind, ModuleWriter._assign)
            lines = write(self, cell, reads)
            self._statements[id(cell)] = "".join(f"  {line}\n" for line in lines), reads
        return self._statements[id(cell)]

    def _assign(self, cell: Cell, reads: dict[str, None]) -> Iterator[str]:
        if cell.kind in OPERATORS:
            value = self._values.of(cell.wire)
        elif cell.kind == "field":
            value = self._plain(cell.inputs["A"], fields=False)
        elif cell.kind == "memrd_v2":
            address = self._plain(cell.inputs["ADDR"])
            value = replace(address, text=f"{self._names.of(cell.parameters['MEMID'])}[{address.text}]")
        else:
            assert cell.kind == "buffer", f"no Verilog for {cell.kind}"
            value = self._values.value(cell.inputs["A"])
        yield f"assign {self._names.of(cell.wire)} = {used(value, reads)};"

    def _process(self, cell: Cell, reads: dict[str, None]) -> Iterator[str]:
        """A signal gets its value in one step, at the end of the block.

        The value before that of an ``if`` would be seen outside for a moment. Where bits of two vectors depend on one
        another in turn, though none on itself, an event-driven simulator (Icarus Verilog) then never comes to rest.
        """
        if cell.wire in self._states:
            return
        name = self._names.of(cell.wire)
        local = self._names.unique(f"{name}_value")
        yield "always_comb begin"
        yield f"  reg {range_text(self._widths[cell.wire])}{local};"
        yield from self._steps.lines(cell, f"{local}{{}} =", self._whole, reads)
        yield f"  {name} = {local};"
        yield "end"
        assert reads, f"{self._circuit.name}: nothing changes {name}, and Icarus never runs its block"

    def _register(self, cell: Cell, reads: dict[str, None]) -> Iterator[str]:
        (first, *_) = cell.inputs["D"]
        yield self._clocked(cell)
        if isinstance(first, Slice) and self._states.get(first.wire) == cell.wire:
            process = self._drivers[first.wire]
            yield from self._steps.lines(process, f"{self._names.of(cell.wire)}{{}} <=", self._values, reads)
        else:
            yield f"  {self._names.of(cell.wire)} <= {used(self._values.value(cell.inputs['D']), reads)};"
        yield "end"

    def _clocked(self, cell: Cell) -> str:
        clock = self._plain(cell.inputs["CLK"]).text
        assert cell.flag("CLK_POLARITY")
        return f"always_ff @(posedge {clock}) begin"

    def _read(self, cell: Cell, reads: dict[str, None]) -> Iterator[str]:
        if not cell.flag("CLK_ENABLE"):
            yield from self._assign(cell, reads)
            return
        assert not cell.flag("TRANSPARENCY_MASK"), "no Verilog for a transparent port of a memory"
        row = f"{self._names.of(cell.parameters['MEMID'])}[{used(self._plain(cell.inputs['ADDR']), reads)}]"
        yield self._clocked(cell)
        yield from self._enabled(cell.inputs["EN"], f"{self._names.of(cell.wire)} <= {row};", reads)
        yield "end"

    def _enabled(self, enable: Bits, line: str, reads: dict[str, None]) -> Iterator[str]:
        if enable == ("1",):
            yield f"  {line}"
        else:
            yield f"  if ({used(self._values.condition(enable), reads)})"
            yield f"    {line}"

    def _write(self, cell: Cell, reads: dict[str, None]) -> Iterator[str]:
        enable, data, width = cell.inputs["EN"], cell.inputs["DATA"], width_of(cell.inputs["DATA"])
        row = f"{self._names.of(cell.parameters['MEMID'])}[{used(self._plain(cell.inputs['ADDR']), reads)}]"
        yield self._clocked(cell)
        bits = [part_of(enable, place, 1) for place in range(width)]
        starts = [place for place in range(width) if not place or bits[place] != bits[place - 1]]
        for start, end in zip(starts, [*starts[1:], width], strict=True):
            part = part_text(Slice("", start, end - start), width)
            value = used(self._values.value(part_of(data, start, end - start)), reads)
            yield from self._enabled(bits[start], f"{row}{part} <= {value};", reads)
        yield "end"

    def _instance(self, cell: Cell, reads: dict[str, None]) -> Iterator[str]:
        numbers = ", ".join(f".{name}({_parameter(value)})" for name, value in cell.parameters.items())
        yield f"{cell.kind} {f'#({numbers}) ' if numbers else ''}{self._names.of(cell.name)} ("
        ports = {port: used(self._plain(bits), reads) for port, bits in cell.inputs.items()}
        for port, wire in cell.outputs.items():
            ports[port] = self._names.of(wire) if self._is_read(wire) else ""
        yield from separated(f"  .{port}({net})" for port, net in ports.items())
        yield ");"


_WRITERS = {
    "process": ModuleWriter._process,
    "dff": ModuleWriter._register,
    "memrd_v2": ModuleWriter._read,
    "memwr_v2": ModuleWriter._write,
}
_NAME = re.compile(r"(\w+)(?: = \S+)?;")


def _parameter(value: str) -> str:
    digits = value.partition("'")[2]
    return constant(digits) if digits and not value.startswith('"') else value

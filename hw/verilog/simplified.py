"""A circuit without operators that do nothing: constants and single bits go through them."""

from __future__ import annotations

import operator

from hw.verilog.circuit import Assignment, Bits, Cell, Chunk, Circuit, Slice, Step, Switch, part_of, width_of, wires_of

_SAME = {"and": "1", "or": "0", "xor": "0"}
"""The constant with which an operator gives its other operand."""
_RESULTS = {each: getattr(operator, each) for each in ("eq", "ne", "lt", "le", "gt", "ge")}
_FIXED = {"and": "0", "or": "1"}
"""The constant with which it gives that."""
_REDUCED = {"reduce_and": "1", "reduce_or": "0", "reduce_xor": "0", "reduce_bool": "0"}
"""What an operator makes of no bits."""


def simplify(circuit: Circuit) -> None:
    """Let all read what operators that do nothing, and other names, stand for; an output port stays a ``buffer``."""
    known = {name: bits for name, bits in circuit.aliases.items() if circuit.wires[name].way != "output"}
    left = list[Cell]()
    for cell in circuit.cells:
        _replace(cell, known)
        cell.steps = _narrowed(cell.steps)
        bits = _simple(cell)
        if bits is None:
            left.append(cell)
        elif not circuit.wires[cell.wire].way and (cell.wire.isdigit() or all(isinstance(each, str) for each in bits)):
            known[cell.wire] = bits
        else:
            left.append(Cell("buffer", cell.name, inputs={"A": bits}, outputs=cell.outputs))
    for name, bits in circuit.aliases.items():
        if circuit.wires[name].way == "output":
            left.append(Cell("buffer", name, inputs={"A": bits}, outputs={"Y": name}))
    for cell in left:
        _replace(cell, known)
    circuit.cells = left
    circuit.aliases = {name: _put(bits, known) for name, bits in circuit.aliases.items()}


def _simple(cell: Cell) -> Bits | None:
    """The bits that an operator gives without doing anything to them."""
    first, second = cell.inputs.get("A", ()), cell.inputs.get("B", ())
    if cell.kind in _REDUCED and width_of(first) <= 1:
        return first or (_REDUCED[cell.kind],)
    assigned = [step for step in cell.steps if isinstance(step, Assignment)]
    if cell.kind == "process" and assigned == cell.steps:
        whole = assigned[0].value
        for step in assigned[1:]:
            above = step.target.low + step.target.width
            whole = part_of(whole, above, width_of(whole) - above) + step.value + part_of(whole, 0, step.target.low)
        return whole
    if cell.kind == "mux":
        select = cell.inputs["S"]
        return first if first == second or select == ("0",) else second if select == ("1",) else None
    if cell.kind in _RESULTS and not cell.flag("A_SIGNED") and not wires_of(first + second):
        numbers = (int("0" + "".join(map(str, each)), 2) for each in (first, second))
        return (str(int(_RESULTS[cell.kind](*numbers))),)
    if cell.kind == "not" and len(first) == 1 and isinstance(first[0], str):
        return (first[0].translate({48: "1", 49: "0"}),)
    if cell.kind in ("eq", "ne") and width_of(first) == 1 and not cell.flag("A_SIGNED"):
        return first if second == (("1",) if cell.kind == "eq" else ()) else None
    if cell.kind in _SAME and width_of(first) == width_of(second):
        for one, other in ((first, second), (second, first)):
            if len(one) == 1 and isinstance(one[0], str) and len(digits := {*one[0]}) == 1:
                if digits == {_SAME[cell.kind]}:
                    return other
                if digits == {_FIXED.get(cell.kind)}:
                    return one
    return None


def _narrowed(steps: list[Step]) -> list[Step]:
    """Without cases that never are, and constants among what is tested."""
    found = list[Step]()
    for step in steps:
        if isinstance(step, Assignment):
            found.append(step)
            continue
        digits = "".join("-" * each.width if isinstance(each, Slice) else each for each in step.value)
        tested = [place for place, digit in enumerate(digits) if digit == "-"]
        cases = list[tuple[list[str], list[Step]]]()
        for patterns, inside in step.cases:
            may = [each for each in patterns if _may_be(each, digits)]
            left = ["".join(each[place] for place in tested) for each in may]
            if patterns and not left:
                continue
            other = len(tested) == 1 and cases and left != cases[0][0]
            always = other or any(not each.strip("-") for each in left)
            cases.append(([] if always else left, _narrowed(inside)))
            if not cases[-1][0]:
                break
        if cases and not cases[0][0]:
            found += cases[0][1]
        elif any(inside for _, inside in cases):
            found.append(Switch(tuple(each for each in step.value if isinstance(each, Slice)), cases))
    return found


def _may_be(pattern: str, digits: str) -> bool:
    return all("-" in pair or pair[0] == pair[1] for pair in zip(pattern, digits, strict=True))


def _replace(cell: Cell, known: dict[str, Bits]) -> None:
    cell.inputs = {port: _put(bits, known) for port, bits in cell.inputs.items()}
    _replace_in(cell.steps, known)


def _replace_in(steps: list[Step], known: dict[str, Bits]) -> None:
    for step in steps:
        step.value = _put(step.value, known)
        if isinstance(step, Switch):
            for _, inside in step.cases:
                _replace_in(inside, known)


def _put(bits: Bits, known: dict[str, Bits]) -> Bits:
    """``bits`` with what is ``known`` in the places of wires, and chunks that are neighbours as one."""
    found = list[Chunk]()
    for each in bits:
        chunks: Bits = (each,)
        if isinstance(each, Slice) and each.wire in known:
            chunks = _put(part_of(known[each.wire], each.low, each.width), known)
        for chunk in chunks:
            last = found[-1] if found else None
            if isinstance(chunk, str) and isinstance(last, str):
                found[-1] = last + chunk
            elif (
                isinstance(chunk, Slice)
                and isinstance(last, Slice)
                and (last.wire, last.low) == (chunk.wire, chunk.low + chunk.width)
            ):
                found[-1] = Slice(chunk.wire, chunk.low, chunk.width + last.width)
            else:
                found.append(chunk)
    return tuple(found)


def without_initial_values(circuit: Circuit) -> None:
    """Let nothing have a value at power-on: a table is a choice of constants."""
    for wire in circuit.wires.values():
        wire.initial = ""
    left = list[Cell]()
    for cell in circuit.cells:
        memory = circuit.memories.get(cell.parameters.get("MEMID", ""))
        if cell.kind != "memrd_v2" or memory is None or not memory.rows:
            left.append(cell)
            continue
        assert cell.flag("CLK_ENABLE") and cell.inputs["EN"] == ("1",), f"{memory.name} is read without a clock"
        entry = circuit.wire(memory.width)
        whole, address = Slice(entry, 0, memory.width), cell.inputs["ADDR"]
        cases = [([f"{place:0{width_of(address)}b}"], row) for place, row in enumerate(memory.rows)]
        cases[-1] = [], cases[-1][1]
        choice = Switch(address, [(patterns, [Assignment(whole, (row,))]) for patterns, row in cases])
        left.append(Cell("process", entry, outputs={"Y": entry}, steps=[choice]))
        inputs: dict[str, Bits] = {"D": (whole,), "CLK": cell.inputs["CLK"]}
        left.append(Cell("dff", cell.name, cell.parameters, inputs, {"Q": cell.wire}))
        del circuit.memories[memory.name]
    circuit.cells = left

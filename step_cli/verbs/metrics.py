"""``step metrics``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import sympy

from step.errors import InputError, expect, needing
from step.programs.metrics import UNITS, Metrics, metrics_of
from step.programs.prepare import prepare
from step.running.interpreter import bind
from step_cli.console import show, table, talk, warn
from step_cli.options import Bindings, ProgramAndInputs, Read
from step_cli.verb import verb
from step_explore.areas.parts import doubts, parts_of


@verb
def command(
    *,
    program: ProgramAndInputs,
    bindings: Annotated[Bindings, "Value of a symbol; repeat for several."],
    data: Annotated[bool, "Take the values of all symbols from the program's input data."],
    fabric: Annotated[bool, "What it takes of an FPGA, and of its machine, estimated without synthesis."],
    energy: Annotated[bool, "The energy as well, by published figures."],
    energies: Annotated[Read, "Figures of your own in the place of published ones; with --energy."],
    accounting: Literal["paper", "artifact"] = "paper",
) -> None:
    """Off-chip traffic, on-chip memory, operations and intensity, as expressions or, with values, as numbers."""
    opened = program.load()
    values = bindings
    if data:
        expect(opened.inputs, "--data needs input data, but the program has none; give --inputs FILE.npz", InputError)
        values = {**bind(opened), **values}
    prepared = prepare(opened)
    found = metrics_of(prepared, accounting)
    if energies is not None and not energy:
        raise InputError("--energies has no effect without --energy")
    used = {str(each) for value in _rows(found, energy, energies).values() for each in value.free_symbols}
    symbols = [name for name in opened.graph.symbols if name in used]
    if values:
        found = found.bind(values)
    warn([*prepared.doubts, *([] if found.doubt is None else [found.doubt])])
    rows = _rows(found, energy, energies)
    taken = parts_of(prepared.netlist) if fabric else []
    if fabric:
        with needing("--fabric", "rtl"):
            from cosim.synthesis.estimate import fabric_metrics
        rows |= {name: sympy.Integer(value) for name, value in fabric_metrics(prepared.netlist).items()}
        rows |= {f"{opened.fabric.machine}.{each.part}": sympy.Integer(each.amount) for each in taken}
        warn(doubts(prepared.netlist, taken))
    plain = {
        "program": opened.name,
        "accounting": accounting,
        "metrics": {name: _plain(value) for name, value in rows.items()},
        "at_most": found.at_most,
        "symbols": {name: values.get(name) for name in symbols},
    }
    units = {f"{opened.fabric.machine}.{each.part}": f"{each.share:.1%} of {each.there:,}" for each in taken}
    show(plain, _texts(f"{opened.name} ({accounting} accounting)", rows, symbols, units))


def _texts(title: str, rows: dict[str, sympy.Expr], symbols: list[str], units: dict[str, str]) -> Iterator[str]:
    if all(value.is_number for value in rows.values()):
        units |= UNITS | {"multipliers": "18 x 18", "memory_bits": "b", "lut_sites": "LUT"}
        units |= {name: "pJ" for name in rows if name.startswith("energy")}
        cells = ((name, f"{float(value):,.2f}".removesuffix(".00"), units[name]) for name, value in rows.items())
        yield table(title, ("metric", "value", "unit"), cells, names=("unit",))
        return
    yield from (f"{name} = {value} {units.get(name, '')}".rstrip() for name, value in rows.items())
    talk(f"symbols: {', '.join(symbols)}; give values with --bind NAME=VALUE or --data")


def _rows(found: Metrics, energy: bool, energies: Path | None) -> dict[str, sympy.Expr]:
    """The metrics with the intensities and, if it is asked for, the parts of the energy and their sum."""
    rows = {**found.items(), "intensity": found.intensity, "useful_intensity": found.useful_intensity}
    if energy:
        taken = found.energy_by(energies)
        rows |= {**{f"energy.{part}": value for part, value in taken.parts.items()}, "energy": taken.total}
    return rows


def _plain(value: sympy.Expr) -> int | float | str:
    """An expression as JSON: a number where it is one."""
    if not value.is_number:
        return str(value)
    return int(value) if value.is_Integer else float(value)

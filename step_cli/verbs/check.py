"""``step check``."""

from __future__ import annotations

from rich.markup import escape

from step.errors import FabricError
from step.language.validate import check_outputs
from step.lowering.advice import advice
from step.lowering.feasible import check_feasible
from step.lowering.links import check_depths
from step.lowering.memory import regions_of
from step.programs.prepare import prepare
from step_cli.console import show, talk, warn
from step_cli.options import ProgramAndInputs
from step_cli.verb import verb


@verb
def command(program: ProgramAndInputs) -> None:
    """Check a program: types, shapes, the graph and, where it has any, its input data.

    What is well formed, but does not fit the fabric, gets a warning, but for depths that no channel has and tensors
    beyond the addresses of memory, which are errors; more fabric than it can use gets a hint.
    """
    opened = program.load()
    prepared = prepare(opened)
    warnings, hints = list(prepared.doubts), list[str]()
    check_outputs(opened.graph)
    check_depths(opened.graph, opened.fabric)
    regions_of(opened.graph, opened.fabric.memory)
    try:
        check_feasible(prepared.netlist)
        hints = advice(prepared.netlist)
    except FabricError as error:
        warnings.append(str(error))
    if opened.inputs:
        _ = prepared.data
    warn(warnings)
    for hint in hints:
        talk(f"[cyan]hint:[/] {escape(hint)}")
    operators, streams = len(opened.graph.nodes), sum(1 for _ in opened.graph.streams())
    show(
        {"program": opened.name, "operators": operators, "streams": streams, "warnings": warnings, "hints": hints},
        f"{opened.name}: ok, {operators} operators, {streams} streams, {len(warnings)} warnings",
    )

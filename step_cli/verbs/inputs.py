"""``step inputs``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rich.markup import escape

from step.errors import SimulationError
from step.host.files import writing
from step.programs.data.npz import arrays_of, write_arrays
from step.programs.program import load_program
from step.running.interpreter import interpret
from step.running.sample import sample
from step_cli.console import show, talk
from step_cli.options import FILE, Bindings, ProgramName
from step_cli.verb import NATURAL, verb


@verb
def command(
    *,
    program: ProgramName,
    output: Annotated[Path, FILE, "-o", "--output", "The .npz file to write."],
    seed: Annotated[int | None, NATURAL, "--random", "SEED", "Random numbers instead of zeros."],
    bindings: Annotated[Bindings, "Extent of a symbol; repeat for several."],
    keep: Annotated[tuple[str, ...], "NAME", "Take this input from the program's own data."],
) -> None:
    """Write input data for a program: a template of zeros, or random numbers.

    Symbols that --bind does not mention get the extent 2, or with --random 0 to 4. Selectors select target 0, or one
    random target each.
    """
    opened = load_program(program)
    made = sample(opened.graph, seed=seed, bindings=bindings, own=opened.inputs, keep=keep)
    arrays = arrays_of(opened.graph, made, readable=True)
    with writing(output):
        write_arrays(output, arrays)
    try:
        interpret(opened.graph, made)
    except SimulationError as error:
        talk(
            "[yellow]warning:[/] the program fails on this data, so some inputs depend on each other in a way that "
            f"shapes do not say; edit the file, or keep the program's own with --keep NAME: {escape(str(error))}"
        )
    plain = {name: {"dtype": str(each.dtype), "shape": list(each.shape)} for name, each in arrays.items()}
    show(plain, (f"{name}: {each['dtype']} {each['shape']}" for name, each in plain.items()))

"""``step inputs``."""

from __future__ import annotations

from pathlib import Path

import click
from rich.markup import escape

from step.errors import SimulationError
from step.host.files import writing
from step.programs.data.npz import arrays_of, write_arrays
from step.programs.program import load_program
from step.running.interpreter import interpret
from step.running.sample import sample
from step_cli.console import show_json, talk
from step_cli.options import check_kept, json_option, parse_bindings


@click.command()
@click.argument("program")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The .npz file to write."
)
@click.option("--random", "seed", type=click.IntRange(min=0), metavar="SEED", help="Random numbers instead of zeros.")
@click.option("--bind", "bindings", multiple=True, metavar="NAME=VALUE", help="Extent of a symbol; repeat for several.")
@click.option("--keep", multiple=True, metavar="NAME", help="Take this input from the program's own data.")
@json_option
def command(
    program: str, output: Path, seed: int | None, bindings: tuple[str, ...], keep: tuple[str, ...], as_json: bool
) -> None:
    """Write input data for a program: a template of zeros, or random numbers.

    Symbols that --bind does not mention get the extent 2, or with --random 0 to 4. Selectors select target 0, or one
    random target each.
    """
    check_kept({"PROGRAM": Path(program.partition(":")[0])})
    opened = load_program(program)
    made = sample(opened.graph, seed=seed, bindings=parse_bindings(bindings), own=opened.inputs, keep=keep)
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
    if as_json:
        show_json({name: {"dtype": str(each.dtype), "shape": list(each.shape)} for name, each in arrays.items()})
    else:
        for name, each in arrays.items():
            click.echo(f"{name}: {each.dtype} {list(each.shape)}")

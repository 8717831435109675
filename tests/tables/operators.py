"""The page of operators: an example of each, and its unit on the fabric."""

from __future__ import annotations

import ast
import doctest
import inspect
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import step
import step.functions
import step.ops
from sim_approx.placing.build import build_fabric
from step import library
from step.language.graph import Graph
from step.language.operator import OPERATORS, Operator
from step.language.stream import Stream
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import Netlist, lower
from step.running.sample import sample

ROOT = Path(step.__file__).parents[1]
HEAD = """\
# Operators

**What does each operator look like, by example?**

Written by `PYTHONPATH=tests python -m tables` from the code; do not edit. [The language](language.md#operators) defines
them.

Each stands on four floors: its meaning in `step/ops`, RTL and timing in `step/rules` or, where they need
more, in `hw/units` and `sim_approx/units`, and its meaning on nested lists, with which all others are compared, in
`tests/meaning`. Types and cycles are those of the example below
on the default fabric: **II** is the distance of two firings in which a value passes, **latency** the time from a firing
to its token entering the channel behind (of a load, from the tile being there).

| operator | behaviour | example: in | out | II | latency | floors |
|---|---|---|---|---|---|---|
"""


METHODS = """
## Methods

All that a stream or a graph can be asked for, with the short forms that are made of several operators (*library*).
`help(x.keep)` of a stream `x`, not of its class, says more.
Each takes a `name=` as well. The last ones are functions of `step.library`.

| method | | |
|---|---|---|
"""


@dataclass(frozen=True)
class Example:
    """The example of an operator, run."""

    lines: tuple[str, ...]
    netlist: Netlist


def names() -> list[str]:
    """All operators."""
    return sorted(each.name for each in pkgutil.iter_modules(step.ops.__path__))


def example(operator: type[Operator]) -> Example:
    """The example in the docstring of ``operator``; `LookupError` where it has none, or one that leaves it out."""
    found = doctest.DocTestParser().get_examples(inspect.getdoc(operator) or "")
    lines = tuple(each.source.rstrip() for each in found)
    if len(lines) != 3:
        raise LookupError(f"the docstring of {operator.__name__} must end with an example of three lines, >>> each")
    scope = imports(lines)
    for line in lines:
        exec(line, scope)
    graph = scope["graph"]
    assert isinstance(graph, Graph)
    netlist = lower(graph, FabricConfig())
    if operator.name not in {node.operator.name for node in netlist.units}:
        raise LookupError(f"the example of {operator.__name__} does not use it")
    return Example(lines, netlist)


def imports(lines: tuple[str, ...]) -> dict[str, Any]:
    """What ``lines`` name of `step` and `step.functions`."""
    named = {each.id for line in lines for each in ast.walk(ast.parse(line)) if isinstance(each, ast.Name)}
    scope: dict[str, Any] = {}
    for module in (step, step.functions):
        scope |= {name: getattr(module, name) for name in sorted(named) if hasattr(module, name)}
    return scope


def summary(thing: Any) -> str:
    """The first sentence of a docstring, for a table."""
    text = (inspect.getdoc(thing) or "").partition("\n\n")[0].replace("\n", " ")
    return text.partition(". ")[0].rstrip(".").replace("``", "`").replace("|", "\\|")


def link(text: str, *parts: str) -> str:
    """A link to a file, called ``text``; `LookupError` where there is none."""
    path = Path(*parts)
    if not (ROOT / path).is_file():
        raise LookupError(f"{path} is missing")
    return f"[{text}](../{path})"


def row(name: str, shown: Example) -> str:
    node = next(each for each in shown.netlist.units if each.operator.name == name)
    machine = build_fabric(shown.netlist, sample(shown.netlist.graph), ()).units[node.name]
    reads, writes = ("<br>".join(str(each) for each in types) or "-" for types in (node.input_types, node.output_types))
    declared = (ROOT / "step" / "rules" / f"{name}.py").is_file()
    timed = ("rule", ("step", "rules")) if declared else ("sim_approx", ("sim_approx", "units"))
    by_hand = (ROOT / "hw" / "units" / f"{name}.py").is_file() or not declared
    folders = {"step": ("step", "ops"), **({"hw": ("hw", "units")} if by_hand else {}), **dict([timed])}
    folders["tests"] = ("tests", "meaning")
    floors = " ".join(link(text, *folder, f"{name}.py") for text, folder in folders.items())
    what = summary(type(node.operator))
    return (
        f"| [`{name}`](#{name}) | {what} | {reads} | {writes} | {machine.interval} | {machine.latency} | {floors} |\n"
    )


def methods() -> Iterator[str]:
    """Rows of all methods of streams and graphs, and of the functions of the library."""
    for owner, prefix in ((Stream, "stream."), (Graph, "graph.")):
        dir(owner)  # loads all
        for name, method in sorted(owner.methods.items()):
            yield method_row(prefix + name, method, owned=True)
    for name in library.__all__:
        yield method_row(name, getattr(library, name), owned=False)


def method_row(called: str, function: Any, *, owned: bool) -> str:
    parameters = list(inspect.signature(function).parameters.values())[owned:]
    named = [each for each in parameters if each.name != "name" or each.default is each.empty]
    kept = [each.replace(annotation=each.empty) for each in named]
    call = str(inspect.Signature(kept)).replace("(*, ", "(").replace("'", '"')
    where = "library" if function.__module__.startswith("step.library") else ""
    return f"| `{called}{call}` | {summary(function)} | {where} |\n"


def operators_page() -> str:
    """The text of docs/operators.md."""
    shown = {name: example(OPERATORS[name]) for name in names()}
    used = {name for each in shown.values() for name in imports(each.lines)}
    needed = {each: sorted(name for name in used if hasattr(each, name)) for each in (step, step.functions)}
    lines = "".join(f">>> from {module.__name__} import {', '.join(each)}\n" for module, each in needed.items())
    text = HEAD + "".join(row(name, each) for name, each in shown.items())
    text += METHODS + "".join(methods()) + f"\n## Examples\n\n```python\n{lines}\n```\n"
    for name, each in shown.items():
        code = "".join(f">>> {line}\n" for line in each.lines)
        text += f"\n### {name}\n\n```python\n{code}\n```\n"
    return text

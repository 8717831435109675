"""The page of the Python API: what `step` exports, with its docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from functools import cached_property
from textwrap import fill
from typing import Any

import step
from cosim.comparing.compare import Comparison
from step.language.dtypes import DType
from step.language.graph import Feedback
from step.programs.files.json_file import JsonFile
from step.programs.metrics import Metrics
from step.running.expectation import Deviation
from step.running.output import Output, Ragged
from step.running.result import RunResult

HEAD = """\
# The API

**What does `import step` offer?**

Written by `PYTHONPATH=tests python -m tables` from the code; do not edit. To begin with there is the
[tutorial](tutorial.md). All of this is in `step`; operators, which are methods of streams and graphs, have a
[page](operators.md#methods) of their own, and so have [functions](functions.md), in `step.functions`, and
[errors](errors.md).

The distribution `step-fabric` installs the packages `step`, `step_models`, `step_torch`, `step_explore`, `step_check`,
`step_show`, `step_cli`, `sim_approx`, `hw` and `cosim`: other packages, and files beside your programs, need other
names. `import step` and `step_models` have all that programs need.

The examples below are one session, which begins so:

```python
>>> import numpy as np
>>> import step
>>> from step import FP32, FabricConfig, Graph, Program, Tile
>>> from step.functions import Add
>>> graph = Graph("sums")
>>> graph.source("x", Tile(FP32), [graph.symbol("N"), 3]).accum(Add()).sink("y")
>>> program = Program(graph, {"x": [[1, 2, 3], [4, 5, 6]]}, expected={"y": [6, 15]})

```
"""
ROOMS = {
    "running": "Running and measuring",
    "programs": "Programs and their data",
    "language": "The language",
    "lowering": "The fabric",
    "errors": "Errors",
}
RETURNED = {
    "running": (Output, Ragged, Deviation, Comparison, RunResult),
    "programs": (Metrics,),
    "language": (Feedback,),
}
"""What is not in `step`, but returned by what is."""


def api_page() -> str:
    """The text of docs/api.md; `LookupError` for what has no docstring, or is of no room."""
    rooms: dict[str, list[Any]] = {room: [] for room in ROOMS}
    for name in step.__all__:
        thing = getattr(step, name)
        if not inspect.ismodule(thing) and not isinstance(thing, DType):
            room = thing.__module__.split(".")[1]
            rooms[room if room in rooms else "running"].append(thing)
    text = HEAD
    for room, title in ROOMS.items():
        things = [*rooms[room], *RETURNED.get(room, ())]
        text += f"\n## {title}\n" + "".join(_entry(each) for each in things)
        if room == "language":
            text += f"\nScalar formats: {', '.join(f'`{name}`' for name in step.__all__ if _is_format(name))}.\n"
    return re.sub(r"\n{3,}", "\n\n", text)


def _is_format(name: str) -> bool:
    return isinstance(getattr(step, name), DType)


def _entry(thing: Any) -> str:
    name, kind = thing.__name__, "" if inspect.isclass(thing) else "step."
    members = "".join(_members(thing)) if inspect.isclass(thing) else ""
    if inspect.isclass(thing) and issubclass(thing, Enum):
        members = f"\n{', '.join(f'`{name}.{each.name}`' for each in thing)}.\n"
    return f"\n### {name}\n\n```python\n{kind}{name}{_signature(thing)}\n```\n\n{_text(thing, name)}\n" + members


def _signature(thing: Any) -> str:
    """Without the types, which editors show; a class that nobody calls has none."""
    if inspect.isclass(thing) and (issubclass(thing, BaseException | Enum) or getattr(thing, "_is_protocol", False)):
        return ""
    found = inspect.signature(thing)
    parameters = [each.replace(annotation=each.empty) for each in found.parameters.values() if each.name != "self"]
    parameters = [each for each in parameters if not each.name.startswith("_")]
    text = str(found.replace(parameters=parameters, return_annotation=found.empty)).replace("'", '"')
    text = re.sub(r"<factory>|<function (\w+) at \w+>|<(\w+\.\w+): \d+>", lambda one: one[1] or one[2] or "...", text)
    return text if len(text) < 100 else text.replace("(", "(\n    ", 1).replace(", ", ",\n    ")[:-1] + ",\n)"


def _members(cls: type) -> Iterator[str]:
    """Methods and properties that the class defines itself, in their order, and those of what is kept in files."""
    members = {**vars(cls), **{name: vars(JsonFile)[name] for name in ("save", "load") if issubclass(cls, JsonFile)}}
    for name, member in members.items():
        shown = member.__func__ if isinstance(member, classmethod) else member
        if name.startswith("_") or not (inspect.isfunction(shown) or isinstance(shown, property | cached_property)):
            continue
        call = _signature(shown).replace("cls, ", "").replace("(cls)", "()") if inspect.isfunction(shown) else ""
        first, _, rest = _text(shown, f"{cls.__name__}.{name}").partition("\n")
        inside = "".join(f"  {line}".rstrip() + "\n" for line in rest.splitlines())
        head = fill(f"* **`{name}{call}`**: {first}", 120, subsequent_indent="  ", break_on_hyphens=False)
        yield f"\n{head}\n{inside}"


def _text(thing: Any, name: str) -> str:
    """The docstring as Markdown, its examples as blocks that are run."""
    found = inspect.getdoc(thing)
    if not found:
        raise LookupError(f"{name} has no docstring")
    text = re.sub(r"(?m)^(``\w+``(?: \(\w\))?: )", r"* \1", found).replace("``", "`")  # parameters are a list
    text = re.sub(r"(\A|\n\n)((?!\* ).+(?:\n(?!\* ).+)*)\n\* `", r"\1\2\n\n* `", text)  # apart from a paragraph
    text = re.sub(r"(?m)^\* `.*(?:\n(?!\* ).+)+", lambda item: item[0].replace("\n", "\n  "), text)
    return re.sub(r"(?m)^(>>> (?:.+\n?)+)", lambda match: f"```python\n{match[1].rstrip()}\n\n```\n", text)

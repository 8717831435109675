"""A program that can be run: a graph, the fabric it is for, and input data."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from glob import glob, has_magic
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import sympy

from step.errors import FormatError, InputError, ProgramError, expect
from step.host.files import write_together, writing
from step.host.nearest import among
from step.host.paths import check_readable, named_file
from step.language.arguments import Checked
from step.language.graph import Graph
from step.language.operator import StreamType
from step.language.tiling import stored
from step.language.types import Tile
from step.lowering.fabric import FabricConfig
from step.programs.data.equality import same
from step.programs.data.given import Data
from step.programs.data.inputs import bind_inputs
from step.programs.data.npz import array_bytes, arrays_of, load_inputs, read_arrays
from step.programs.files.json_file import header, json_bytes, read_json
from step.programs.files.python_file import call, made_by
from step.programs.files.serialize import graph_from_json, graph_to_json

_PARTS: dict[str, type] = {
    "graph": Graph, "inputs": Mapping, "fabric": FabricConfig, "expected": Mapping, "tolerance": object,
}  # fmt: skip
_DATA = {"inputs": "input", "expected": "expected output"}


@dataclass(eq=False, repr=False)
class Program(metaclass=Checked):
    """Program that can be run: a graph with its input data, the fabric it is for, and what its outputs should be.

    ``graph``: the `Graph`.
    ``inputs``: data per tensor and source name (docs/inputs.md). It is the program's own: writable arrays are copied,
    and later changes of a list change nothing.
    ``fabric``: the `FabricConfig`.
    ``expected``: per output, or stored tensor, an array in float64 that it should be close to.
    ``tolerance``: the largest difference to that, in parts of the largest expected magnitude.

    Raises `InputError` for an expected output that there is not, or that can not have as many scalars as are expected.

    >>> Program(graph, {"x": [[1, 2, 3]]}, FabricConfig(stages=1), expected={"y": [6]})
    <program sums: 3 operators, 1 inputs>
    """

    refused: ClassVar[type[ProgramError]] = InputError
    graph: Graph
    inputs: MutableMapping[str, Any] = field(default_factory=dict)
    fabric: FabricConfig = field(default_factory=FabricConfig)
    expected: MutableMapping[str, Any] = field(default_factory=dict)
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        self.check_expected()

    def __setattr__(self, name: str, given: Any) -> None:
        """Raises `InputError` for what is no part of a program, and for what a part can not be."""
        if name not in _PARTS:
            raise InputError(f"a program has no {name!r}; {among(name, _PARTS)}")
        if not isinstance(given, _PARTS[name]):
            raise InputError(f"a program's {name} must be a {_PARTS[name].__name__}, not {given!r}")
        settled = Data(cast("Mapping[str, Any]", given), _DATA[name]) if name in _DATA else given
        object.__setattr__(self, name, settled)

    def __eq__(self, other: object) -> bool:
        """Equal in meaning: the same graph, names, source lines and fabric, inputs that are bound to the same data
        however they are spelled, and the same expectation."""
        return (
            isinstance(other, Program)
            and graph_to_json(self.graph) == graph_to_json(other.graph)
            and self.fabric == other.fabric
            and (self.tolerance, bool(self.inputs)) == (other.tolerance, bool(other.inputs))
            and same(self._doubles(), other._doubles())
            and (not self.inputs or bind_inputs(self.graph, self.inputs) == bind_inputs(other.graph, other.inputs))
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def name(self) -> str:
        """Name of the graph."""
        return self.graph.name

    def __repr__(self) -> str:
        return f"<program {self.name}: {len(self.graph.nodes)} operators, {len(self.inputs)} inputs>"

    def _repr_svg_(self) -> str | None:
        return self.graph._repr_svg_()

    def save(self, path: Path | str) -> None:
        """Write the program to ``path`` (.json), and its inputs and expected outputs, if any, beside it (.npz).

        `load_program` gives an equal program. Raises `InputError` for data that does not fit, and for a file that can
        not be written: its directory has to be there.
        """
        path = named_file(path, "a program", ".json")
        if path.stem.endswith(".expected"):
            other = path.with_name(path.stem.removesuffix(".expected") + ".json")
            raise InputError(f"a program can not be called '{path}': what is expected of '{other}' has such a name")
        self.check_expected()
        files = {}
        if self.inputs:
            files["inputs"] = path.with_suffix(".npz"), arrays_of(self.graph, bind_inputs(self.graph, self.inputs))
        if self.expected:
            files["expected"] = path.with_suffix(".expected.npz"), self._doubles()
        data = {
            **header("program"),
            **{part: files[part][0].name if part in files else None for part in ("inputs", "expected")},
            "tolerance": float(self.tolerance),
            "fabric": self.fabric.to_json(),
            "graph": graph_to_json(self.graph),
        }
        with writing(path):
            contents = {file: array_bytes(arrays) for file, arrays in files.values()}
            write_together({**contents, path: json_bytes(data)})

    def _doubles(self) -> dict[str, np.ndarray]:
        return {name: np.asarray(each, np.float64) for name, each in self.expected.items()}

    def check_expected(self) -> list[str]:
        """Raise `InputError` for an impossible expectation, as far as that is known before a run.

        Returns the expected outputs whose sizes only a run tells.
        """
        outputs = {node.name: _scalars(node.inputs[0].type) for node in self.graph if not node.output_types}
        outputs |= {name: sympy.Integer(math.prod(each.tensor.shape)) for name, each in stored(self.graph).items()}
        for name, each in self.expected.items():
            if name not in outputs:
                known = among(str(name), outputs, "there are")
                raise InputError(f"there is no output {name!r} to compare with the expected one; {known}")
            array = _real(each, name)
            scalars = outputs[name]
            if scalars.is_Integer and scalars != array.size:
                raise InputError(f"output {name!r} has {scalars} scalars, but {array.size} are expected")
        number = isinstance(self.tolerance, Real) and not isinstance(self.tolerance, bool)
        if not number or not 0 <= self.tolerance <= sys.float_info.max:
            raise InputError(f"tolerance must be a number >= 0, not {self.tolerance!r}")
        return [name for name in self.expected if not outputs[name].is_Integer]


def _real(value: Any, name: str) -> np.ndarray:
    """The expected values of the output ``name``, as an array of real numbers."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise InputError(f"expected output {name!r} has rows of different lengths, which is no array") from None
    if array.dtype.kind not in "biuf" and not np.can_cast(array.dtype, np.float64):
        raise InputError(f"expected output {name!r} must be real numbers, not {array.dtype}")
    return array


def _scalars(stream: StreamType) -> sympy.Expr:
    """Number of scalars of ``stream``."""
    return stream.count * (stream.element.elements if isinstance(stream.element, Tile) else 1)


def load_program(
    spec: str | Path, inputs: Path | str | None = None, arguments: Mapping[str, Any] | None = None
) -> Program:
    """Program that ``spec`` names; `step.run` and others take the name as it is.

    ``spec``: ``file.py`` with a function ``program``, ``file.py:function``, ``file.py:function[3]`` for one of a list,
    or a .json file of `Program.save`.
    ``inputs``: an .npz file (docs/inputs.md) that replaces the program's own input data, and drops the expectation of
    that data.
    ``arguments``: arguments of the function, by name.

    Raises `FormatError` for files that can not be read, and `InputError` for arguments that nobody takes, and where
    ``spec`` names several programs.

    >>> step.load_program("examples/moe_simple.py")
    <program moe_simple: 29 operators, 4 inputs>
    """
    program = _only(load_programs(spec, arguments), str(spec), _how_to_choose(spec))
    return program if inputs is None else with_inputs(program, load_inputs(inputs, program.graph))


def with_inputs(program: Program, inputs: MutableMapping[str, Any]) -> Program:
    """``program`` with other ``inputs``, of which nothing is expected: they have other outputs."""
    return replace(program, inputs=inputs, expected={}, tolerance=0.0)


def _how_to_choose(spec: str | Path) -> str:
    """Hint at the name of one program of those of a function."""
    path, colon, function = _parts(str(spec))
    if not Path(path).is_file() or function.endswith("]"):
        return ""
    return f"; choose one: {path}:{function if colon else 'program'}[0]"


def load_programs(spec: str | Path, arguments: Mapping[str, Any] | None = None) -> list[Program]:
    """The programs named ``file.py``, ``file.py:function`` or ``file.json``.

    A function (``program`` unless named) returns a `Program`, a `Graph`, or a list of them; ``file.py:function[3]`` is
    one of a list, and counts from the end where it is negative. Instead of a file there may be a pattern (``*.py``,
    ``**/*.json:small``) for all that match, sorted by name. ``arguments`` are those of the function, by name. Raises
    `FormatError` for files that can not be read, and `InputError` for arguments that nobody takes.
    """
    named_file(spec, "a program")
    if arguments is not None and not isinstance(arguments, Mapping):
        raise InputError(f"the arguments of a program must be values by name, not {arguments!r}")
    path_text, colon, function = _parts(str(spec))
    if Path(path_text).is_file() or not has_magic(path_text):
        return _load_file(path_text, colon, function, arguments)
    matching = sorted(path for path in glob(path_text, recursive=True) if Path(path).is_file())
    expect(matching, f"no file matches {path_text!r}", FormatError)
    return [program for path in matching for program in _load_file(path, colon, function, arguments)]


def _load_file(path_text: str, colon: str, function: str, arguments: Mapping[str, Any] | None) -> list[Program]:
    path = Path(path_text)
    check_readable(path)
    if path.suffix == ".py":
        function, bracket, index = function.partition("[")
        function = function if function or (colon and not bracket) else "program"
        programs = _programs(f"{path}:{function}", made_by(path, function, arguments))
        return [_one_of(programs, f"{path}:{function}", bracket + index)] if bracket else programs
    if path.suffix == ".json" and not colon:
        if arguments:
            raise InputError(f"{path} has no parameter {next(iter(arguments))!r}; functions of Python files have some")
        return [_from_json(path)]
    raise FormatError(
        "a program must be file.py, file.py:function, file.py:function[NUMBER] or file.json, "
        f"not {path_text + colon + function!r}"
    )


def _one_of(programs: list[Program], what: str, index: str) -> Program:
    """The program at ``index``, such as ``[3]``."""
    expect(re.fullmatch(r"\[-?\d+\]", index), f"one of a list must be {what}[NUMBER], not {what}{index}", FormatError)
    number, count = int(index[1:-1]), len(programs)
    if not -count <= number < count:
        raise FormatError(f"{what} gives {count} programs, [0] to [{count - 1}], so there is no {index}")
    return programs[number]


def _parts(spec: str) -> tuple[str, str, str]:
    """The file, a colon where a function follows, and the function; names of files may have colons too."""
    if Path(spec).is_file() or ":" not in spec:
        return spec, "", ""
    return tuple(spec.rpartition(":"))  # type: ignore[return-value]


def called(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Program:
    """The program that ``function`` returns for ``arguments``, by name; raises as `load_program`."""
    what = f"the function {getattr(function, '__name__', function)}"
    return _only(_programs(what, call(what, function, arguments)), what)


def _only(programs: list[Program], what: str, hint: str = "") -> Program:
    expect(len(programs) == 1, f"{what} gives {len(programs)} programs, but one is needed here{hint}", FormatError)
    return programs[0]


def _programs(what: str, made: Any) -> list[Program]:
    """All that a function of the user returned."""
    expect(not isinstance(made, list) or made, f"{what} returns an empty list, so there is no program", FormatError)
    programs = []
    for each in made if isinstance(made, list) else [made]:
        if not isinstance(each, Program | Graph):
            raise FormatError(f"{what} must return a Program, a Graph, or a list of them, not {type(each).__name__}")
        programs.append(Program(each) if isinstance(each, Graph) else each)
    return programs


def _from_json(path: Path) -> Program:
    data = read_json(path, "program")
    try:
        graph = graph_from_json(data["graph"])
    except RecursionError:
        raise FormatError(f"{path} is no program: its JSON is nested too deeply") from None
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None
    inputs, expected = data["inputs"], data["expected"]
    return Program(
        graph,
        {} if inputs is None else load_inputs(path.parent / inputs, graph),
        FabricConfig.from_json(data["fabric"]),
        {} if expected is None else read_arrays(path.parent / expected),
        data["tolerance"],
    )

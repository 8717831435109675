"""A program that can be run: a graph, the fabric it is for, and input data."""

from __future__ import annotations

import importlib.util
import inspect
import io
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from step.errors import FormatError, InputError, ProgramError
from step.host.files import write_atomically
from step.language.dtypes import DType
from step.language.graph import Graph
from step.language.tokens import DONE, Token, empty
from step.language.types import Selector, Tile
from step.lowering.fabric import FabricConfig
from step.programs.inputs import bind_inputs
from step.programs.schema import validate
from step.programs.serialize import graph_from_json, graph_to_json


@dataclass
class Program:
    """``inputs`` has data per tensor and source name (see `step.programs.inputs.bind_inputs`).

    ``expected`` may hold arrays in float64 that the outputs of those names should be close to: the largest difference
    may be ``tolerance`` times the largest expected magnitude.
    """

    graph: Graph
    inputs: dict[str, Any] = field(default_factory=dict)
    fabric: FabricConfig = field(default_factory=FabricConfig)
    expected: dict[str, np.ndarray] = field(default_factory=dict)
    tolerance: float = 0.0

    @property
    def name(self) -> str:
        return self.graph.name

    def save(self, path: Path | str) -> None:
        """Write the program to ``path`` (.json), and its inputs, if any, beside it (.npz)."""
        path = Path(path)
        data = {
            "format": "step-program-1",
            "inputs": path.with_suffix(".npz").name if self.inputs else None,
            "fabric": self.fabric.to_json(),
            "graph": graph_to_json(self.graph),
        }
        if self.inputs:
            buffer = io.BytesIO()
            np.savez_compressed(buffer, allow_pickle=False, **_arrays(self.graph, self.inputs))
            write_atomically(path.with_suffix(".npz"), buffer.getvalue())
        write_atomically(path, (json.dumps(data, indent=1) + "\n").encode())


def load_program(spec: str, inputs: Path | None = None) -> Program:
    """The one program named ``file.py``, ``file.py:function`` or ``file.json``; see `load_programs`.

    ``inputs`` is an .npz file that replaces the program's own input data.
    """
    programs = load_programs(spec)
    if len(programs) != 1:
        raise FormatError(f"{spec} gives {len(programs)} programs, but one is needed here")
    (program,) = programs
    if inputs is not None:
        program.inputs = load_inputs(inputs, program.graph)
    return program


def load_programs(spec: str) -> list[Program]:
    """The programs named ``file.py``, ``file.py:function`` or ``file.json``.

    A function (``program`` unless named) returns a `Program`, a `Graph`, or a list of them. Raises `FormatError` for
    files that can not be read.
    """
    path_text, colon, function = spec.partition(":")
    path = Path(path_text)
    if not path.is_file():
        raise FormatError(f"there is no file {path_text!r}")
    if path.suffix == ".py":
        return _from_python(path, function if colon else "program")
    if path.suffix == ".json" and not colon:
        return [_from_json(path)]
    raise FormatError(f"a program must be file.py, file.py:function or file.json, not {spec!r}")


def _from_python(path: Path, function: str) -> list[Program]:
    name = f"step_program_{path.stem}"
    module_spec = importlib.util.spec_from_file_location(name, path)
    assert module_spec is not None and module_spec.loader is not None
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        module_spec.loader.exec_module(module)
        maker = getattr(module, function, None)
        if not callable(maker):
            known = [key for key, each in vars(module).items() if inspect.isfunction(each) and each.__module__ == name]
            raise FormatError(f"{path} has no function {function!r}; it has {', '.join(known) or 'none'}")
        made = maker()
    finally:
        sys.path.pop(0)
    programs = []
    for each in made if isinstance(made, list) else [made]:
        if not isinstance(each, Program | Graph):
            raise FormatError(f"{path}:{function} must return a Program or a Graph, not {type(each).__name__}")
        programs.append(Program(each) if isinstance(each, Graph) else each)
    return programs


def _from_json(path: Path) -> Program:
    try:
        data = json.loads(path.read_text())
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise FormatError(f"{path} is no JSON: {error}") from None
    validate(data, "program", str(path))
    program = Program(graph_from_json(data["graph"]), fabric=FabricConfig.from_json(data["fabric"]))
    if data.get("inputs"):
        program.inputs = load_inputs(path.parent / data["inputs"], program.graph)
    return program


def _arrays(graph: Graph, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Inputs as arrays that NumPy can save: BF16 as bit patterns, streams as values, stops and the ranks of empties."""
    bound = bind_inputs(graph, inputs)
    arrays = {name: _storable(array) for name, array in bound.tensors.items()}
    for name, tokens in bound.streams.items():
        source = graph.nodes[name].operator.given()
        assert source is not None
        values = [token.value for token in tokens if token.has_value]
        arrays[f"{name}.stops"] = np.array([token.stop for token in tokens[:-1]], np.int64)
        arrays[f"{name}.ranks"] = np.array([token.rank for token in tokens[:-1]], np.int64)
        match source.element:
            case Tile():
                arrays[f"{name}.values"] = _storable(np.array(values, source.element.dtype.numpy))
            case Selector(targets=targets):
                arrays[f"{name}.values"] = np.array(
                    [[mask >> target & 1 for target in range(targets)] for mask in values], np.bool_
                ).reshape(-1, targets)
            case _:
                raise InputError(f"input {name!r}: a stream of {source.element} can not be saved")
    return arrays


def _storable(array: np.ndarray) -> np.ndarray:
    return array.view(np.uint16) if array.dtype.kind == "V" or array.dtype.name == "bfloat16" else array


def load_inputs(path: Path, graph: Graph) -> dict[str, Any]:
    """The input data in an .npz file: an array per name, or ``NAME.values``, ``NAME.stops`` and ``NAME.ranks`` (of
    an empty; 0: a value) per stream.

    BF16 data is stored as uint16 bit patterns (a float array is rounded). Raises `FormatError` where the file can not
    be read.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = dict(archive)
    except (OSError, ValueError) as error:
        raise FormatError(f"{path} is no .npz file with input data: {error}") from None
    result: dict[str, Any] = {}
    for key, array in arrays.items():
        name, dot, part = key.partition(".")
        if not dot:
            result[name] = _restored(array, graph.tensors[name].dtype) if name in graph.tensors else array
        elif part == "values":
            if not {f"{name}.stops", f"{name}.ranks"} <= set(arrays) or name not in graph.nodes:
                beside = f"{name}.stops and {name}.ranks beside it"
                raise FormatError(f"{path}: {key!r} needs {beside}, and a source {name!r} in the program")
            result[name] = _tokens(array, arrays[f"{name}.stops"], arrays[f"{name}.ranks"], graph, name)
    return result


def _restored(array: np.ndarray, dtype: DType) -> np.ndarray:
    return array.view(dtype.numpy) if dtype.name == "BF16" and array.dtype == np.uint16 else array


def _tokens(values: np.ndarray, stops: np.ndarray, ranks: np.ndarray, graph: Graph, name: str) -> list[Token]:
    operator = graph.nodes[name].operator
    source = operator.given()
    if source is None:
        raise ProgramError(f"{name!r} is no source, but {operator.name}")
    if isinstance(source.element, Selector):
        elements = iter([sum(1 << int(target) for target in np.flatnonzero(row)) for row in values])
    else:
        assert isinstance(source.element, Tile)
        elements = iter(_restored(values, source.element.dtype))
    wanted = int((ranks == 0).sum())
    if len(values) != wanted:
        raise FormatError(f"source {name!r} has {len(values)} values, but its stops are those of {wanted}")
    return [
        *(
            empty(int(rank), int(stop)) if rank else Token(next(elements), int(stop))
            for stop, rank in zip(stops, ranks, strict=True)
        ),
        DONE,
    ]

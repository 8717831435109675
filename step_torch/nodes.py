"""A captured module as a graph of nodes: operators of ATen with their arguments, shapes and lines of source."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from step.errors import FormatError, InputError
from step.language.location import UNKNOWN_LOCATION, Location
from step_torch.archive import DTYPES, Archive
from step_torch.extents import extent_of, solved

_FRAME = re.compile(r'File "(.*?)", line (\d+)')
_IN_PLACE = re.compile(r"[^_]_\.\w+$")
"""``aten.copy_.default``; ``aten.__and__.Tensor`` gives a tensor of its own."""


@dataclass(frozen=True)
class Origin:
    """The origin of a node: a line of source, and the path of the module that it belongs to."""

    location: Location
    module: str

    def __str__(self) -> str:
        return f"{self.location}, in {self.module or 'the module itself'}"


@dataclass(frozen=True)
class Meta:
    """The format and the extents of a tensor."""

    dtype: str
    shape: tuple[int, ...]
    unknown: str = ""
    """The name of an extent that depends on data, which is not in ``shape``."""
    numbers: bytes = field(default=b"", repr=False)
    """Those of a constant, which an import knows."""


@dataclass(frozen=True)
class Ref:
    """An argument that is the value called so."""

    name: str


@dataclass(frozen=True)
class Body:
    """``nodes`` of one step of a loop, which make ``outputs`` of ``inputs``, by their names."""

    inputs: tuple[str, ...]
    nodes: tuple[TorchNode, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class TorchNode:
    """``op`` (``aten.mul.Tensor``) of ``args`` and ``options`` gives the ``results``, by their names."""

    op: str
    args: tuple[Any, ...]
    options: Mapping[str, Any]
    results: tuple[str, ...]
    place: Origin

    @property
    def name(self) -> str:
        """The name of the first result."""
        return self.results[0] if self.results else self.op

    @property
    def reads(self) -> list[str]:
        """Names of the values among the arguments."""
        return _names([*self.args, *self.options.values()])


@dataclass(frozen=True)
class Nodes:
    """``inputs`` are given by the user, ``parameters`` by the file, as names of its weights."""

    inputs: tuple[str, ...]
    parameters: Mapping[str, str]
    nodes: tuple[TorchNode, ...]
    outputs: tuple[str, ...]
    metas: Mapping[str, Meta]

    @cached_property
    def readers(self) -> Counter[str]:
        """How many nodes read a value, by its name."""
        return Counter(name for node in self.nodes for name in {*node.reads})

    extents: Mapping[str, int]
    """Of the axes that are dynamic, by the names that torch gave them."""
    dynamic: Mapping[str, frozenset[int]]
    """Of inputs, the axes that are dynamic."""

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs in the program."""
        return ("output",) if len(self.outputs) == 1 else tuple(f"output{at}" for at in range(len(self.outputs)))

    def unknown(self, node: TorchNode) -> str:
        """An extent of the results of ``node`` that nobody knows before it runs, if there is one."""
        found = (self.metas[name].unknown for name in node.results if name in self.metas)
        return next(filter(None, found), "")


def inputs_of(archive: Archive) -> list[str]:
    """The names of the inputs that the user gives; raises `InputError` for one that is no tensor."""
    specs = archive.model["graph_module"]["signature"]["input_specs"]
    given = [each["user_input"]["arg"] for each in specs if "user_input" in each]
    return [_tensor(arg, f"input {number} of '{archive.path}'") for number, arg in enumerate(given)]


def nodes_of(archive: Archive, shapes: Mapping[str, tuple[int, ...]] | None = None) -> Nodes:
    """The nodes of ``archive``.

    ``shapes``: of inputs, by name, where these are not those of the capture; dynamic axes follow. Raises `FormatError`
    for what the schema does not have, and `InputError` for shapes that the module can not take and changes in place.
    """
    module = archive.model["graph_module"]
    graph, inputs, parameters = module["graph"], inputs_of(archive), dict[str, str]()
    for spec in module["signature"]["input_specs"]:
        ((kind, each),) = spec.items()
        if kind in _STORED:
            parameters[each["arg"]["name"]] = each[_STORED[kind]]
        elif kind != "user_input":
            raise FormatError(f"'{archive.path}' has an input of the kind {kind!r}, which step_torch does not know")
    tensors = dict(_tensors(graph))
    sizes = {name: each["sizes"] for name, each in tensors.items()}
    captured = archive.results[0].inputs if archive.results else []
    taken = {name: each.shape for name, each in zip(inputs, captured, strict=False)}
    for name in inputs:
        if name not in taken and name not in (shapes or {}):
            raise InputError(f"there is no data for input {name!r}: give inputs={{{name!r}: ...}}")
    limits = archive.model.get("range_constraints", {})
    extents = _bound({name: sizes[name] for name in inputs}, {**taken, **(shapes or {})}, limits)
    metas = {name: _meta(each, extents) for name, each in tensors.items()}
    for name, target in parameters.items():
        if archive.is_constant(target):
            metas[name] = replace(metas[name], numbers=archive.weights[target].tobytes())
    symbols = {name: extent_of(each, extents) for name, each in graph["sym_int_values"].items()}
    known = {name: each for name, each in symbols.items() if isinstance(each, int)}
    outputs = _outputs(archive, module["signature"]["output_specs"])
    nodes = needed([_node(each, known) for each in graph["nodes"]], outputs)
    dynamic = {name: frozenset(axis for axis, size in enumerate(sizes[name]) if "as_expr" in size) for name in inputs}
    return Nodes(tuple(inputs), parameters, nodes, outputs, metas, extents, dynamic)


def _tensors(graph: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Formats and extents by name, those of bodies of loops, too."""
    yield from graph["tensor_values"].items()
    for each in (each["arg"] for node in graph["nodes"] for each in node["inputs"]):
        if "as_graph" in each:
            yield from _tensors(each["as_graph"]["graph"])


def needed(nodes: Sequence[TorchNode], names: Sequence[str]) -> tuple[TorchNode, ...]:
    """Those of ``nodes`` that make the values ``names``: neither checks of torch nor what nobody reads."""
    wanted, found = set(names), list[TorchNode]()
    for node in reversed(nodes):
        if wanted.intersection(node.results):
            wanted.update(node.reads)
            found.insert(0, node)
    return tuple(found)


def _meta(read: Mapping[str, Any], extents: Mapping[str, int]) -> Meta:
    """An extent that nobody knows is none, and the name of the first of these is `Meta.unknown`."""
    shape = [extent_of(size, extents) for size in read["sizes"]]
    unknown = next((each for each in shape if isinstance(each, str)), "")
    known = tuple(each for each in shape if isinstance(each, int))
    return Meta(DTYPES.get(read["dtype"], f"format {read['dtype']} of torch"), known, unknown)


def _outputs(archive: Archive, specs: list[Mapping[str, Any]]) -> tuple[str, ...]:
    """The names of the results; raises `InputError` for a module that changes what it has or gets."""
    outputs = list[str]()
    for spec in specs:
        ((kind, each),) = spec.items()
        if kind != "user_output":
            changed = next((value for key, value in each.items() if key != "arg"), "")
            raise InputError(
                f"'{archive.path}' changes {changed!r} ({kind.replace('_', ' ')}), but a program has no state: "
                "return what is new as an output, and give it back as an input"
            )
        outputs.append(_tensor(each["arg"], f"output {len(outputs)} of '{archive.path}'"))
    return tuple(outputs)


def _tensor(arg: Mapping[str, Any], what: str) -> str:
    """The name of the tensor that ``arg`` is; raises `InputError`."""
    if "as_tensor" not in arg:
        ((kind, value),) = arg.items()
        shown = "None" if kind == "as_none" else f"{value!r}"
        raise InputError(f"{what} is {shown}: a program takes and gives tensors alone")
    return str(arg["as_tensor"]["name"])


_STORED = {"parameter": "parameter_name", "buffer": "buffer_name", "tensor_constant": "tensor_constant_name"}


def _bound(sizes: Mapping[str, Any], shapes: Mapping[str, Sequence[int]], limits: Mapping[str, Any]) -> dict[str, int]:
    """Extents of dynamic axes, from the shapes of the inputs; raises `InputError` for some beyond ``limits``."""
    extents, axes = dict[str, int](), list[tuple[str, Any, int]]()
    for name, declared in sizes.items():
        if len(shapes[name]) != len(declared):
            raise InputError(f"input {name!r} has {len(declared)} dimensions, not {len(shapes[name])}")
        pairs = enumerate(zip(declared, shapes[name], strict=True))
        axes += [(f"axis {axis} of input {name!r}", *pair) for axis, pair in pairs]
    for says, size, extent in axes:
        if "as_int" in size and size["as_int"] != extent:
            raise InputError(f"{says} is {size['as_int']} in all captures, not {extent}: name it in dynamic_shapes")
        symbol, value = solved(size, extent)
        if symbol and value is not None:
            extents.setdefault(symbol, value)
    for says, size, extent in axes:
        if (wanted := extent_of(size, extents)) != extent:
            other = f"{wanted}, as that of another input" if isinstance(wanted, int) else f"a whole {wanted}"
            raise InputError(f"{says} is {extent}, but must be {other}")
    for says, size, extent in axes:
        symbol, value = solved(size, extent)
        low, high = (limits.get(symbol, {}).get(name) for name in ("min_val", "max_val"))
        if value is not None and not (value if low is None else low) <= value <= (value if high is None else high):
            allowed = f"at least {low}" if high is None else f"{low} to {high}"
            raise InputError(f"{says} makes a dynamic extent {value}; its capture allows {allowed}")
    return extents


def _node(read: Mapping[str, Any], symbols: Mapping[str, int]) -> TorchNode:
    args = [(each["name"], each["kind"], _value(each["arg"], symbols)) for each in read["inputs"]]
    ordered = tuple(value for _, kind, value in args if kind == 1)
    named = {name: value for name, kind, value in args if kind != 1}
    results = tuple(_names([_value(each, {}) for each in read["outputs"]]))
    op, place = read["target"].removeprefix("torch.ops."), _place(read["metadata"])
    if _IN_PLACE.search(op):
        advice = "step_torch.capture(torch.export.load(path).module(), args, ..) takes that apart"
        raise InputError(f"{op} changes a tensor in place, at {place}: {advice}")
    return TorchNode(op, ordered, named, results, place)


def _value(read: Any, symbols: Mapping[str, int]) -> Any:
    """An argument or a result: a value of a node, which is a number where ``symbols`` has it, or one by itself."""
    match read:
        case list():
            return [_value(each, symbols) for each in read]
        case {"name": name}:
            return Ref(name)
        case {"as_name": name}:
            return symbols.get(name, Ref(name))
        case {"as_graph": {"graph": graph}}:
            inputs, outputs = (tuple(_tensor(each, "a loop") for each in graph[end]) for end in ("inputs", "outputs"))
            return Body(inputs, needed([_node(each, symbols) for each in graph["nodes"]], outputs), outputs)
        case {"as_none": _}:
            return None
        case {"as_float": number}:  # infinities and NaN are texts
            return float(number)
        case {"as_scalar_type": number}:
            return DTYPES.get(number)
        case {**parts} if len(parts) == 1:
            (value,) = parts.values()
            return _value(value, symbols)
        case _:
            return read


def _names(values: Sequence[Any]) -> list[str]:
    """The names of the values of nodes among ``values``."""
    flat = [each for value in values for each in (value if isinstance(value, list) else [value])]
    return [each.name for each in flat if isinstance(each, Ref)]


def _place(metadata: Mapping[str, str]) -> Origin:
    frame = _FRAME.search(metadata.get("stack_trace", ""))
    stack = metadata.get("nn_module_stack", "").split(";")[-1].split(",")
    location = Location(frame[1], int(frame[2])) if frame else UNKNOWN_LOCATION
    return Origin(location, stack[1] if len(stack) > 1 else "")

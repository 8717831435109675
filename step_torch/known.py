"""Results of a captured program that no argument decides, or one number alone: computed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, fx
from torch.export.graph_signature import InputKind, InputSpec, TensorArgument

WEIGHTS = (InputKind.PARAMETER, InputKind.USER_INPUT)
"""What a file has as it is: all else that is read is computed as far as it can be."""


def compute_known(program: torch.export.ExportedProgram, number: fx.Node | None = None, count: int = 1) -> None:
    """Compute once what no argument decides, and store it: masks, tables and biases of positions.

    What ``number`` alone decides, an input below ``count``, becomes a table with a row for all that it may be; rows of
    a table by the number itself stay as they are.
    """
    graph, aten = program.graph, torch.ops.aten
    known, made = {*constants_of(program)}, list[fx.Node]()
    found: dict[fx.Node, Sequence[Any]] = {node: [data] for node, data in constants_of(program, ()).items()}
    if number is not None:
        known.add(number)
        found[number] = torch.arange(count).view(-1, *number.meta["val"].shape)
    calls = [node for node in graph.nodes if node.op == "call_function"]
    for node in calls:
        reads = set(node.all_input_nodes)
        is_row = node.target is aten.embedding.default and node.args[1] is number
        if reads - found.keys() or (reads and not reads & known) or is_row or _is_random(node):
            continue
        many = max((len(found[each]) for each in reads), default=1)
        given = ({each: found[each][at % len(found[each])] for each in reads} for at in range(many))
        found[node] = [called(node, each) for each in given]
        if node.target.__name__.startswith("empty"):
            found[node][0].zero_()  # it holds anything, which would be stored
        known.add(node)
        made.append(node)
    tables = dict[tuple[str, bytes], fx.Node]()  # layers have those that are equal together
    for node in made:
        if known.issuperset(node.users) or not isinstance(found[node][0], Tensor):
            continue
        if len(found[node]) == 1:
            new = stored(program, node, found[node][0])
        else:
            assert number is not None
            data, like = torch.stack([*found[node]]).flatten(1), node.meta["val"]
            key = f"{like.dtype} {[*like.shape]}", data.double().numpy().tobytes()
            if key not in tables:
                table = stored(program, node, data)
                with graph.inserting_before(calls[0]):
                    row = graph.call_function(aten.embedding.default, (table, number))
                    tables[key] = graph.call_function(aten.view.default, (row, [*like.shape]))
                row.meta["val"] = like.new_empty((*number.meta["val"].shape, data.shape[1]))
                tables[key].meta["val"] = like
            new = tables[key]
        node.replace_all_uses_with(new, delete_user_cb=lambda user: user not in known)
        for spec in program.graph_signature.output_specs:
            if spec.arg.name == node.name:
                spec.arg = TensorArgument(name=new.name)
    for node in graph.find_nodes(op="call_function", target=aten._assert_tensor_metadata.default):
        graph.erase_node(node)


def called(node: fx.Node, known: Mapping[fx.Node, Any]) -> Any:
    """The result of ``node``, all of whose operands are ``known``."""
    args, options = (fx.node.map_arg(each, known.get) for each in (node.args, node.kwargs))
    return node.target(*args, **options)


def constants_of(program: torch.export.ExportedProgram, but: Sequence[InputKind] = WEIGHTS) -> dict[fx.Node, Tensor]:
    """The data of ``program``, by its nodes, ``but`` for those of some kinds."""
    data = {**program.state_dict, **program.constants}
    given = zip(program.graph.find_nodes(op="placeholder"), program.graph_signature.input_specs, strict=True)
    return {node: data[spec.target] for node, spec in given if spec.target is not None and spec.kind not in but}


def stored(program: torch.export.ExportedProgram, node: fx.Node, data: Tensor) -> fx.Node:
    """A constant of ``program`` that has ``data``, called after ``node``."""
    specs = program.graph_signature.input_specs
    place = next((at for at, spec in enumerate(specs) if spec.kind is InputKind.USER_INPUT), len(specs))
    with program.graph.inserting_before(program.graph.find_nodes(op="placeholder")[place]):
        constant = program.graph.placeholder(f"known_{node.name}")
    constant.meta = {"val": node.meta["val"].new_empty(data.shape, dtype=data.dtype)}
    program.constants[constant.name] = data.clone()
    spec = InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(name=constant.name), constant.name)
    specs.insert(place, spec)
    return constant


def _is_random(node: fx.Node) -> bool:
    return torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())

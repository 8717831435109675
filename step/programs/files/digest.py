"""Digests of programs, data and fabrics; they do not change with names of files, comments or source lines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from step.language.graph import Graph
from step.language.stream import Stream
from step.lowering.fabric import FabricConfig
from step.programs.data.inputs import BoundInputs
from step.programs.data.npz import arrays_of


def graph_digest(graph: Graph) -> str:
    """Digest of the operators of ``graph`` with their names, parameters, inputs, depths, hops and types."""
    text = "\n".join(
        f"{node.name} {node.operator!r} {[_channel(each) for each in node.inputs]} "
        f"{[str(each) for each in node.output_types]}"
        for node in graph
    )
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _channel(stream: Stream) -> tuple[Any, ...]:
    """The channel that a reader of ``stream`` asks for."""
    asked = *stream.key, stream.depth
    return asked if stream.hops is None else (*asked, stream.hops)


def data_digest(graph: Graph, data: BoundInputs) -> str:
    """Digest of all values in ``data`` for ``graph``."""
    digest = hashlib.sha256()
    for name, array in sorted(arrays_of(graph, data).items()):
        digest.update(f"{name} {array.dtype} {array.shape}\n".encode())
        alike = array.size and not any(array.strides)  # one value in all places, as blank weights of gigabytes have it
        digest.update(array.flat[0].tobytes() if alike else array.tobytes())
    return digest.hexdigest()[:16]


def fabric_digest(fabric: FabricConfig, depths: Mapping[str, int]) -> str:
    """Digest of all parameters of ``fabric``, its memory too, and of the ``depths`` of channels."""
    plain = json.dumps([fabric.to_json(), dict(depths)], sort_keys=True)
    return hashlib.sha256(plain.encode()).hexdigest()[:16]

"""The Python that runs a board without this project (`cosim/board/host`), and what it has to know of the program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cosim.board.tables import StreamTable, Tables, TensorTable
from step.language.types import Selector
from step.lowering.links import leaves

HOST = Path(__file__).parent / "host"


def write_host(directory: Path) -> None:
    """Write ``host/`` into ``directory``."""
    (directory / "host").mkdir()
    for source in sorted(HOST.iterdir()):
        if source.is_file():
            (directory / "host" / source.name).write_text(source.read_text())


def host_tables(tables: Tables) -> dict[str, Any]:
    """Names, shapes and types of tensors and streams, by their numbers in the driver.

    The shape of a tensor that only the run tells begins with 0. An extent is None where a length says it, and the rows
    of a part are 0 there.
    """
    return {
        "fabric": tables.name,
        "tensors": [_tensor(tables, each) for each in tables.tensors],
        "streams": [_stream(each) for each in tables.streams],
    }


def _tensor(tables: Tables, tensor: TensorTable) -> dict[str, Any]:
    declared = tables.netlist.graph.tensors.get(tensor.access.tensor or "")
    shape = (tensor.outer, tensor.height, tensor.width) if declared is None else declared.shape
    kind = {"read": declared is not None, "stored": tensor.is_stored}
    return {"name": tensor.name, "shape": list(shape), "dtype": tensor.access.tile.dtype.name, **kind}


def _stream(stream: StreamTable) -> dict[str, Any]:
    plan, kinds = stream.stream.plan, [_kind(each) for each in leaves(stream.element)]
    return {
        "name": stream.name,
        "read": stream.stream.is_source,
        "stored": False,
        "extents": list(plan.extents),
        "rows": plan.rows,
        "parts": [(each.rows, each.columns, kind) for each, kind in zip(stream.parts, kinds, strict=False)],
    }


def _kind(element: Any) -> str:
    return "SELECTOR" if isinstance(element, Selector) else str(element.dtype.name)

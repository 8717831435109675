"""Streamify: reads by reference, so many times or once, in order or with strides."""

from __future__ import annotations

from math import prod

from contract.bufferize import stored
from contract.draft import Draft


def contract(draft: Draft) -> None:
    x, rank = stored(draft)
    out, stride = None, None
    dims = x.shape[-rank:]
    if all(each.is_static and int(each) for each in dims) and draft.flag():
        last = prod(map(int, dims)) - 1
        out, stride = [], []
        for _ in range(draft.number(1, 2)):
            extent = draft.number(1, 3)
            step = draft.number(0, last // (extent - 1)) if extent > 1 else 0
            last -= (extent - 1) * step
            out.append(extent)
            stride.append(step)
    buffers = x.bufferize(rank=rank)
    how = draft.one_of("once", "count", "reference")
    if how == "count":
        draft.sink(buffers.streamify(count=draft.number(1, 3), out=out, stride=stride))
        return
    reference = None
    if how == "reference":
        reference = draft.twin(x, draft.element(), len(x.shape) - rank)
        if draft.flag():
            reference = reference.repeat(draft.number(1, 3))
    draft.sink(buffers.streamify(reference, out=out, stride=stride))

"""Whether a captured step is the same behind as many rows as there are in its caches, as a program takes it to be."""

from __future__ import annotations

import re

import torch
from torch import Tensor
from torch.export import ExportedProgram

from step.errors import InputError
from step_torch.by_hand import SAME
from step_torch.known import constants_of
from step_torch.masks import NEVER

_LINE = re.compile(r'"(.*)", line (\d+)')

_MASKS = {torch.ops.step.attention.default: 4, torch.ops.aten.scaled_dot_product_attention.default: 3}
"""Operators that read masks, and as which argument."""


def check_lengths(name: str, program: ExportedProgram, shorter: ExportedProgram) -> None:
    """Raise `InputError` where a step of the model ``name`` has not the numbers of the one behind a row less."""
    known = {**constants_of(program), **constants_of(shorter)}
    for pair in zip(program.graph.nodes, shorter.graph.nodes, strict=False):
        one, _ = pair
        mine, other = (known.get(each) for each in pair)
        if mine is not None and other is not None:
            is_mask = all(each.args[_MASKS.get(each.target, len(each.args)) :][:1] == (one,) for each in one.users)
            is_same = torch.equal(mine, other) or (is_mask and (not one.users or _is_shorter(mine, other)))
        else:
            is_same = len({each.target for each in pair}) == 1
            is_same &= one.target in SAME or len({str((each.args, each.kwargs)) for each in pair}) == 1
        if not is_same:
            lines = (_LINE.search(each.meta.get("stack_trace", "")) for each in (one, *one.users))
            place = next((f" at {line[1]}:{line[2]}" for line in lines if line), "")
            raise InputError(
                f"{name} does something else{place} behind another number of tokens: a step can be told that by "
                "position_ids alone"
            )


def _is_shorter(mask: Tensor, other: Tensor) -> bool:
    """Whether ``other`` is the ``mask`` of a row less: it hides what is as far away, and numbers begin at an end."""
    one, two = (torch.where(each, 0.0, NEVER) if each.dtype == torch.bool else each for each in (mask, other))
    ends = one[..., 1:], one[..., :-1]
    return torch.equal(ends[0] <= NEVER, two <= NEVER) and any(torch.equal(each, two) for each in ends)

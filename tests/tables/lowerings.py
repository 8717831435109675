"""docs/lowerings.md: the operators of PyTorch that an import takes."""

from __future__ import annotations

import inspect

from step_torch.registry import lowerings

TITLE = """# Operators of PyTorch

**Which operators of PyTorch does an import take?**

Written by `PYTHONPATH=tests python -m tables` from the code; do not edit. An [import](torch.md) takes these operators,
each by a function of the file beside it; a capture takes all others apart, or they are errors. `step.attention` and
`step.experts` are the marks that a capture puts in the place of attention and of routed experts.

| operator | what | lowering |
|---|---|---|"""


def lowerings_page() -> str:
    found = []
    for op, lowering in sorted(lowerings().items()):
        said = (inspect.getdoc(lowering) or "").splitlines()[0]
        family = lowering.__module__.rpartition(".")[2]
        found.append((family, f"| `{op}` | {said} | [{family}](../step_torch/lowerings/{family}.py) |"))
    return "\n".join([TITLE, *(line for _, line in sorted(found)), ""])

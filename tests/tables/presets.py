"""docs/presets.md: the parameters of every preset of off-chip memory."""

from __future__ import annotations

from dataclasses import fields

from step.lowering.dram import PRESETS, Dram

TITLE = """# Presets of memory

**Which timings do memories have?**

Written by `PYTHONPATH=tests python -m tables` from the code; do not edit. [Off-chip memory](memory.md#presets) has
their sources. Times are in clocks of the DRAM; a fabric has 1 GHz (`fabric_ps`).
"""


def presets_page() -> str:
    presets = {name: preset for name, preset in PRESETS.items() if preset.dram is not None}
    rows = [("parameter", *(f"`{name}`" for name in presets)), ("---",) * (len(presets) + 1)]
    rows.append(("`channels`", *(str(preset.channels) for preset in presets.values())))
    rows += [
        (f"`{each.name}`", *(str(getattr(preset.dram, each.name)) for preset in presets.values()))
        for each in fields(Dram)
    ]
    return "\n".join([TITLE, *(f"| {' | '.join(row)} |" for row in rows), ""])

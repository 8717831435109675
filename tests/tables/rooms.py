"""docs/rooms.md: every room of the project, by the docstring of its package."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
FLOORS = (
    *("step", "step_models", "step_torch", "hw", "sim_approx", "cosim"),
    *("step_explore", "step_check", "step_show", "step_cli"),
)
TITLE = """# Rooms

**What does each package hold?**

Written by `PYTHONPATH=tests python -m tables` from the code; do not edit. [The architecture](architecture.md) says how
they fit together.

| room | holds |
|---|---|"""


def rooms_page() -> str:
    found = [each for floor in FLOORS for each in (ROOT / floor, *sorted((ROOT / floor).iterdir()))]
    packages = [each for each in found if (each / "__init__.py").is_file() and _says(each)]
    return "\n".join([TITLE, *(f"| `{each.relative_to(ROOT)}` | {_says(each)} |" for each in packages), ""])


def _says(package: Path) -> str:
    """The first paragraph of the docstring in a line, with code as Markdown has it."""
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""
    return " ".join(text.partition("\n\n")[0].split()).replace("``", "`").replace("|", "\\|")

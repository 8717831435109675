"""docs/torch.md: its table is that of the lowerings, and its capture gives the file that it goes on with."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

import pytest

import step
from step_torch.archive import read_archive
from step_torch.registry import lowerings

ROOT = Path(step.__file__).parents[1]
PAGE = ROOT / "docs" / "torch.md"
STORED = ROOT / "tests" / "step_torch" / "captured" / "page.pt2"


def rows() -> list[str]:
    """A line for every operator, by the files of their lowerings."""
    found = []
    for op, lowering in lowerings().items():
        said = (inspect.getdoc(lowering) or "").splitlines()[0]
        family = lowering.__module__.rpartition(".")[2]
        found.append((family, f"| `{op}` | {said} | [{family}](../step_torch/lowerings/{family}.py) |"))
    return [line for _, line in sorted(found)]


def test_the_table_of_operators() -> None:
    assert [line for line in PAGE.read_text().splitlines() if re.match(r"\| `(aten|step)\.", line)] == rows()


@pytest.mark.torch
def test_the_layer_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The block that captures, run where torch is, gives the file that the page goes on with."""
    pytest.importorskip("torch")
    block = re.findall(r"```python\n(import torch.*?)```", PAGE.read_text(), re.DOTALL)[0]
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "model.py", "exec"), {"__name__": "page"})
    models = [read_archive(path).model for path in (STORED, Path("model.pt2"))]
    assert models[0]["graph_module"] == models[1]["graph_module"]


if __name__ == "__main__":
    sys.stdout.write("\n".join(rows()) + "\n")

"""docs/torch.md: its table is that of the lowerings, and its capture gives the file that it goes on with."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

import pytest

import step
from step_torch.registry import lowerings

ROOT = Path(step.__file__).parents[1]
PAGE = ROOT / "docs" / "torch.md"


def rows() -> list[str]:
    """A line for every operator, by the files of their lowerings."""
    found = []
    for op, lowering in lowerings().items():
        said = (inspect.getdoc(lowering) or "").splitlines()[0]
        family = lowering.__module__.rpartition(".")[2]
        found.append((family, f"| `{op}` | {said} | [{family}](../step_torch/lowerings/{family}.py) |"))
    return [line for _, line in sorted(found)]


def test_the_table_of_operators() -> None:
    assert [
        line for line in PAGE.read_text().splitlines() if "../step_torch/lowerings/" in line and "| `" in line
    ] == rows()


def captured() -> str:
    """The block of the page that captures a layer."""
    (block,) = [
        each for each in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if "import torch" in each
    ]
    return block


@pytest.mark.torch
def test_the_layer_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from step_torch.archive import read_archive

    monkeypatch.chdir(tmp_path)
    exec(compile(captured(), str(PAGE), "exec"), {})
    stored = read_archive(ROOT / "tests" / "step_torch" / "captured" / "page.pt2")
    ops = [
        [node["target"] for node in each.model["graph_module"]["graph"]["nodes"]]
        for each in (stored, read_archive("model.pt2"))
    ]
    assert ops[0] == ops[1]


if __name__ == "__main__":
    sys.stdout.write("\n".join(rows()) + "\n")

"""docs/torch.md: its capture gives the file that it goes on with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import step
from step_torch.archive import read_archive

ROOT = Path(step.__file__).parents[1]
PAGE = ROOT / "docs" / "torch.md"
STORED = ROOT / "tests" / "step_torch" / "captured" / "page.pt2"


@pytest.mark.torch
def test_the_layer_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The block that captures, run where torch is, gives the file that the page goes on with."""
    pytest.importorskip("torch")
    block = re.findall(r"```python\n(import torch.*?)```", PAGE.read_text(), re.DOTALL)[0]
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "model.py", "exec"), {"__name__": "page"})
    models = [read_archive(path).model for path in (STORED, Path("model.pt2"))]
    assert models[0]["graph_module"] == models[1]["graph_module"]

"""Tests that import torch and transformers, which takes seconds, are read only where they are asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

TORCH = (
    "test_blocks_of_torch.py", "test_capturing.py", "test_marks.py", "test_pretrained.py", "test_unlike_models.py",
)  # fmt: skip


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if collection_path.name in TORCH and "not torch" in config.option.markexpr else None

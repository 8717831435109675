"""Tests that import torch and transformers, which takes seconds, are read only where they are asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

TORCH = ("test_capturing.py", "test_marks.py", "test_pretrained.py", "test_unlike_models.py")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if collection_path.name in TORCH and "not torch" in config.option.markexpr else None

"""Tests that import torch and transformers, which takes seconds, are read only where they are asked for."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if collection_path.suffix != ".py" or "not torch" not in config.option.markexpr:
        return None
    return True if "pytestmark = pytest.mark.torch" in collection_path.read_text(encoding="utf-8") else None

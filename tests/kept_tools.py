"""A cold cache with warm tools: those made of WebAssembly are translated once for a machine, which takes a minute."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from step.host.files import cache_directory, tool_environment


def cold_cache(directory: Path) -> Path:
    """Make the cache ``directory``, empty but for the tools of the present one."""
    tools = cache_directory() / "tools"
    tools.mkdir(exist_ok=True)
    directory.mkdir(parents=True)
    (directory / "tools").symlink_to(tools)
    return directory


@contextmanager
def caching_tools() -> Iterator[None]:
    """Tools that others start inside of the body keep what they make where those of the toolkit do."""
    (cache_directory() / "tools").mkdir(exist_ok=True)
    with mock.patch.dict(os.environ, tool_environment()):
        yield

"""A cold cache with warm tools: those made of WebAssembly are translated once for a machine, which takes a minute."""

from __future__ import annotations

from pathlib import Path

from step.host.files import cache_directory


def cold_cache(directory: Path) -> Path:
    """Make the cache ``directory``, empty but for the tools of the present one."""
    tools = cache_directory() / "tools"
    tools.mkdir(exist_ok=True)
    directory.mkdir(parents=True)
    (directory / "tools").symlink_to(tools)
    return directory

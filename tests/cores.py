"""FuseSoC runs a target of a core in a folder that was written, with the tools of PyPI."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cosim.building.toolchain import find_toolchain
from cosim.building.wrappers import write_wrappers


def run_target(
    folder: Path, core: str, target: str, directory: Path, *options: str, only_set_up: bool = False
) -> subprocess.CompletedProcess[str]:
    """``fusesoc run`` in ``directory``, with ``options`` of the tool, which runs in the folder ``work``."""
    pytest.importorskip("fusesoc", reason="fusesoc is not installed")
    tools = find_toolchain()
    if not (directory / "bin").exists():
        write_wrappers(directory)
    path = [str(directory / "bin"), str(Path(sys.executable).parent), tools.environment["PATH"]]
    environment = {**tools.environment, "PATH": os.pathsep.join(path), "HOME": str(directory)}
    command = [sys.executable, "-m", "fusesoc.main", "--cores-root", str(folder), "run", f"--target={target}"]
    command += ["--setup"] * only_set_up
    return subprocess.run(
        [*command, "--work-root", "work", core, *options],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

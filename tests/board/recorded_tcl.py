"""Scripts for vendors' tools, played by `tclsh`: commands of a tool are told, and give back their first argument."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

TCLSH = shutil.which("tclsh")
needs_tcl = pytest.mark.skipif(TCLSH is None, reason="needs Tcl (Debian: apt install tcl)")

_PRELUDE = """
package provide qsys 18.1
proc unknown {args} {
  set words [lmap each $args {string map [list "\\n" " "] $each}]
  puts [join $words "\\x1f"]
  return [lindex $args 1]
}
set argv {}
source [lindex $::scripts 0]
"""


def recorded(script: Path) -> list[list[str]]:
    """Commands of ``script`` that are not those of Tcl, with their arguments, in their order."""
    prelude = script.with_name("recorded.tcl")
    prelude.write_text(f"set scripts [list {{{script}}}]\n{_PRELUDE}")
    done = subprocess.run([str(TCLSH), str(prelude)], capture_output=True, text=True, check=False)
    prelude.unlink()
    assert done.returncode == 0, done.stderr
    return [line.split("\x1f") for line in done.stdout.splitlines()]


def option(command: list[str], name: str) -> str:
    """The value of the option ``name``."""
    return command[command.index(name) + 1]

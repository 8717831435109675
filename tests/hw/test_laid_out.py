"""Combinational blocks of what is emitted: one assignment of a signal, and nothing that has nothing to wait for."""

import shutil
import subprocess
from pathlib import Path

import pytest

from hw.verilog.laid_out import laid_out

MODULE, CROSSED, BENCH = (
    (Path(__file__).parent / "spelling" / f"crossed{end}.sv").read_text() for end in ("", "_laid_out", "_bench")
)


def test_a_signal_gets_its_value_in_one_step() -> None:
    assert laid_out(MODULE).rstrip().endswith(CROSSED)


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="no Icarus Verilog")
def test_icarus_comes_to_rest(tmp_path: Path) -> None:
    """Bits of x and y depend on one another in turn; with two assignments each, Icarus 11 goes round for ever."""
    (tmp_path / "all.sv").write_text(laid_out(MODULE) + BENCH)
    subprocess.run(["iverilog", "-g2012", "-o", "all", "all.sv"], cwd=tmp_path, check=True, capture_output=True)
    ran = subprocess.run(["vvp", "-n", "all"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ran.stdout.splitlines()[-1] == "10 0100 100"

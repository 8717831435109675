"""Combinational blocks of what is emitted: one assignment of a signal, and nothing that has nothing to wait for."""

import shutil
import subprocess
from pathlib import Path

import pytest

from cosim.building.toolchain import find_toolchain
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


def test_a_line_that_verilator_refuses_goes_on_in_the_next_one(tmp_path: Path) -> None:
    """One of more than 40,000 words, as where 512 sums are lengthened."""
    bits = ", ".join(["x"] * 45_000)
    text = "module long(x, y);\n  input x;\n  wire x;\n  output [44999:0] y;\n  wire [44999:0] y;\n"
    written = laid_out(f"{text}  assign y = {{ {bits} }};\nendmodule\n")
    assert max(map(len, written.splitlines())) < 3000
    (tmp_path / "long.sv").write_text(written)
    tools = find_toolchain()
    command = [str(tools.verilator.path), "--lint-only", "-Wno-DECLFILENAME", "long.sv"]
    done = subprocess.run(command, cwd=tmp_path, env=tools.environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")

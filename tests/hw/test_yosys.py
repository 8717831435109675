"""Yosys in this process: what it says where it fails, and processes that are forked from this one."""

from __future__ import annotations

import os

import pytest
from amaranth._toolchain.yosys import YosysError

from hw.verilog.yosys import run_yosys

MODULE = "read_rtlil <<rtlil\nmodule \\{}\n  wire input 1 \\x\nend\nrtlil\nwrite_verilog -sv\n"


def test_a_failure() -> None:
    with pytest.raises(YosysError, match=r"^ERROR: Parser error in line 2: syntax error$"):
        run_yosys(MODULE.format("m").replace("wire", "wires"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no processes that are forked")
def test_a_process_that_is_forked() -> None:
    """It has none of the threads of this one, some of which Yosys would wait for."""
    expected = run_yosys(MODULE.format("m"))
    assert "module m(x);" in expected
    child = os.fork()
    if child == 0:
        os._exit(int(run_yosys(MODULE.format("m")) != expected))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

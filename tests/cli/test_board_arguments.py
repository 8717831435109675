"""``step board`` says what is wrong with its arguments, and writes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cases import cases

pytest.importorskip("peakrdl_regblock", reason="needs PeakRDL: pip install 'step-fabric[board]'")

from commanding import Step


@cases(
    (["--base", "0x1004"], "--base must be an address >= 0 and a multiple of 4096, not 0x1004"),
    (["--base", "-4096"], "--base must be an address >= 0 and a multiple of 4096, not -0x1000"),
    (["--masters", "0"], "bus.masters must be an integer >= 1, not 0"),
    (["--bytes", "1", "--burst", "8"],
     "a burst of 8 transfers of 1 bytes does not hold a beat of memory.beat_bytes = 32"),
    (["--address-bits", "12"], "the images end at 0x3000, beyond the 12 bits of addresses; give more --address-bits"),
    (["--set", "memory.masters=4"], "4 masters are too many: program 'softmax' has 3 memory ports"),
    (["--address-bits", "32", "--base", "0xfffff000"],
     "the images end at 0x100002000, beyond the 32 bits of addresses; choose a lower --base"),

    (["--set", "fabric.arithmetic=model"],
     'arithmetic="model" can only be simulated; Verilog for synthesis needs arithmetic="rtl"'),
    (["--target", "litex", "--bytes", "4"], "--target litex takes buses of 8 to 64 bytes, not 4: give --bytes 32"),
    (["--target", "litex", "--bytes", "128"], "--target litex takes buses of 8 to 64 bytes, not 128: give --bytes 32"),
    (["--target", "litex", "--streams", "edge"], "--target litex has nobody at the edge: leave out --streams edge"),
    (["--target", "litex", "--base", "0"], "--target litex has memory at 0x40000000: leave out --base"),
    (["--target", "litex", "--bus-clock", "200"], "--target litex has one clock: leave out --bus-clock"),
    (["--target", "litex", "--protocol", "axi3"], "--target litex has AXI4: leave out --protocol axi3"),
    (["--target", "litex", "--reset", "low"], "--target litex has a reset that is active high: leave out --reset low"),
    (["--protocol", "axi3", "--burst", "32"], "bus.burst must be a power of two of at most 16, not 32"),
    (["--bus-clock", "0"], "--bus-clock must be at least 1, not '0'"),
    (["--tlast", "1"], "--tlast is for AXI4-Stream ports: it needs --streams edge"),
    (["--tlast", "1", "--streams", "edge"], "--tlast 1 is beyond the stops of all sinks, of 0 at most"),
    (["--target", "vitis", "--protocol", "axi3"], "--target vitis has AXI4: leave out --protocol axi3"),
    (["--target", "u55c", "--streams", "edge"], "--target u55c has nobody at the edge: leave out --streams edge"),
    (["--target", "pynq-z2", "--base", "0xfffff000"],
     "the images end at 0x100002000, beyond the 32 bits of addresses; choose a lower --base"),
    (["--batch", "docs/board.md"], "--batch is for firmware: it needs --target litex"),
    (["--bytes", "48"], "bus.bytes must be a power of two of at most 128, not 48"),
)  # fmt: skip
def test_arguments(arguments: list[str], said: str, step: Step, tmp_path: Path, monkeypatch: Any) -> None:
    """Before anything is built or run."""
    monkeypatch.setattr("cosim.board.folder.board_design", None)
    monkeypatch.setattr("cosim.board.folder.interpret", None)
    result = step("board", "examples/softmax.py", "-o", tmp_path / "board", *arguments)
    assert result.code and result.err == f"error: {said}\n"
    assert not (tmp_path / "board").exists()


def test_tensors_beyond_the_addresses(step: Step, tmp_path: Path) -> None:
    result = step("board", "examples/recirculate.py", "-o", tmp_path / "board", "--address-bits", "12")
    told = "the tensors of program 'recirculate' take 6,656 bytes, more than bus.address_bits = 12 reach"
    assert result.code and result.err == f"error: {told}\n"

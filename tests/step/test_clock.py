"""Clocks of fabrics, and time and power by them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from cases import cases
from commanding import Step

import step
from step.errors import FabricError, InputError
from step.lowering.fabric import FabricConfig, with_settings
from step.lowering.off_chip import MemoryConfig
from step.programs.program import Program, load_program

SOFTMAX = Path(__file__).parents[2] / "examples" / "softmax.py"
DRAM = MemoryConfig.preset("hbm2")


def clocked(program: Program, *settings: str) -> Program:
    return replace(program, fabric=with_settings(program.fabric, settings))


def test_time_is_cycles_by_the_clock() -> None:
    run = step.run(clocked(load_program(str(SOFTMAX)), "mhz=107"), "approx")
    assert run.seconds == run.cycles / 107e6
    assert run.watts == pytest.approx(float(run.energy.total) * 1e-12 / run.seconds)
    with pytest.raises(InputError) as error:
        _ = step.run(SOFTMAX, "approx").seconds
    assert str(error.value) == "the fabric of softmax has no clock; state one: FabricConfig(mhz=100)"


def test_a_clock_is_said_once() -> None:
    """In the settings, as that of a machine, or as that which DRAM has: its times are cycles by that."""
    for settings, nanoseconds in ((["mhz=100"], 10), (["mhz=62.5MHz"], 16), (["machine=U55C@250MHz"], 4)):
        fabric = with_settings(FabricConfig(), settings)
        assert fabric.seconds(1000) == pytest.approx(1000e-9 * nanoseconds)
        assert FabricConfig.from_json(fabric.to_json()) == fabric
    slower = with_settings(FabricConfig(memory=DRAM), ["fabric.mhz=250"])
    assert slower.mhz is None and slower.memory.dram is not None and slower.memory.dram.fabric_ps == 4000
    assert FabricConfig(memory=DRAM).seconds(1000) == 1e-6 and slower.seconds(1000) == 4e-6
    assert FabricConfig().seconds(1) is None and "mhz" not in FabricConfig().to_json()


@cases(
    (lambda: FabricConfig(mhz=0.5), "mhz must be a number >= 1 or None, not 0.5"),
    (lambda: with_settings(FabricConfig(), ["mhz=fast"]),
     "mhz must be a number of Hz, or of MHz without a unit, such as 250MHz, not 'fast'"),
    (lambda: with_settings(FabricConfig(memory=DRAM), ["mhz=0"]), "mhz must be a number >= 1, not 0"),
    (lambda: FabricConfig(mhz=100, memory=DRAM),
     "mhz is 1000 by memory.dram.fabric_ps = 1000: leave it out, or change that"),
    (lambda: with_settings(FabricConfig.on("U280"), ["mhz=100"]),
     "the clock of a machine is said with it: machine=U280@100"),
)  # fmt: skip
def test_bad_clocks(make: object, text: str) -> None:
    with pytest.raises(FabricError) as error:
        make()  # type: ignore[operator]
    assert str(error.value) == text


def test_what_is_faster_in_time() -> None:
    """Deep arithmetic takes more cycles, and less time where the clock that it reaches is half as fast again."""
    program = load_program(str(SOFTMAX))
    clocks = {1: 60, 4: 100}
    rows = [
        step.sweep(clocked(program, f"mhz={mhz}"), {"fabric.stages": [stages]}, objectives=["time"], jobs=1).rows[0]
        for stages, mhz in clocks.items()
    ]
    for row, mhz in zip(rows, clocks.values(), strict=True):
        assert row.cycles and row.energy and row.time == pytest.approx(1000 * row.cycles / mhz)
        assert row.power == pytest.approx(row.energy / row.time, abs=1e-6)
    swept = step.sweep(program, {"fabric.mhz": [100, 200]}, objectives=["time", "lut_sites"], jobs=1)
    assert swept.best("time").point == {"fabric.mhz": 200} and len(swept.front) == 1
    tuned = step.tune(clocked(program, "mhz=50"), {"fabric.stages": [1, 4]}, objectives=["time"], within=None, jobs=1)
    assert tuned.best().time == min(row.time or 0 for row in tuned.rows)
    with pytest.raises(InputError) as error:
        step.sweep(program, {"fabric.stages": [1, 4]}, objectives=["time"], jobs=1)
    assert str(error.value) == "the objective time needs a clock, such as the setting fabric.mhz=100"


def test_the_verbs_say_time(step: Step) -> None:
    said = step("run", SOFTMAX, "--backend", "approx", "--set", "fabric.mhz=50").ok()
    assert "\n214 cycles are 4.28 µs at 50 MHz\n" in said
    swept = step(
        "sweep", SOFTMAX, "--over", "fabric.stages=1,4", "--set", "fabric.mhz=50", "--objective", "time,power"
    ).out
    assert " time " in swept and "4.28 µs" in swept and "W " in swept
    assert " time " not in step("sweep", SOFTMAX, "--over", "fabric.stages=1,4").out

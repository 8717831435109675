"""`simulate`: exact cycles, the ends of a run, waves, and what is reported when things break."""

from __future__ import annotations

import errno
import os
import re
import signal
import tempfile
from pathlib import Path

import numpy as np
import pytest
from designs import DONE, memory_ports, nothing, pass_through, payload
from raising import raising

from cosim.building import toolchain
from cosim.running.bench_run import run_directory, simulate
from step.errors import EnvironmentProblem, FormatError, InputError, SimulationError


def test_every_event_of_a_pass_through(tmp_path):
    tokens = [payload(3), payload(4, stop=1), DONE]
    run = simulate(pass_through(tmp_path), sources={"a": tokens})
    assert run.status == "finished"
    assert run.sinks == {"b": tokens}
    # offered and entering the first channel in 0, 1, 2; through the unit in 1, 2, 3; taken in 2, 3, 4
    assert run.enters.tolist() == [(0, 0, 2), (1, 0, 6), (1, 1, 2), (2, 0, 1), (2, 1, 6), (3, 1, 1)]
    assert run.leaves.tolist() == [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (4, 1)]
    assert (run.cycles, run.simulated) == (5, 25)  # until nothing moved for the design's settling cycles
    assert run.activity.tolist() == [[1, 3, 0, 1]]
    assert run.last_activity.tolist() == [3]
    assert (run.tokens.tolist(), run.peak.tolist(), run.level.tolist()) == ([3, 3], [1, 1], [0, 0])
    assert run.faults == []


@pytest.mark.parametrize("bits", [1, 29, 61, 125, 4096])
def test_any_width(tmp_path, bits):
    ones = (1 << bits) - 1
    tokens = [payload(value) for value in (ones, 0, ones // 3, ones - ones // 5)] + [DONE]
    tokens = [token & (1 << bits + 3) - 1 for token in tokens]
    assert simulate(pass_through(tmp_path, bits), sources={"a": tokens}).sinks == {"b": tokens}


def test_log_can_be_off(tmp_path):
    run = simulate(pass_through(tmp_path), sources={"a": [DONE]}, log=False)
    assert (len(run.enters), len(run.leaves), run.tokens.tolist()) == (0, 0, [1, 1])


def test_a_long_log(tmp_path):
    count = 100_000
    run = simulate(pass_through(tmp_path), sources={"a": [payload(1)] * count + [DONE]})
    entered = run.enters[run.enters["channel"] == 1]
    assert np.array_equal(entered["cycle"], np.arange(1, count + 2))
    assert run.cycles == count + 3


def test_stall(tmp_path):
    tokens = [payload(1), payload(0xDEAD), payload(2), payload(3), payload(4), DONE]
    run = simulate(pass_through(tmp_path), sources={"a": tokens}, watchdog=40)
    assert run.status == "stalled"
    assert run.sinks == {"b": [payload(1)]}
    assert run.cycles == 3  # the last movement is in cycle 2: the sink takes 1, and the channel fills up
    assert run.simulated == 43
    assert run.level.tolist() == [2, 0]
    assert run.peak.tolist() == [2, 1]
    assert run.activity.tolist() == [[1, 1, 1, 0]]  # up to the last movement
    assert run.last_activity.tolist() == [2]


def test_runaway(tmp_path):
    run = simulate(pass_through(tmp_path), sources={"a": [payload(1)] * 100}, max_cycles=50)
    assert (run.status, run.cycles, len(run.sinks["b"])) == ("runaway", 50, 48)


def test_a_run_may_end_in_the_last_cycle_allowed(tmp_path):
    design = pass_through(tmp_path)
    assert simulate(design, sources={"a": [DONE]}, max_cycles=3).status == "finished"
    assert simulate(design, sources={"a": [DONE]}, max_cycles=2).status == "runaway"


def test_fault(tmp_path):
    run = simulate(pass_through(tmp_path), sources={"a": [payload(1), payload(0xBAD), DONE]})
    assert (run.status, run.faults, run.cycles) == ("fault", [(0, 5)], 2)
    assert run.tokens.tolist() == [2, 1]  # of the two cycles that count
    assert run.sinks == {"b": [payload(1)]}


def test_a_fabric_without_anything(tmp_path):
    run = simulate(nothing(tmp_path))
    assert (run.status, run.cycles, run.sinks, run.memory) == ("finished", 0, {}, b"")
    assert run.activity.shape == (0, 4)


def test_progress_is_told(tmp_path):
    told: list[str] = []
    count = 300_000
    simulate(pass_through(tmp_path), sources={"a": [payload(1)] * count}, log=False, watchdog=100, progress=told.append)
    seen = [int(re.sub(r"\D", "", each)) for each in told if each.startswith("simulating: cycle ")]
    assert seen == sorted(seen)
    assert 0 < seen[-1] <= count + 200


def test_waves(tmp_path):
    waves = tmp_path / "deep" / "run.vcd"
    waves.parent.mkdir()
    run = simulate(pass_through(tmp_path), sources={"a": [payload(1), DONE]}, waves=waves)
    assert run.status == "finished"
    text = waves.read_text()
    assert "$enddefinitions" in text
    assert "a_tdata" in text


def test_waves_that_can_not_be_written(tmp_path):
    waves = tmp_path / "missing" / "run.vcd"
    with raising(InputError, f"waves can not go to {waves}: {waves.parent} is no directory"):
        simulate(pass_through(tmp_path), sources={"a": [DONE]}, waves=waves)


def test_waves_of_another_kind(tmp_path):
    with raising(InputError, "waves must go to a file that ends in .vcd or .fst, not 'run.ghw'"):
        simulate(pass_through(tmp_path), sources={"a": [DONE]}, waves=Path("run.ghw"))


def test_fst_needs_lz4(tmp_path, monkeypatch):
    monkeypatch.setattr("cosim.building.build.has_lz4", lambda: False)
    with raising(EnvironmentProblem, f"lz4.h is missing: {toolchain.HINTS['lz4']}"):
        simulate(pass_through(tmp_path), sources={"a": [DONE]}, waves=tmp_path / "run.fst")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"sources": {}}, "source 'a' has no tokens"),
        ({"sources": {"a": [], "c": []}}, "the fabric has no source 'c'; it has a"),
        ({"sources": {"a": [1 << 20]}}, "source 'a' takes transfers of 20 bits, not 0x100000"),
        ({"sources": {"a": [-1]}}, "source 'a' takes transfers of 20 bits, not -0x1"),
    ],
)
def test_inputs_that_do_not_fit(tmp_path, arguments, text):
    with raising(InputError, text):
        simulate(pass_through(tmp_path), **arguments)


def test_memory_that_does_not_fit(tmp_path):
    memory = {"beat_bytes": 8, "channels": 1, "interval": 1, "latency": 1, "beats_total": 2}
    with raising(InputError, "the memory has 16 bytes, but 17 were given"):
        simulate(memory_ports(tmp_path, [1], 0, memory), sources={"r0": []}, memory=bytes(17))


def test_an_address_out_of_range_ends_the_simulator(tmp_path):
    memory = {"beat_bytes": 8, "channels": 1, "interval": 1, "latency": 1, "beats_total": 64}
    with pytest.raises(SimulationError) as error:
        simulate(memory_ports(tmp_path, [1], 0, memory), sources={"r0": [64 << 2]})
    assert "memory port 0 wants beat 64 of 64" in str(error.value)


def test_a_simulator_that_is_killed(tmp_path):
    def kill(text: str) -> None:
        for process in Path("/proc").glob("[0-9]*"):
            if _parent(process) == os.getpid() and b"simulator" in (process / "cmdline").read_bytes():
                os.kill(int(process.name), signal.SIGKILL)

    tokens = [payload(1)] * 3_000_000
    with pytest.raises(SimulationError) as error:
        simulate(pass_through(tmp_path), sources={"a": tokens}, log=False, progress=kill)
    assert str(error.value).startswith("the simulator broke off (killed by signal 9):")


def _parent(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def test_interrupted_runs_leave_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "runs"))
    (tmp_path / "runs").mkdir()

    def interrupt(text: str) -> None:
        assert list((tmp_path / "runs").iterdir())
        raise KeyboardInterrupt

    design = pass_through(tmp_path / "design")
    with pytest.raises(KeyboardInterrupt):
        simulate(design, sources={"a": [payload(1)] * 3_000_000}, log=False, progress=interrupt)
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_disk_that_fills_up_during_a_run(tmp_path, monkeypatch):
    """The simulation hardware writes what fits, without a word."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "runs"))
    (tmp_path / "runs").mkdir()
    design = pass_through(tmp_path / "design")
    monkeypatch.setattr("cosim.running.bench_run.has_room", lambda _: False)
    with pytest.raises(EnvironmentProblem) as error:
        simulate(design, sources={"a": [DONE]})
    head, _, tail = str(error.value).partition("/step-run-")
    assert head == f"the disk is full, where {tmp_path}/runs"
    assert tail.partition(" ")[2] == "is: make room there, or set TMPDIR to another place"
    with pytest.raises(EnvironmentProblem, match="set TMPDIR to another place"), run_directory() as directory:
        raise OSError(errno.ENOSPC, "No space left on device", str(directory))
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_disk_that_fills_up_with_waves(tmp_path, monkeypatch):
    def break_off(*_: object) -> None:
        (tmp_path / "x.vcd").write_text("$date")
        raise SimulationError("the simulator broke off")

    monkeypatch.setattr("cosim.running.bench_run.run_simulator", break_off)
    monkeypatch.setattr("cosim.running.bench_run.build", lambda *_, **__: None)
    design = pass_through(tmp_path / "design")
    with pytest.raises(SimulationError, match="broke off"):
        simulate(design, sources={"a": [DONE]}, waves=tmp_path / "x.vcd")
    assert not (tmp_path / "x.vcd").exists()
    monkeypatch.setattr("cosim.running.bench_run.has_room", lambda directory: directory != tmp_path)
    with pytest.raises(EnvironmentProblem) as error:
        simulate(design, sources={"a": [DONE]}, waves=tmp_path / "x.vcd")
    assert str(error.value) == (
        f"the disk is full, where {tmp_path}/x.vcd is: make room there, or let it be written to another place"
    )
    assert not (tmp_path / "x.vcd").exists()


def test_a_directory_without_sidecar(tmp_path):
    with raising(FormatError, f"{tmp_path}/fabric.json does not exist; `step verilog PROGRAM -o {tmp_path}` writes it"):
        simulate(tmp_path)


def test_a_sidecar_without_a_field():
    with raising(FormatError, "sidecar has no field 'sources'"):
        simulate({"module": "x"})

"""`sim_memory`, cycle for cycle against the model in `memory_model`."""

from __future__ import annotations

import random
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from designs import memory_ports
from drams import NARROW, SMALL
from memory_model import Port, run

from cosim.running.bench_run import simulate
from step.lowering.dram import PRESETS
from step.lowering.off_chip import MemoryConfig

BEATS = 64


def random_ports(seed: int, sizes: list[int], writes: int, longest_gap: int, requests: int) -> list[Port]:
    """Requests all over the memory; the writes of one port stay apart from those of the others."""
    rng = random.Random(seed)
    ports = [
        Port(size, [(rng.randint(0, longest_gap), rng.randrange(BEATS - size + 1), None) for _ in range(requests)])
        for size in sizes
    ]
    for write in range(writes):
        addresses = [rng.randrange(write, BEATS, writes) for _ in range(requests)]
        ports.append(Port(1, [(rng.randint(0, longest_gap), each, rng.getrandbits(64)) for each in addresses]))
    return ports


def serve(directory: Path, ports: list[Port], config: MemoryConfig, contents: list[int]):
    """Run the ports on the hardware."""
    memory = {**asdict(config), "beats_total": len(contents)}
    reads = [port for port in ports if port.requests[0][2] is None]
    writes = [port for port in ports if port.requests[0][2] is not None]
    design = memory_ports(directory, [port.size for port in reads], len(writes), memory)
    sources = {
        f"r{n}": [(gap << 32 | address) << 2 for gap, address, _ in port.requests] for n, port in enumerate(reads)
    }
    for number, port in enumerate(writes):
        sources[f"w{number}"] = [(gap << 96 | data << 32 | address) << 2 for gap, address, data in port.requests]
    image = np.array(contents, np.uint64).tobytes()
    return simulate(design, sources=sources, memory=image, watchdog=200)


def compare(directory: Path, ports: list[Port], config: MemoryConfig, beats: int = BEATS) -> None:
    rng = random.Random(99)
    contents = [rng.getrandbits(64) for _ in range(beats)]
    result = serve(directory, ports, config, contents)
    after = run(ports, contents, config)
    assert result.status == "stalled"  # these fabrics never finish
    assert result.beats == [len(port.taken) * port.size for port in ports]
    for number, port in enumerate(ports):
        assert result.enters["cycle"][result.enters["channel"] == number].tolist() == port.taken
        answered = result.leaves["cycle"][result.leaves["channel"] == number].tolist()
        if port.requests[0][2] is not None:  # what was written can be read
            assert answered == port.visible
        if port.responses:
            assert answered == [cycle for cycle, _ in port.responses]
            assert [each >> 2 for each in result.sinks[f"s{number}"]] == [data for _, data in port.responses]
    assert np.frombuffer(result.memory, np.uint64).tolist() == after


PLAIN = {
    "one": ([1], 0, MemoryConfig(8, 1, 1, 1)),
    "bursts": ([3, 2, 1], 2, MemoryConfig(8, 4, 1, 5)),
    "interval": ([4, 1, 2], 1, MemoryConfig(8, 2, 3, 2)),
}


@pytest.mark.parametrize("name", PLAIN)
def test_memory_is_exact(tmp_path, name):
    sizes, writes, config = PLAIN[name]
    for seed, longest_gap in enumerate((0, 1, 12)):
        compare(tmp_path, random_ports(seed, sizes, writes, longest_gap, 120), config)


@pytest.mark.parametrize("channels", [1, 4])
@pytest.mark.parametrize("dram", [SMALL, NARROW, replace(SMALL, clock_ps=1300, group_beats=2, queue=1, out_of_turn=9)])
def test_dram_is_exact(tmp_path, channels, dram):
    """On the simulator of the second memory above: parameters are read when it starts."""
    for seed, longest_gap in enumerate((0, 2, 40)):
        ports = random_ports(seed, [3, 2, 1], 2, longest_gap, 120)
        compare(tmp_path, ports, MemoryConfig(8, channels, latency=2, interleave=2, dram=dram))


@pytest.mark.slow
def test_many_ports(tmp_path):
    """All of them on few channels: who waits, and for how long, is decided again and again."""
    rng = random.Random(7)
    sizes = [rng.randint(1, 6) for _ in range(30)]
    for seed, channels in enumerate((1, 2, 8)):
        for dram in (None, SMALL, PRESETS["hbm2"].dram, PRESETS["ddr4"].dram):
            ports = random_ports(seed, sizes, 18, 3 * seed, 60)
            compare(tmp_path, ports, MemoryConfig(8, channels, latency=4, dram=dram))


def test_only_writes(tmp_path):
    compare(tmp_path, random_ports(5, [], 2, 2, 60), MemoryConfig(8, 2, 1, 3))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_memory_is_exact_for_random_shapes(tmp_path, seed):
    rng = random.Random(seed)
    sizes = [rng.randint(1, 6) for _ in range(rng.randint(0, 5))]
    ports = random_ports(seed, sizes, rng.randint(0, 4) if sizes else 2, rng.choice((0, 3, 30)), 200)
    compare(tmp_path, ports, MemoryConfig(8, 2 ** rng.randint(0, 3), rng.randint(1, 5), rng.randint(1, 30)))

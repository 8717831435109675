"""`sim_memory`, cycle for cycle against the model in `memory_model`."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from designs import memory_ports
from memory_model import Port, run

from cosim.simulator import simulate

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


def serve(directory: Path, ports: list[Port], memory: dict[str, int], contents: list[int]):
    """Run the ports on the hardware."""
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


def compare(directory: Path, ports: list[Port], channels: int, interval: int, latency: int) -> None:
    rng = random.Random(99)
    contents = [rng.getrandbits(64) for _ in range(BEATS)]
    memory = {"beat_bytes": 8, "channels": channels, "interval": interval, "latency": latency, "beats_total": BEATS}
    result = serve(directory, ports, memory, contents)
    after = run(ports, contents, channels, interval, latency)
    assert result.status == "stalled"  # these fabrics never finish
    for number, port in enumerate(ports):
        assert result.enters["cycle"][result.enters["channel"] == number].tolist() == port.taken
        answered = result.leaves["cycle"][result.leaves["channel"] == number].tolist()
        if port.requests[0][2] is not None:  # what was written can be read
            assert answered == [cycle + latency for cycle in port.taken]
        if port.responses:
            assert answered == [cycle for cycle, _ in port.responses]
            assert [each >> 2 for each in result.sinks[f"s{number}"]] == [data for _, data in port.responses]
    assert np.frombuffer(result.memory, np.uint64).tolist() == after


@pytest.mark.parametrize(
    ("sizes", "writes", "channels", "interval", "latency"),
    [
        ([1], 0, 1, 1, 1),
        ([3, 2, 1], 2, 4, 1, 5),
        ([4, 1, 2], 1, 2, 3, 2),
    ],
    ids=["one", "bursts", "interval"],
)
def test_memory_is_exact(tmp_path, sizes, writes, channels, interval, latency):
    for seed, longest_gap in enumerate((0, 1, 12)):
        ports = random_ports(seed, sizes, writes, longest_gap, 120)
        compare(tmp_path, ports, channels, interval, latency)


def test_only_writes(tmp_path):
    compare(tmp_path, random_ports(5, [], 2, 2, 60), 2, 1, 3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_memory_is_exact_for_random_shapes(tmp_path, seed):
    rng = random.Random(seed)
    sizes = [rng.randint(1, 6) for _ in range(rng.randint(0, 5))]
    ports = random_ports(seed, sizes, rng.randint(0, 4) if sizes else 2, rng.choice((0, 3, 30)), 200)
    compare(tmp_path, ports, 2 ** rng.randint(0, 3), rng.randint(1, 5), rng.randint(1, 30))

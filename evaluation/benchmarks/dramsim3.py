"""One channel of DRAM against DRAMsim3, an independent simulator: the share of the data bus, by the order of addresses.

    git clone https://github.com/umd-memsys/DRAMsim3 && cmake -S DRAMsim3 -B DRAMsim3/build && make -C DRAMsim3/build
    python benchmarks/dramsim3.py DRAMsim3

DRAMsim3 gets the same addresses as a trace, on its configurations for the same devices with our tCCD_L and one rank; it
looks at the 32 oldest requests, our channel at what so many ports present.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from sim_approx.memory.dram import DramChannel
from step.lowering.dram import PRESETS
from step.lowering.off_chip import MemoryConfig

BEATS, PORTS = 8000, 32

Trace = list[tuple[int, bool]]
"""Beats with whether they are written."""

CONFIGURATIONS = {
    "hbm2": ("HBM2_8Gb_x128.ini", {"address_mapping": "rorabachbgco", "tCCD_L": 4, "columns": 128}),
    "ddr4": ("DDR4_8Gb_x8_2666.ini", {"address_mapping": "rorabachcobg", "channel_size": 8192}),
}


def traces() -> dict[str, Trace]:
    """The cases to compare."""
    choose = random.Random(1)
    anywhere = [choose.randrange(1 << 20) for _ in range(BEATS)]
    return {
        "streaming reads": [(beat, False) for beat in range(BEATS)],
        "streaming writes": [(beat, True) for beat in range(BEATS)],
        "random reads": [(beat, False) for beat in anywhere],
        "random reads and writes": [(beat, at % 2 == 1) for at, beat in enumerate(anywhere)],
    }


def ours(kind: str, trace: Trace) -> float:
    """Share of the data bus with the arbiter of `sim_approx.memory.channels`, whose ports take the beats by turns."""
    channel = DramChannel(MemoryConfig.preset(kind, channels=1))
    dram, clock, last, out_of_turn, end = channel.dram, 0, -1, 0, 0
    waiting = [trace[port::PORTS][::-1] for port in range(PORTS)]
    for _ in trace:
        clock = max(clock + 1, channel.data_ends[channel.granted % dram.queue])
        channel.refresh(clock)
        order = [port for port in ((last + 1 + each) % PORTS for each in range(PORTS)) if waiting[port]]
        last = order[0]
        if out_of_turn < dram.out_of_turn:
            fronts = {port: waiting[port][-1] for port in order}
            data = {
                port: channel.plan(*channel.place(beat), writes, clock)[1] for port, (beat, writes) in fronts.items()
            }
            last = min(order, key=data.__getitem__)
        out_of_turn = 0 if last == order[0] else out_of_turn + 1
        beat, writes = waiting[last].pop()
        end = channel.grant(beat, writes, clock)
    return len(trace) * dram.burst / end


def theirs(directory: Path, kind: str, trace: Trace) -> float:
    """Share of the data bus in DRAMsim3: the first cycle in which all is done is found by halving."""
    name, changes = CONFIGURATIONS[kind]
    text = (directory / "configs" / name).read_text()
    for key, value in {"channels": 1, **changes}.items():
        text = re.sub(rf"^{key} *=.*$", f"{key} = {value}", text, flags=re.MULTILINE)
    with tempfile.TemporaryDirectory() as scratch:
        here = Path(scratch)
        (here / "c.ini").write_text(text)
        lines = [f"0x{64 * beat:x} {'WRITE' if writes else 'READ'} 0\n" for beat, writes in trace]
        (here / "trace").write_text("".join(lines))

        def done(cycles: int) -> int:
            tool = str(directory.absolute() / "build" / "dramsim3main")
            command = [tool, "c.ini", "-c", str(cycles), "-t", "trace"]
            subprocess.run(command, cwd=here, check=True, capture_output=True)
            counts = re.findall(r"num_(?:reads|writes)_done\s*=\s*(\d+)", (here / "dramsim3.txt").read_text())
            return sum(map(int, counts))

        low, high = 1, 400_000
        everything = done(high)
        while high - low > 50:
            middle = (low + high) // 2
            low, high = (low, middle) if done(middle) >= everything else (middle, high)
    dram = PRESETS[kind].dram
    assert dram is not None
    return len(trace) * dram.burst / high


def main() -> None:
    """Run both and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, help="DRAMsim3, built")
    directory = parser.parse_args().directory
    table = Table("memory", "addresses", "here", "DRAMsim3")
    for kind in CONFIGURATIONS:
        for name, trace in traces().items():
            table.add_row(kind, name, f"{ours(kind, trace):.1%}", f"{theirs(directory, kind, trace):.1%}")
    Console().print(table)


if __name__ == "__main__":
    main()

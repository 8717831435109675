"""What the waves say of a channel, against the registers of its RTL, as the simulator itself records them."""

from __future__ import annotations

import io
import re
from itertools import pairwise
from pathlib import Path

import pytest
from reading_waves import VCDVCD

from step.lowering.links import data_words
from step.programs.program import load_program
from step_show.waves.ports import ChannelEnd, ports
from step_show.waves.recording import record
from step_show.waves.vcd import write_vcd

README = Path(__file__).parents[2] / "README.md"
CYCLE = "bench.monitor.cycle"


def instance_of(port: ChannelEnd) -> str:
    """The channel in the simulator's waves."""
    legal = re.sub(r"\W", "_", port.channel.name)
    return f"bench.fabric.c{port.channel.index}_{legal}"


@pytest.mark.slow  # it builds a simulator that records waves
def test_tokens_words_and_levels_are_those_of_the_hardware(tmp_path: Path) -> None:
    match = re.search(r"^```python\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
    assert match is not None
    (tmp_path / "program.py").write_text(match[1])
    program = load_program(str(tmp_path / "program.py"))
    found = record(program, "rtl", waves=tmp_path / "raw.vcd")
    shown = ports(found.netlist, [])
    text = io.StringIO()
    write_vcd(text, found, shown)
    waves, raw = VCDVCD(vcd_string=text.getvalue()), VCDVCD(str(tmp_path / "raw.vcd"))
    by_name = {name.partition("[")[0]: raw[name] for name in raw.signals}
    counted = [(time, int(value, 2)) for time, value in by_name[CYCLE].tv if "x" not in value]
    times = {cycle: time for (time, cycle), (_, after) in pairwise(counted) if after == cycle + 1}
    assert len(times) >= found.end
    several = 0
    for port in shown:
        channel, instance = port.channel, instance_of(port)
        words = data_words(channel.element, program.fabric.link_bytes)
        for cycle in range(found.end):

            def wire(name: str, instance: str = instance, at: int = times[cycle]) -> int:
                return int(by_name[f"{instance}.{name}"][at], 2)

            def shows(name: str, scope: str = f"routed.{port.operator}.{port.name}", at: int = cycle) -> int:
                return int(waves[f"{scope}.{name}"][at], 2)

            left = wire("left") if words > 1 else wire("arrives") if words else 0  # with the one that enters
            several += words > 1 and left > 0
            assert shows("enters") == wire("i__valid")
            assert shows("word") == (words + 1 - left if left else 0)
            if not found.netlist.is_deep(channel):  # which shows a header a cycle later
                assert shows("level") == wire("occupied")
            if shows("enters"):
                header = wire("i__header")
                assert (shows("done"), shows("value")) == (header & 1, header >> 1 & 1)
    assert several > 0

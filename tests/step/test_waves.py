"""Waves and tables of a run, against what the back end recorded, read by parsers that others wrote."""

from __future__ import annotations

import io
from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from cases import cases
from raising import raised
from reading_waves import VCDVCD
from vcd.reader import TokenKind, tokenize

from step import FP32, Graph, Program, Tile
from step.errors import Deadlock, InputError
from step.language.tokens import show
from step.lowering.links import data_words
from step.programs.program import load_program
from step.running.result import control_token
from step_show.waves.ports import ChannelEnd, ports
from step_show.waves.recording import Recording, record
from step_show.waves.signals import channel_signals
from step_show.waves.table import rows, write_csv, write_text
from step_show.waves.vcd import write_vcd
from step_show.waves.views import OPENED, write_gtkwave, write_surfer

FRAGILE = "tests/integration/fragile.py"
SIMPLE = "examples/moe_simple.py"
ROOT = Path(__file__).parents[2]


@cache
def recording(spec: str = SIMPLE, first: int = 0, last: int | None = None) -> Recording:
    return record(load_program(str(ROOT / spec)), "approx", first, last)


def vcd(found: Recording, operators: list[str]) -> str:
    file = io.StringIO()
    write_vcd(file, found, ports(found.netlist, operators))
    return file.getvalue()


def name(found: Recording, port: ChannelEnd, signal: str) -> str:
    return f"{found.netlist.graph.name}.{port.operator}.{port.name}.{signal}"


def by_cycle(parsed: VCDVCD, signal: str) -> Callable[[int], int]:
    """What the numeric signal is in a cycle."""
    return lambda cycle: int(parsed[signal][cycle], 2)


def strings(text: str) -> dict[str, list[tuple[int, str]]]:
    """The changes of every text, as pyvcd reads them."""
    scopes: list[str] = []
    references: dict[str, list[str]] = {}
    found: dict[str, list[tuple[int, str]]] = {}
    now = 0
    for token in tokenize(io.BytesIO(text.encode())):
        match token.kind:
            case TokenKind.SCOPE:
                scopes.append(token.scope.ident)
            case TokenKind.UPSCOPE:
                scopes.pop()
            case TokenKind.VAR if str(token.var.type_) == "string":
                references.setdefault(token.var.id_code, []).append(".".join([*scopes, token.var.reference]))
            case TokenKind.CHANGE_TIME:
                now = token.time_change
            case TokenKind.CHANGE_STRING:
                for each in references[token.string_change.id_code]:
                    found.setdefault(each, []).append((now, token.string_change.value))
    return found


def test_every_token_is_in_the_waves_with_all_that_it_is() -> None:
    found = recording()
    parsed = VCDVCD(vcd_string=vcd(found, []))
    every = ports(found.netlist, [])
    assert {port.channel.name for port in every} == set(found.events)
    for port in every:
        signals = [by_cycle(parsed, name(found, port, each)) for each in ("done", "value", "stop", "rank")]
        enters, leaves = (by_cycle(parsed, name(found, port, each)) for each in ("enters", "leaves"))
        events = found.events[port.channel.name]
        cycles = range(found.result.cycles)
        assert [cycle for cycle in cycles if enters(cycle)] == events.cycles.tolist()
        assert [cycle for cycle in cycles if leaves(cycle)] == events.leaves.tolist()
        seen = [[signal(int(cycle)) for signal in signals] for cycle in events.cycles]
        assert [
            done | value << 1 | stop << 2 | rank << 6 for done, value, stop, rank in seen
        ] == events.control.tolist()
        idle = set(cycles) - set(events.cycles.tolist())
        assert not any(signal(cycle) for signal in signals for cycle in idle)


def test_texts_are_the_tokens_with_their_numbers() -> None:
    found = recording()
    texts = strings(vcd(found, ["route"]))
    for port in ports(found.netlist, ["route"]):
        events = found.events[port.channel.name]
        wanted = [
            (int(cycle), f"{number}:{show([control_token(int(word), 'value')]).replace(' ', ',')}")
            for number, (cycle, word) in enumerate(zip(events.cycles, events.control, strict=True))
        ]
        assert [each for each in texts[name(found, port, "token")] if each[1] != "-"] == wanted


def test_levels_count_what_entered_and_did_not_leave() -> None:
    found = recording()
    parsed = VCDVCD(vcd_string=vcd(found, []))
    for port in ports(found.netlist, []):
        events, level = found.events[port.channel.name], by_cycle(parsed, name(found, port, "level"))
        for cycle in range(found.result.cycles):
            assert level(cycle) == bisect_left(events.cycles, cycle) - bisect_left(events.leaves, cycle)


def test_what_leaves_was_in_front() -> None:
    found = recording()
    for port in ports(found.netlist, []):
        channel, events = port.channel, found.events[port.channel.name]
        signals = {each.name: each for each in channel_signals(found.netlist, channel, events, 0, found.end)}
        front = {0: signals["front"].initial, **signals["front"].changes}
        delay = 2 if found.netlist.is_deep(channel) else 1
        for number, cycle in enumerate(events.leaves.tolist()):
            at = max(each for each in front if each <= cycle)
            before = -1 if number == 0 else int(events.leaves[number - 1])
            assert str(front[at]).startswith(f"{number}:")
            assert at == max(int(events.cycles[number]) + delay, before + 1)


def test_words_of_a_value_follow_it() -> None:
    found = recording()
    parsed = VCDVCD(vcd_string=vcd(found, []))
    most = 0
    for port in ports(found.netlist, []):
        words = data_words(port.channel.element, found.netlist.fabric.link_bytes)
        events, number = found.events[port.channel.name], by_cycle(parsed, name(found, port, "word"))
        wanted = {
            cycle + word: word
            for cycle, control in zip(events.cycles.tolist(), events.control.tolist(), strict=True)
            for word in range(1, words + 1)
            if control & 2
        }
        assert [number(cycle) for cycle in range(found.end)] == [wanted.get(cycle, 0) for cycle in range(found.end)]
        most = max(most, words)
    assert most > 1


def test_a_counter_says_the_cycle() -> None:
    cycle = by_cycle(VCDVCD(vcd_string=vcd(recording(last=30), ["route"])), "moe_simple.cycle")
    assert [cycle(each) for each in range(31)] == list(range(31))


@pytest.mark.parametrize("first, last", [(0, 0), (17, 17), (40, 75), (60, 61), (110, 116)])
def test_a_window_shows_what_all_of_the_waves_show_there(first: int, last: int) -> None:
    whole, part = recording(), recording(first=first, last=last)
    assert part.result.cycles == last + 1  # it does not run on
    for port in ports(whole.netlist, []):
        events = whole.events[port.channel.name]
        pairs = zip(
            channel_signals(whole.netlist, port.channel, events, 0, whole.end),
            channel_signals(part.netlist, port.channel, part.events[port.channel.name], first, part.end),
            strict=True,
        )
        for wanted, found in pairs:
            full, cut = {0: wanted.initial, **wanted.changes}, {first: found.initial, **found.changes}
            for cycle in range(first, last + 1):
                assert (
                    cut[max(each for each in cut if each <= cycle)] == full[max(each for each in full if each <= cycle)]
                )
    parsed = VCDVCD(vcd_string=vcd(part, ["route"]))
    assert (parsed.begintime, parsed.endtime) == (first, last + 1)


def test_a_channel_between_two_operators_is_in_the_scopes_of_both() -> None:
    parsed = VCDVCD(vcd_string=vcd(recording(FRAGILE), ["spread", "scaled"]))
    between = {"fragile.spread.out.token", "fragile.scaled.in1.token"}
    assert [set(each.references) for each in parsed.data.values() if between & set(each.references)] == [between]


def test_ports_have_the_names_of_their_outputs() -> None:
    found = recording()
    assert [(port.name, port.channel.name) for port in ports(found.netlist, ["route"])] == [
        ("in0", "rows"), ("in1", "routing_broadcast.0"), ("out_0", "route.0"), ("out_1", "route.1"),
    ]  # fmt: skip
    assert [port.name for port in ports(found.netlist, ["expert0_chunks"])] == ["in0", "out", "out_padding"]
    assert [port.name for port in ports(found.netlist, ["expert0_alone"])] == ["in0", "out"]  # nobody reads its padding


def paths(text: str) -> Iterator[str]:
    """The signals that a save file opens."""
    for line in text.splitlines():
        word = line.rpartition(" ")[2] if line.startswith(("+", "variable_add")) else ""
        if word.startswith("moe_simple."):
            yield word


def test_save_files_open_the_channels_that_were_chosen(tmp_path: Path) -> None:
    found = recording(first=40, last=80)
    shown = ports(found.netlist, ["route", "expert0_tiles"])
    waves = tmp_path / "some waves.vcd"
    gtkwave, surfer = io.StringIO(), io.StringIO()
    write_gtkwave(gtkwave, waves, found, shown)
    write_surfer(surfer, waves, found, shown)
    wanted = ["moe_simple.cycle", *(name(found, port, signal) for port in shown for signal in OPENED)]
    assert list(paths(gtkwave.getvalue())) == list(paths(surfer.getvalue())) == wanted
    assert set(wanted) <= set(VCDVCD(vcd_string=vcd(found, ["route", "expert0_tiles"])).signals)
    assert f'[dumpfile] "{waves}"\n' in gtkwave.getvalue() and "[timestart] 40\n" in gtkwave.getvalue()
    assert surfer.getvalue().startswith(f"load_file {waves}\nvariable_add moe_simple.cycle\ndivider_add route.in0\n")


TABLE = """\
operator  port  channel           number   kind  stop  rank  entered  left
spread    in1   rows_broadcast.1       0  value     0     0        1    13
spread    in1   rows_broadcast.1       1  value     1     0        2    14
spread    in0   alone                  0  value     1     0       12    14
spread    out   spread                 0  value     0     0       13    14
"""


def test_tokens_as_a_table() -> None:
    found = recording(FRAGILE)
    file = io.StringIO()
    write_text(file, rows(found, ports(found.netlist, ["spread"]))[:4])
    assert file.getvalue() == TABLE


def test_a_token_that_never_left_has_no_cycle_there() -> None:
    found = recording(FRAGILE, last=12)
    table, text = io.StringIO(), io.StringIO()
    last = rows(found, ports(found.netlist, ["spread"]))[-1:]
    write_csv(table, last)
    write_text(text, last)
    assert table.getvalue().splitlines() == [
        "operator,port,channel,number,kind,stop,rank,entered,left", "spread,in0,alone,0,value,1,0,12,",
    ]  # fmt: skip
    assert text.getvalue().splitlines()[1].split() == ["spread", "in0", "alone", "0", "value", "1", "0", "12", "-"]


def test_a_table_of_some_cycles_has_what_entered_in_them() -> None:
    whole, part = recording(FRAGILE), recording(FRAGILE, 13, 15)
    every = rows(whole, ports(whole.netlist, ["spread"]))
    assert [(row.number, row.entered) for row in rows(part, ports(part.netlist, ["spread"]))] == [
        (row.number, row.entered) for row in every if 13 <= row.entered <= 15
    ]


def test_empties_and_done_are_kinds(graph: Graph) -> None:
    graph.source("x", Tile(FP32), [2, graph.symbol("n", ragged=True)]).sink("y")
    found = record(Program(graph, {"x": [[1], []]}), "approx")
    assert [(row.kind, row.stop, row.rank) for row in rows(found, ports(found.netlist, ["x"]))] == [
        ("value", 1, 0), ("empty", 1, 1), ("done", 0, 0),
    ]  # fmt: skip


@cases(
    (["rout"], "there is no operator 'rout'; did you mean 'route'? there are "),
    (["zzz"], "there is no operator 'zzz'; there are routing, "),
)
def test_operators_that_are_not_there(wanted: list[str], text: str) -> None:
    error = raised(InputError, lambda: ports(recording().netlist, wanted))
    assert error.startswith(text)


def test_cycles_that_are_not_there() -> None:
    assert raised(InputError, lambda: recording(FRAGILE, 40)) == "the run has 34 cycles, so there is no cycle 40"
    error = raised(InputError, lambda: recording(FRAGILE, 5, 4))
    assert error == "the first cycle, 5, must not be behind the last one, 4"


def test_a_run_that_fails_is_recorded_up_to_there() -> None:
    program = load_program(str(ROOT / FRAGILE))
    program.inputs = {**program.inputs, "rows": [[1], list(range(9))]}
    found = record(program, "approx")
    assert isinstance(found.failure, Deadlock) and found.end == 16
    assert max(row.entered for row in rows(found, ports(found.netlist, ["spread"]))) < 16
    assert record(program, "approx", last=10).failure is None  # all was well so far
    with pytest.raises(Deadlock):
        record(program, "approx", first=20)


def test_words_of_tiles_of_dynamic_size_are_not_shown() -> None:
    found = recording("examples/moe_mixtral.py:dynamic", 0, 400)
    channel = next(each for each in found.netlist.channels if each.name == "expert0_tile")
    signals = {
        each.name: each for each in channel_signals(found.netlist, channel, found.events[channel.name], 0, found.end)
    }
    assert str(channel.element) == "Tile(BF16, route_D0, 64)"
    assert (signals["word"].initial, signals["word"].changes) == (0, {})
    assert list(signals["value"].changes.values())[:2] == [1, 0]

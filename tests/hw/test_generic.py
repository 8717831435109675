"""Modules with parameters: with the numbers of an instance they are its plain text but for the widths of sums."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path

import pytest
from scenarios import SCENARIOS, Scenario

import step
from hw.fabric import elaborate
from hw.links.channel import ChannelFifo
from hw.links.layout import AddressFormat, TokenFormat, WriteFormat
from hw.memory.port import OffChipPort
from hw.primitives.delay import DelayLine
from hw.verilog.convert import ModuleLibrary, verilog
from hw.verilog.modules import Parametric
from hw.verilog.rtlil import rtlil_of
from step.lowering.netlist import Netlist
from step.programs.prepare import prepare

EXAMPLES = sorted((Path(step.__file__).parents[1] / "examples").glob("*.py"))


TERM = r"[A-Z0-9_ +*-]"
OF_PARAMETERS = re.compile(
    rf"(?<=\[)[^][:]*[A-Z][^][:]*(?=:)|(?<=\[0:)[^][]*[A-Z][^][]*|\((?:{TERM}|\({TERM}*\))*\)|\b[A-Z][A-Z_]*\b"
)
"""High ends of ranges and of memories, terms in parentheses, and parameters that stand alone."""


def body(text: str, numbers: Mapping[str, int] | None = None) -> str:
    """Verilog behind the name of a module, with ``numbers`` put in for parameters, in decimals without their width."""

    def value(match: re.Match[str]) -> str:
        return str(
            eval(match[0].replace("$", ""), {"clog2": lambda each: (each - 1).bit_length()}, dict(numbers or {}))
        )

    text = re.sub(r"\A(//.*\n)*module \w+ (#\((.*\n)*?\) )?", "", text)
    text = re.sub(r"\d+'h([0-9a-f]+)", lambda match: str(int(match[1], 16)), OF_PARAMETERS.sub(value, text))
    text = re.sub(r"\b(wire|reg) \[0:0\]", r"\1", re.sub(r"\d+'d(\d+)", r"\1", text))
    text = re.sub(r"^  wire (\[\d+:0\] )?(n\d+;)$", r"  wire \2", text, flags=re.MULTILINE)
    return re.sub(r"\[(\d+):\1\]", r"[\1]", text)


def check(components: Iterable[Parametric], initial_values: bool = True) -> dict[str, str]:
    """Names of the modules with parameters of which ``components`` are instances, which are made as those alone are."""
    alone = {each.module_name: each for each in components if each.generic is not None}
    library = ModuleLibrary(initial_values=initial_values)
    found = {name: library.require(each) for name, each in alone.items()}
    converted = {name: rtlil_of(each, name, library) for name, each in alone.items()}
    plain = {name: verilog(text, initial_values=initial_values, numbers=False) for name, text in converted.items()}
    texts = library.texts()
    for name, each in alone.items():
        assert body(texts[found[name]].text, each.arguments) == body(plain[name]), name
    return found


def parts_of(netlist: Netlist) -> Iterator[Parametric]:
    return (each.component for each in elaborate(netlist, probes=False).structure.instances)


def channel(words: int, bits: int, rank: int, depth: int, spare: int = 0, *, deep: bool = False) -> ChannelFifo:
    return ChannelFifo(TokenFormat(rank, (words * bits,) if words else (), max(8, bits)), depth, spare, deep=deep)


FAMILIES = {
    "channel": [channel(2, 8, 1, 3), channel(16, 512, 2, 128), channel(3, 24, 3, 7)],
    "channel_block_ram": [channel(2, 8, 1, 3, deep=True), channel(4, 512, 2, 66, deep=True)],
    "channel_one_word_block_ram": [channel(1, 16, 1, 3, deep=True), channel(1, 512, 2, 65, deep=True)],
    "channel_spare1_block_ram": [channel(2, 8, 1, 3, 1, deep=True), channel(6, 64, 1, 31, 1, deep=True)],
    "channel_depth2": [channel(2, 8, 1, 2), channel(64, 32, 4, 2)],
    "channel_depth2_spare1": [channel(2, 8, 1, 2, 1), channel(8, 32, 4, 2, 1)],
    "channel_headers": [channel(0, 8, 1, 4), channel(0, 8, 2, 65)],
    "channel_headers_depth2": [channel(0, 8, 1, 2), channel(0, 8, 7, 2)],
    "channel_one_word": [channel(1, 1, 1, 3), channel(1, 256, 2, 64)],
    "channel_one_word_depth2": [channel(1, 1, 1, 2), channel(1, 256, 2, 2)],
    "channel_spare1": [channel(2, 8, 1, 3, 1), channel(8, 32, 4, 4, 1), channel(5, 32, 4, 7, 1)],
    "delay_line": [DelayLine(1, 4), DelayLine(5, 5), DelayLine(32, 129)],
    "delay_line_cycles1": [DelayLine(1, 1), DelayLine(40, 1)],
    "delay_line_cycles3": [DelayLine(1, 3), DelayLine(40, 3)],
    "memory_port_depth2": [OffChipPort(AddressFormat(), 2, answers, 8 * answers) for answers in (2, 3, 16)],
    "memory_port_depth2_answers1": [OffChipPort(AddressFormat(), 2, 1, most) for most in (7, 8)],
    "memory_port_depth3_answers0": [OffChipPort(WriteFormat(bits), 3) for bits in (8, 512)],
}


@pytest.mark.parametrize("initial_values", [True, False])
def test_numbers_are_parameters(initial_values: bool) -> None:
    """Of any size: powers of two, and what is next to them."""
    found = check([each for members in FAMILIES.values() for each in members], initial_values)
    assert {name: {found[each.module_name] for each in members} for name, members in FAMILIES.items()} == {
        name: {name} for name in FAMILIES
    }


def test_terms_of_parameters_are_in_parentheses() -> None:
    """So that they stay what is added."""
    library = ModuleLibrary()
    name = library.require(OffChipPort(AddressFormat(), 2, 8, 64))
    assert "due + (ANSWERS - 1);" in library.texts()[name].text


def test_an_instance_gives_the_values() -> None:
    instance = "channel #(.WORDS(4), .WORD_BITS(512), .HEADER_BITS(6), .DEPTH(5))"
    assert channel(4, 512, 2, 5).reference == instance


def test_what_is_made_otherwise_stays_apart() -> None:
    assert all(channel(words, 512, 2, depth).generic is None for words, depth in ((4, 1), (3, 2)))


ONE_OF_EACH = list({scenario.operator: scenario for scenario in SCENARIOS}.values())


@pytest.mark.parametrize("scenario", ONE_OF_EACH[::6], ids=str)
def test_operators_are_as_before(scenario: Scenario) -> None:
    check(parts_of(scenario.lowered()[0]))


@pytest.mark.slow
@pytest.mark.parametrize(("example", "initial_values"), list(product(EXAMPLES, (True, False))), ids=str)
def test_examples_are_as_before(example: Path, initial_values: bool) -> None:
    check(parts_of(prepare(example).netlist), initial_values)

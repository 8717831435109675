"""Modules with parameters: with the numbers of an instance they are its plain text, in every design."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import pytest
from scenarios import FABRIC, SCENARIOS, Scenario

import step
from hw.fabric import elaborate
from hw.links.channel import ChannelFifo
from hw.links.layout import AddressFormat, TokenFormat, WriteFormat
from hw.memory.port import OffChipPort
from hw.primitives.delay import DelayLine
from hw.verilog.convert import ModuleLibrary, ModuleText
from hw.verilog.instances import with_parameters
from hw.verilog.modules import Parametric
from step.language.graph import Graph
from step.lowering.netlist import Netlist, lower
from step.programs.prepare import prepare

EXAMPLES = sorted((Path(step.__file__).parents[1] / "examples").glob("*.py"))


TERM = r"[A-Z0-9_ +*-]"
OF_PARAMETERS = re.compile(rf"(?<=\[)[^][:]*[A-Z][^][:]*(?=:)|\((?:{TERM}|\({TERM}*\))*\)|\b[A-Z][A-Z_]*\b")
"""High ends of ranges, terms in parentheses, and parameters that stand alone."""


def body(text: str, numbers: Mapping[str, int] | None = None) -> str:
    """Verilog behind the name of a module, with ``numbers`` put in for parameters, in decimals without their width."""

    def value(match: re.Match[str]) -> str:
        return str(
            eval(match[0].replace("$", ""), {"clog2": lambda each: (each - 1).bit_length()}, dict(numbers or {}))
        )

    text = re.sub(r"\A(//.*\n)*module \w+ (#\((.*\n)*?\) )?", "", text)
    text = re.sub(r"\d+'h([0-9a-f]+)", lambda match: str(int(match[1], 16)), OF_PARAMETERS.sub(value, text))
    text = re.sub(r"\b(wire|reg) \[0:0\]", r"\1", re.sub(r"\d+'d(\d+)", r"\1", text))
    return re.sub(r"\[(\d+):\1\]", r"[\1]", text)


def check(texts: Mapping[str, ModuleText]) -> None:
    for module in texts.values():
        if module.generic is not None:
            assert body(module.generic.text, module.generic.numbers) == body(module.text), module.name


def texts_of(*components: Parametric, initial_values: bool = True) -> dict[str, ModuleText]:
    library = ModuleLibrary(initial_values=initial_values)
    for each in components:
        library.require(each)
    return library.texts()


def fabric_texts(netlist: Netlist, *, initial_values: bool = True) -> dict[str, ModuleText]:
    parts = (each.component for each in elaborate(netlist, probes=False).structure.instances)
    return texts_of(*parts, initial_values=initial_values)


def channel(words: int, bits: int, rank: int, depth: int, spare: int = 0, *, deep: bool = False) -> ChannelFifo:
    return ChannelFifo(TokenFormat(rank, (words * bits,) if words else (), max(8, bits)), depth, spare, deep=deep)


FAMILIES = {
    "channel": [channel(2, 8, 1, 3), channel(16, 512, 2, 128), channel(3, 24, 3, 7)],
    "channel_block_ram": [channel(2, 8, 1, 3, deep=True), channel(4, 512, 2, 66, deep=True)],
    "channel_one_word_block_ram": [channel(1, 16, 1, 3, deep=True), channel(1, 512, 2, 65, deep=True)],
    "channel_spare1_block_ram": [channel(2, 8, 1, 3, 1, deep=True), channel(6, 64, 1, 31, 1, deep=True)],
    "channel_depth2": [channel(2, 8, 1, 2), channel(64, 32, 4, 2)],
    "channel_depth2_spare1": [channel(2, 8, 1, 2, 1), channel(9, 32, 4, 2, 1)],
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
    every = [each for members in FAMILIES.values() for each in members]
    texts = texts_of(*every, initial_values=initial_values)
    check(texts)
    modules, generics = with_parameters(texts)
    found = {name: {generics[each.module_name].name for each in members} for name, members in FAMILIES.items()}
    assert found == {name: {name} for name in FAMILIES} and set(modules) == set(FAMILIES)


def test_terms_of_parameters_are_in_parentheses() -> None:
    """So that they stay what is added."""
    port = OffChipPort(AddressFormat(), 2, 8, 64)
    generic = texts_of(port)[port.module_name].generic
    assert generic is not None and "due + (ANSWERS - 1);" in generic.text


def test_an_instance_gives_the_values() -> None:
    member = channel(4, 512, 2, 5)
    _, generics = with_parameters(texts_of(member))
    instance = "channel #(.WORDS(4), .WORD_BITS(512), .HEADER_BITS(6), .DEPTH(5))"
    assert generics[member.module_name].instance == instance


def test_what_is_made_otherwise_stays_apart() -> None:
    alone = channel(4, 512, 2, 1)
    assert texts_of(alone)[alone.module_name].generic is None


def test_modules_are_the_same_in_every_design() -> None:
    first, second = (with_parameters(texts_of(each))[0] for each in FAMILIES["channel"][:2])
    assert first == second


ONE_OF_EACH = list({scenario.operator: scenario for scenario in SCENARIOS}.values())


@pytest.mark.parametrize("scenario", ONE_OF_EACH[::6], ids=str)
def test_operators_are_as_before(scenario: Scenario) -> None:
    graph = Graph("scenario")
    scenario.build(graph)
    check(fabric_texts(lower(graph, FABRIC)))


@pytest.mark.slow
@pytest.mark.parametrize(("example", "initial_values"), list(product(EXAMPLES, (True, False))), ids=str)
def test_examples_are_as_before(example: Path, initial_values: bool) -> None:
    check(fabric_texts(prepare(example).netlist, initial_values=initial_values))

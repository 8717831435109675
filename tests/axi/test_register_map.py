"""The map of registers, its files, and what is said where PeakRDL is missing."""

from __future__ import annotations

import shutil
import subprocess
import xml.etree.ElementTree
from pathlib import Path
from typing import Any

import pytest

from hw.registers.block import peakrdl
from hw.registers.files import write_register_files
from step import BF16, Tile
from step.errors import EnvironmentProblem
from step.language.graph import Graph
from step.lowering.board import board_of
from step.lowering.bus import BusConfig
from step.lowering.fabric import FabricConfig
from step.lowering.netlist import lower
from step.lowering.registers import IMAGES, Register, registers_of


def registers(address_bits: int = 40) -> tuple[Register, ...]:
    graph = Graph("copy")
    graph.load(graph.tensor("x", (64, 64), BF16), tile=(16, 64), name="load").store("y")
    board = board_of(lower(graph, FabricConfig()), BusConfig(address_bits=address_bits))
    return registers_of(board, "0123456789abcdef", 2, 1)


def test_registers_and_fields_do_not_overlap() -> None:
    for bits in (32, 40, 64):
        found = registers(bits)
        addresses = [each.address for each in found]
        assert addresses == sorted(set(addresses)) and all(each % 4 == 0 for each in addresses)
        for register in found:
            places = [at for each in register.fields for at in range(each.low, each.low + each.width)]
            assert len(places) == len(set(places)) and max(places) < 32, register.name


def test_an_image_has_a_base_whose_bits_below_a_beat_are_missing() -> None:
    bases = [each for each in registers() if each.address >= IMAGES]
    assert [each.name for each in bases] == ["base_load_low", "base_load_high", "base_y_low", "base_y_high"]
    assert [(each.fields[0].low, each.fields[0].width) for each in bases] == [(6, 26), (0, 8), (6, 26), (0, 8)]
    assert [each.name for each in registers(32) if each.address >= IMAGES] == ["base_load_low", "base_y_low"]


def test_what_a_sink_writes_has_a_limit() -> None:
    graph = Graph("fed")
    graph.source("x", Tile(BF16, 4, 4), [graph.symbol("D0", ragged=True)]).sink("y")
    board = board_of(lower(graph, FabricConfig()), BusConfig(address_bits=32), streams=True)
    found = [each for each in registers_of(board, "0123456789abcdef", 2, 1) if each.address >= IMAGES]
    assert [(each.name, each.address) for each in found] == [
        *(("base_x_values_low", 0x80), ("base_x_list_low", 0x88), ("base_y_values_low", 0x90)),
        *(("base_y_list_low", 0x98), ("limit_y_values", 0xA0), ("limit_y_list", 0xA4)),
    ]
    (limit,) = found[-1].fields
    assert (limit.name, limit.low, limit.width) == ("bytes", 10, 22)  # requests of 16 beats of 64 bytes


def test_files_name_all_registers(tmp_path: Path) -> None:
    pytest.importorskip("peakrdl_html", reason="needs PeakRDL: pip install 'step-fabric[board]'")
    write_register_files("copy", registers(), tmp_path)
    header = (tmp_path / "copy.h").read_text()
    pages = xml.etree.ElementTree.parse(tmp_path / "copy.xml").getroot()
    named = {each.text for each in pages.iter() if each.tag.endswith("}name")}
    for register in registers():
        assert register.name in named and f" {register.name};" in header
    assert (tmp_path / "html" / "index.html").is_file()
    if compiler := shutil.which("cc"):
        (tmp_path / "all.c").write_text(
            '#include <stddef.h>\n#include "copy.h"\n'
            + "".join(
                f'_Static_assert(offsetof(copy_t, {each.name}) == {each.address}, "{each.name}");\n'
                for each in registers()
            )
        )
        subprocess.run([compiler, "-c", "all.c"], cwd=tmp_path, check=True)


def test_a_missing_part_of_peakrdl_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str, *_: Any) -> Any:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr("hw.registers.block.importlib.import_module", missing)
    with pytest.raises(EnvironmentProblem) as caught:
        peakrdl("peakrdl_ipxact", "peakrdl-ipxact")
    assert str(caught.value) == (
        "registers need the package peakrdl-ipxact; install it with: pip install 'step-fabric[board]'"
    )

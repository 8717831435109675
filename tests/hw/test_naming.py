"""Names of modules: in words, of at most 60 characters, one for one component, the same in every process."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any, ClassVar

from amaranth.lib.wiring import In
from cases import cases
from farm import farm
from scenarios import FABRIC, SCENARIOS

from hw.arithmetic.convert import Convert
from hw.arithmetic.fp32_add import Fp32Add
from hw.design.emit import emit
from hw.fabric import elaborate
from hw.links.channel import ChannelFifo
from hw.links.layout import TokenFormat
from hw.primitives.delay import DelayLine
from hw.verilog.modules import Parametric
from hw.verilog.spelling import LONGEST, Spelling, named
from step.functions.matmul import Matmul
from step.language.dtypes import BF16, FP32
from step.language.graph import Graph
from step.language.types import Tile
from step.lowering.netlist import lower

TILES = TokenFormat(rank=1, items=(2048,), link_bits=512)


def test_names_say_the_numbers() -> None:
    headers = TokenFormat(rank=2, items=(), link_bits=512)
    named_so = {
        "channel_4x512_header4_depth2": ChannelFifo(TILES, 2),
        "channel_4x512_header4_depth2_spare1": ChannelFifo(TILES, 2, 1),
        "channel_4x512_header4_depth66_block_ram": ChannelFifo(TILES, 66, deep=True),
        "channel_headers_header6_depth8": ChannelFifo(headers, 8),
        "convert_from_fp32_to_bf16": Convert(FP32, BF16),
        "delay_line_word5_cycles68": DelayLine(5, 68),
        "fp32_add_stages4": Fp32Add(4),
    }
    assert {name: each.module_name for name, each in named_so.items()} == {name: name for name in named_so}


def product() -> Graph:
    graph = Graph("named")
    left, right = graph.source("x", Tile(BF16, 4, 4), [3]), graph.source("w", Tile(BF16, 4, 4), [3])
    left.map(Matmul(), right).promote().sink("y")
    return graph


NAMES = """
import json, sys
sys.path[:0] = json.loads(sys.argv[1])
from test_naming import names
print(json.dumps(names()))
"""


def names() -> list[str]:
    units = elaborate(lower(product(), FABRIC)).units
    return [each.component.module_name for each in units]


def test_names_are_those_of_every_process() -> None:
    here = names()
    assert here[:2] == 2 * ["source_256_rank0_link64"]
    assert here[3:] == ["promote_512_to_512_rank0_1_link64_top1", "sink_512_rank1_link64"]
    assert re.fullmatch("map_matmul_bf16_4x4_by_4x4_lanes8_2of256_to_512_[0-9a-f]{8}", here[2])
    command = [sys.executable, "-c", NAMES, json.dumps(sys.path)]
    for seed in ("1", "2"):
        done = subprocess.run(command, env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True)
        assert json.loads(done.stdout) == here


class Table(Parametric):
    """A table of ``entries``."""

    def __init__(self, *entries: tuple[int, ...]) -> None:
        self.entries = entries
        super().__init__({"place": In(4)})

    @property
    def parameters(self) -> dict[str, Any]:
        return {"size": len(self.entries), "entries": self.entries}


def test_a_digest_follows_where_words_do_not_tell_two_apart() -> None:
    first, second = (Table((1, 2), (3, end)).module_name for end in (4, 5))
    assert re.fullmatch("table_size2_[0-9a-f]{8}", first)
    assert first != second and first[:-8] == second[:-8] and first == Table((1, 2), (3, 4)).module_name


class Long(Parametric):
    """Of a name that is too long."""

    parameters: ClassVar[dict[str, Any]] = {"quite_a_long_word": 1, "another_word_that_is_long": 2, "and_one_more": 3}

    def __init__(self) -> None:
        super().__init__({"i": In(1)})


def test_names_are_not_too_long() -> None:
    name = Long().module_name
    assert len(name) <= LONGEST and re.fullmatch("long_quite_a_long_word1_another_word_that_is_long2_[0-9a-f]{8}", name)


@cases(({"a": 1, "b": None}, {"a": None, "b": 1}), ({"a": 11, "b": 1}, {"a": 1, "b": 11}), ({"a": 0}, {"a": None}))
def test_other_numbers_have_other_names(parameters: dict[str, Any], others: dict[str, Any]) -> None:
    made = [type("Some", (Parametric,), {"parameters": each}) for each in (parameters, others)]
    one, two = (each({"i": In(1)}).module_name for each in made)
    assert one != two


def test_a_name_without_a_digest_has_all_its_words() -> None:
    assert named("SomeUnit", Spelling(("a1", "b2")), "") == "some_unit_a1_b2"
    assert re.fullmatch("some_unit_a1_b2_[0-9a-f]{8}", named("SomeUnit", Spelling.some("a1", "", "b2"), ""))


ONE_OF_EACH = list({scenario.operator: scenario for scenario in SCENARIOS}.values())
REPR = re.compile(r"//.*(?:[A-Z]\w+\(|<class|<\w+ object|\w=\w|\bNone\b|\bTrue\b|\bFalse\b|'\w+'|`)")


def test_what_is_emitted_is_for_people() -> None:
    """Folders by kind, a comment in words at the head of each file, names of modules that are those of files."""
    design = emit(lower(farm("named", ONE_OF_EACH).graph, FABRIC), probes=False)
    *modules, top = design.sidecar["files"]
    assert "/" not in top
    for file in modules:
        text = design.files[file]
        assert re.fullmatch(
            r"(arithmetic|channels|firing|functions|memory|regions|units)/[a-z][a-z0-9_]{0,59}\.sv", file
        )
        head = text.partition("module ")[0]
        assert re.match(r"// [A-Z]\w+: ", head) and not REPR.search(head), head
        assert re.search(rf"^module {file.partition('/')[2].removesuffix('.sv')} #?\($", text, re.MULTILINE)
        assert all(len(line) <= 120 for line in head.splitlines())

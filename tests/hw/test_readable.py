"""Wires of what is emitted: named, few, and the same whatever else Yosys converts at the time."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from kept_tools import cold_cache
from scenarios import FABRIC, SCENARIOS

import step
from hw.design.emit import emit
from hw.fabric import elaborate
from hw.verilog import regions
from hw.verilog.convert import ModuleLibrary
from hw.verilog.folding import WireFolding
from hw.verilog.readable import readable
from step.language.graph import Graph
from step.lowering.netlist import lower
from step.programs.prepare import prepare

EXAMPLES = Path(step.__file__).parents[1] / "examples"
DECLARED = re.compile(
    r"^ +(?:wire|reg|logic) (?:signed )?(?:\[[^]]+\] )?(\w+)(?: \[[^]]+\])?(?: = \S+)?;$", re.MULTILINE
)
UNNAMED = re.compile(r"n\d+|_\d+_")


CONSTANT = """\
module sample (
  output wire low,
  output wire [3:0] whole
);
  wire [1:0] n1;
  wire [1:0] n2;
  assign n1 = 2'h2;
  assign n2 = n1;
  assign low = n2[0];
  assign whole = { n1, n2 };
endmodule
"""


SEVERAL = """\
module sample (
  input wire [3:0] a,
  output wire [3:0] whole
);
  wire [3:0] n1;
  wire [1:0] n2;
  assign n2 = a[1:0] + a[3:2];
  assign { n1[3], n1[1] } = n2;
  assign { n1[2], n1[0] } = { a[0], a[3] };
  assign whole = n1 + 1'h1;
endmodule
"""


def test_parts_that_are_assigned_together() -> None:
    text = readable(SEVERAL)
    (name,) = re.findall(r"assign whole = (\w+) \+ 1'h1;", text)
    assert (
        f"assign {{ {name}[2], {name}[0] }} = {{ a[0], a[3] }};" in text
        and f"assign {{ {name}[3], {name}[1] }} =" in text
    )


def test_a_wire_without_a_driver_is_refused() -> None:
    with pytest.raises(AssertionError, match=r"\{'n2'\} have no driver any more"):
        readable(CONSTANT.replace("  assign n2 = n1;\n", ""))


def test_a_part_of_a_constant_has_its_value() -> None:
    text = readable(CONSTANT)
    (name,) = re.findall(r"assign low = (\w+)\[0\];", text)
    assert f"assign {name} = 2'h2;" in text and "assign whole = { 2'h2, 2'h2 };" in text


@pytest.mark.parametrize("example", ["moe_simple.py:small", "softmax.py", "recirculate.py"])
def test_wires_have_names(example: str) -> None:
    """At least four of five."""
    design = emit(prepare(f"{EXAMPLES}/{example}").netlist, probes=False)
    declared = [each for file in design.sidecar["files"] for each in DECLARED.findall(design.files[file])]
    assert len(declared) > 500
    assert sum(UNNAMED.fullmatch(each) is None for each in declared) >= 0.8 * len(declared)


def test_names_do_not_depend_on_what_the_cache_has(tmp_path: Path) -> None:
    """Yosys numbers its own wires in all that it reads; half of the modules come from the cache here."""
    graph = Graph("cached")
    (scenario,) = (each for each in SCENARIOS if each.name == "eager_merge-uneven")
    scenario.build(graph)
    components = [each.component for each in elaborate(lower(graph, FABRIC), probes=False).structure.instances]
    whole, half = ModuleLibrary(cold_cache(tmp_path / "whole")), ModuleLibrary(cold_cache(tmp_path / "half"))
    for component in components:
        whole.require(component)
    for component in components[::2]:
        half.require(component)
    half.texts()
    rest = ModuleLibrary(tmp_path / "half")  # the same folder
    for component in components:
        rest.require(component)
    assert rest.texts() == whole.texts()


MODULE = """\
module sample (
  input wire [3:0] a,
  input wire [3:0] b,
  input wire rst,
  input wire clk,
  output wire [3:0] kept,
  output wire wide
);
  reg [3:0] count = 4'h0;
  reg [3:0] count_next;
  wire n1;
  wire [4:0] n2;
  wire [4:0] n3;
  wire n4;
  wire n5;
  wire n6;
  wire [3:0] n7;
  wire unread;
  assign n1 = a == b;
  assign n2 = count + 1'h1;
  assign n3 = n1 ? 5'h0 : n2;
  assign n4 = ~ a[0];
  assign n5 = n4 & b[1];
  assign n6 = n5;
  assign n7 = a + b;
  assign unread = a[1];
  always_ff @(posedge clk)
    count <= count_next;
  always_comb begin
    count_next = count;
    if (n6) begin
      count_next = n3[3:0];
    end
    if (1'h0) begin
      count_next = 4'h7;
    end
    if (rst) begin
      count_next = 4'h0;
    end
  end
  assign kept = n7 >> count;
  assign wide = n7 == b;
endmodule
"""

READABLE = """\
module sample (
  input wire [3:0] a,
  input wire [3:0] b,
  input wire rst,
  input wire clk,
  output wire [3:0] kept,
  output wire wide
);
  wire [3:0] a_plus_b;
  reg [3:0] count = 4'h0;
  always_ff @(posedge clk) begin
    if (~a[0] & b[1]) begin
      count <= (a == b) ? 4'h0 : (count + 1'h1);
    end
    if (rst) begin
      count <= 4'h0;
    end
  end
  assign a_plus_b = a + b;
  assign kept = a_plus_b >> count;
  assign wide = a_plus_b == b;
endmodule
"""


def test_a_module_is_folded_where_widths_allow_it() -> None:
    """A sum keeps its width where it is compared or shifted, so it stays a wire."""
    assert readable(MODULE) == READABLE


@pytest.mark.parametrize(
    ("value", "width", "folded"),
    [
        ("n1 & n2", "", "(a == b) & ~c"),
        ("~ n1", "", "~(a == b)"),
        ("n3 == b", "", "n3 == b"),
        ("n2 ? n3 : b", "[3:0] ", "~c ? (a + b) : b"),
        ("n2 ? n3 : b", "[7:0] ", "~c ? n3 : b"),
        ("n1 + a", "[3:0] ", "n1 + a"),
        ("n4 & a", "[3:0] ", "n4 & a"),
    ],
)
def test_what_is_put_into_an_expression(value: str, width: str, folded: str) -> None:
    assigned = {"n1": "a == b", "n2": "~ c", "n3": "a + b", "n4": "$signed(a) + $signed(b)"}
    widths = {"a": "[3:0] ", "b": "[3:0] ", "c": "", "n1": "", "n2": "", "n3": "[3:0] ", "n4": "[3:0] "}
    assert WireFolding(assigned, widths, Counter([*assigned])).expression(value, width).text == folded


CASES = """\
module cases (
  input wire [1:0] a,
  output reg b,
  output reg c
);
  always_comb begin
    casez (a)
      2'h0:
          b = 1'h1;
      2'h1, 2'b1?:
          b = 1'h0;
    endcase
  end
  always_comb begin
    c = 1'h0;
    casez (a)
      2'h3:
          c = 1'h1;
    endcase
  end
endmodule
"""


def test_a_case_has_a_default() -> None:
    text = readable(CASES)
    assert "      default:\n          b = 1'h0;\n    endcase" in text
    assert "      2'h3:\n          c = 1'h1;\n      default: ;\n    endcase" in text


def test_slang_finds_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """With the rules that are shipped; without them it finds something."""
    driver = pytest.importorskip("pyslang.driver")
    emit(prepare(f"{EXAMPLES}/moe_simple.py:small").netlist, tmp_path / "design", probes=False)
    said = []
    for rules in (f"-f {tmp_path}/design/slang.f", "-Weverything"):
        slang = driver.Driver()
        slang.addStandardArgs()
        assert slang.parseCommandLine(f"slang {rules} -F {tmp_path}/design/fabric.f")
        assert slang.processOptions() and slang.parseAllSources()
        compilation = slang.createCompilation()
        slang.reportCompilation(compilation, True)
        slang.runAnalysis(compilation)
        assert slang.reportDiagnostics(True)
        said.append(capfd.readouterr().err)
    assert said[0] == "" and "warning:" in said[1]


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="no Icarus Verilog")
def test_icarus_is_not_sorry(tmp_path: Path) -> None:
    design = emit(prepare(f"{EXAMPLES}/moe_simple.py:small").netlist, tmp_path / "design", probes=False)
    command = ["iverilog", "-g2012", "-t", "null", *design.sidecar["files"]]
    ran = subprocess.run(command, cwd=tmp_path / "design", capture_output=True, text=True, check=True)
    assert ran.stdout + ran.stderr == ""


def test_large_designs_are_in_regions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A module for each expert, where the sidecar finds what is in it; nothing is lost or added."""
    netlist = prepare(f"{EXAMPLES}/moe_simple.py:small").netlist
    whole = emit(netlist, probes=False)
    monkeypatch.setattr(regions, "MOST_LINES", 1_000)
    split = emit(netlist, probes=False)
    made = {name for name in split.files if name.startswith("regions/")}
    alike = {"expert0", "expert1", "routing"}
    assert made == {f"regions/fabric_moe_small_{each}.sv" for each in alike}
    places = {unit["name"]: unit["instance"] for unit in split.sidecar["units"]}
    assert places["route"] == "u4_route" and places["expert1_keep"].startswith("expert1.u")
    instances = re.compile(r"^  \w+ (?:#\(.*\) )?([cu]\d+_\w+) \($", re.MULTILINE)
    texts = [split.files[name] for name in (*made, "fabric_moe_small.sv")]
    found = sorted(each for text in texts for each in instances.findall(text))
    assert found == sorted(instances.findall(whole.files["fabric_moe_small.sv"])) and len(found) == 75
    assert {each["wires"].partition(".")[0] for each in split.sidecar["channels"] if "." in each["wires"]} == alike

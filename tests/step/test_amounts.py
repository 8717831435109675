"""Amounts with units: what fits a measure, and the exact texts for what does not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cases import cases
from raising import raised

from step import FabricConfig
from step.errors import FabricError, InputError
from step.host.amounts import BYTES, BYTES_A_CYCLE, DAYS, MEGAHERTZ, PERCENT, PICOJOULES, Quantity, counted
from step.host.sizes import parse_size
from step.lowering.fabric import with_settings
from step_explore.tuning.budget import LIMITED, Budget

CYCLES = counted("cycles")


@cases(
    (CYCLES, "8", 8), (CYCLES, "300k", 300_000), (CYCLES, "300K", 300_000), (CYCLES, "1.5k", 1500),
    (CYCLES, "2M", 2_000_000), (CYCLES, "2Mi", 2 << 20), (CYCLES, "1Ki", 1024), (CYCLES, "0.1k", 100),
    (BYTES, "4Mbit", 500_000), (BYTES, "500kB", 500_000), (BYTES, "500 kB", 500_000), (BYTES, "64KiB", 65_536),
    (BYTES, "1Kibit", 128), (BYTES, "8bit", 1), (BYTES, "2G", 2 * 10**9), (BYTES, "1.1kB", 1100),
    (BYTES_A_CYCLE, "64", 64), (BYTES_A_CYCLE, "512bit/cycle", 64), (BYTES_A_CYCLE, "1.5B/cycle", 1.5),
    (BYTES_A_CYCLE, "0.3", 0.3),
    (PICOJOULES, "5", 5), (PICOJOULES, "2G", 2 * 10**9), (PICOJOULES, "20uJ", 2 * 10**7),
    (PICOJOULES, "20µJ", 2 * 10**7), (PICOJOULES, "3pJ", 3), (PICOJOULES, "1mJ", 10**9), (PICOJOULES, "1J", 10**12),
    (MEGAHERTZ, "125", 125), (MEGAHERTZ, "125MHz", 125), (MEGAHERTZ, "0.2GHz", 200), (MEGAHERTZ, "1Hz", 1e-6),
    (PERCENT, "5", 5), (PERCENT, "2.5%", 2.5), (PERCENT, "5 %", 5), (DAYS, "30d", 30),
)  # fmt: skip
def test_amounts(unit: Quantity, text: str, number: float) -> None:
    found = unit.amount(text, "it")
    assert found == number and type(found) is type(number)


COUNT = "it must be a number without a unit, such as 300k, not "
RATE = "it must be a number of B/cycle or bit/cycle, such as 64 or 512bit/cycle, not "
SIZE = "it must be a number of B or bit, such as 4Mbit or 500kB, not "


@cases(
    *((CYCLES, text, f"{COUNT}{text!r}") for text in (
        "8bit", "3kB", "3J", "3MHz", "5%", "-1", "+1", "nan", "inf", "", "k", "1e", "1,000", "1_000", " 1", "1 ",
        "1m", "1..2", "1.", ".5", "0x10", "1kk", "٣", "3cycle", "3\n",
    )),
    (CYCLES, "1.5", "it must be whole cycles, and '1.5' are 1.5"),
    (CYCLES, "1.0001k", "it must be whole cycles, and '1.0001k' are 1000.1"),
    *((BYTES, text, f"{SIZE}{text!r}")
      for text in ("3J", "3b", "4Mb", "3Byte", "3mB", "64B/cycle", "-3B", "infB")),
    (BYTES, "1bit", "it must be whole bytes, and '1bit' are 0.125"),
    *((BYTES_A_CYCLE, text, f"{RATE}{text!r}")
      for text in ("64B", "64bit", "64B/s", "64GB/s", "nan")),
    *((PICOJOULES, text, f"it must be a number of J, or of picojoules without a unit, such as 20uJ, not {text!r}")
      for text in ("3W", "3B", "3Wh", "-3J", "5m")),
    *((MEGAHERTZ, text, f"it must be a number of Hz, or of MHz without a unit, such as 250MHz, not {text!r}")
      for text in ("5ns", "100MB", "nan", "-100", "100M")),
    *((PERCENT, text, f"it must be a percentage such as 5%, not {text!r}")
      for text in ("nan", "nan%", "inf", "-5%", "5bit", "5%%", "5k%", "5k")),
)  # fmt: skip
def test_amounts_that_do_not_fit(unit: Quantity, text: str, message: str) -> None:
    assert raised(InputError, lambda: unit.amount(text, "it")) == message


KINDS = {
    "a number without a unit": ("3bit", "3kB", "3J", "3MHz", "3B/cycle", "3%"),
    "a number of B or bit": ("3J", "3MHz", "3B/cycle", "3%", "3cycles"),
    "a number of B/cycle or bit/cycle": ("3B", "3bit", "3J", "3%"),
    "a number of J, or of picojoules without a unit": ("3B", "3bit", "3W", "3%"),
}


@pytest.mark.parametrize("name", LIMITED)
def test_each_budget_takes_units_of_its_own(name: str) -> None:
    unit = LIMITED[name]
    assert Budget.parse([f"{name}=3"]).limits == {name: 3} and Budget.parse([f"{name}=3k"]).limits == {name: 3000}
    for amount in KINDS[unit.says.partition(", such")[0]]:
        caught = raised(InputError, Budget.parse, [f"{name}={amount}"])
        assert caught == f"a budget of {name} must be {unit.says}, not {amount!r}"


@cases(
    (lambda: Budget.parse(["lut_sites=0.5"]), "a budget of lut_sites must be whole LUT sites, and '0.5' are 0.5"),
    (lambda: Budget.parse(["memory_bytes=1bit"]), "a budget of memory_bytes must be whole bytes, and '1bit' are 0.125"),
    (lambda: Budget.parse(["cycles=-1"]),
     "a budget must be NAME=NUMBER, such as lut_sites=300k or memory_bytes=4Mbit, not 'cycles=-1'"),
    (lambda: Budget.parse(["cycles=nan"]),
     "a budget must be NAME=NUMBER, such as lut_sites=300k or memory_bytes=4Mbit, not 'cycles=nan'"),
    (lambda: Budget.parse(["cycles=0"]), "a budget of cycles must be a number above 0, not 0"),
    (lambda: Budget.parse(["cycle=8bit"]),
     f"there is no budget of 'cycle'; did you mean 'cycles'? there are {', '.join(LIMITED)}"),
    (lambda: Budget.parse(["cycles=8", "cycles=8"]), "the budget of cycles is given twice"),
    (lambda: Budget({"cycles": float("nan")}), "a budget of cycles must be a number above 0, not nan"),
    (lambda: parse_size("8bit"), "a size must be a number of bytes, KB, MB, GB or TB, such as 500 MB, not '8bit'"),
    (lambda: parse_size("0.5"), "a size must be whole bytes, and '0.5' are 0.5"),
)  # fmt: skip
def test_budgets_and_sizes_that_do_not_fit(make: Callable[[], object], message: str) -> None:
    assert raised(InputError, make) == message


def test_settings_with_units() -> None:
    found = with_settings(FabricConfig(), ["fabric.scratchpad_bytes=64KiB", "links.gate=128bit", "memory.latency=1k"])
    assert (found.scratchpad_bytes, found.links["gate"], found.memory.latency) == (65_536, 16, 1000)
    bandwidths = ("memory.bandwidth=512bit/cycle", "memory.bandwidth=64B/cycle", "memory.bandwidth=64")
    assert len({with_settings(FabricConfig(), [each]) for each in bandwidths}) == 1


@cases(
    ("fabric.link_bytes=64Hz", "link_bytes must be a number of B or bit, such as 4Mbit or 500kB, not '64Hz'"),
    ("fabric.link_bytes=4bit", "link_bytes must be whole bytes, and '4bit' are 0.5"),
    ("links.gate=64J", "links.gate must be a number of B or bit, such as 4Mbit or 500kB, not '64J'"),
    ("fabric.stages=2B", "stages must be a number without a unit, such as 300k, not '2B'"),
    ("lanes.gate=4bit", "lanes.gate must be a number without a unit, such as 300k, not '4bit'"),
    ("memory.latency=24ns", "memory.latency must be a number without a unit, such as 300k, not '24ns'"),
    ("memory.bandwidth=64B",
     "memory.bandwidth must be a number of B/cycle or bit/cycle, such as 64 or 512bit/cycle, not '64B'"),
    ("memory.bandwidth=nan", "memory.bandwidth must be a number above 0, not 'nan'"),
)  # fmt: skip
def test_settings_that_do_not_fit(setting: str, message: str) -> None:
    assert raised(FabricError, lambda: with_settings(FabricConfig(), [setting])) == message

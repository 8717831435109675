"""Error of the formulas of `step_explore.areas` on designs that they were not fitted to; ``--fit`` fits them anew.

    python -m benchmarks.area_formulas [--fit | --add]

``--add`` fits only functions and operators that the table does not have, and leaves what it has.
The truth is the estimate of ``step metrics --fabric``, which counts the operators in the Verilog of each module.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.optimize import nnls

from benchmarks.area_designs import designs
from cosim.synthesis.estimate import estimate
from cosim.synthesis.families.ecp5 import Ecp5, Ecp5Area
from step.errors import FabricError
from step.lowering.netlist import Netlist
from step.programs.prepare import prepare
from step_explore.areas.amounts import Amounts
from step_explore.areas.model import TABLE, Area, amounts, area_of, coefficients, price

EXAMPLES = ("moe_simple", "attention", "softmax", "swiglu", "norm_qkv", "moe_mixtral")

NARROWER: Mapping[str, Any] = {"vector_lanes": 4, "matmul_lanes": 8, "link_bytes": 32}
"""The other fabric that they are looked at on."""

LEAST = 100.0
"""What parts with less of a resource are weighted like."""

STIFFNESS = 0.01
"""How strongly coefficients are kept small where the designs say little of them, for one of a `likely` size."""

SYNTHESISED = {"dealt.chosen_bits": [1.0, 0.0, 0.0, 0.0], "fused_products.BF16": [216.42, 1.0, 0.0, 0.0]}
"""Coefficients that Yosys gives: the estimate takes most multiplexers for parts of the LUTs that they feed, and fused
sums for a third larger than they are (``benchmarks.arithmetic``)."""

Sample = tuple[Amounts, Area]

Table = dict[str, list[float]]


def truth(netlist: Netlist) -> dict[tuple[str, str], Area]:
    """The area of every part, by its kind and name."""
    report, found = estimate(netlist, Ecp5()), {}
    for kind, parts in (("unit", report.units), ("channel", report.channels)):
        for part in parts:
            area = part.area
            assert isinstance(area, Ecp5Area)
            kind = "scratchpad" if part.kind == "scratchpad" else kind
            found[kind, part.name] = Area(area.comb_sites, area.dsp, area.block_ram, area.dpr16x4)
    return found


def samples(netlist: Netlist) -> list[Sample]:
    """The amounts and the area of every part."""
    known, found = truth(netlist), amounts(netlist)
    assert known.keys() == found.keys(), known.keys() ^ found.keys()
    return [(found[each], known[each]) for each in found]


def fit(all_samples: Iterable[Sample], known: Mapping[str, Sequence[float]] = MappingProxyType({})) -> Table:
    """Coefficients of every resource: least squares of errors relative to parts, none below zero.

    What is ``known`` stays, and is taken from the parts first; parts of nothing else say nothing.
    """
    distinct = {(tuple(sorted(each.items())), area) for each, area in all_samples if unknown(each, known)}
    names = sorted({name for each, _ in distinct for name in unknown(dict(each), known)})
    places = {name: at for at, name in enumerate(names)}
    table: Table = {name: [] for name in names}
    for at, resource in enumerate(each.name for each in fields(Area)):
        matrix, wanted = np.zeros((len(distinct), len(names))), np.zeros(len(distinct))
        for row, (found, area) in enumerate(distinct):
            actual = getattr(area, resource)
            weight = 1 / (actual + (LEAST if resource.startswith("lut") else 1))
            told = sum(amount * price(name)[at] for name, amount in found if known and name not in places)
            wanted[row] = (actual - told) * weight
            for name, amount in found:
                if name in places:
                    matrix[row, places[name]] = amount * weight
        prior = np.diag([STIFFNESS / likely(name, resource) for name in names])
        matrix, wanted = np.vstack([matrix, prior]), np.append(wanted, np.zeros(len(names)))
        scale = np.maximum(np.abs(matrix).max(axis=0), 1e-30)
        solved, _ = nnls(matrix / scale, wanted, maxiter=100 * len(names))
        for name, each in zip(names, solved / scale, strict=True):
            table[name].append(float(f"{each:.4g}") if each > 1e-6 else 0.0)
    return {name: list(each) for name, each in sorted({**known, **table}.items())}


def unknown(found: Iterable[str], known: Iterable[str]) -> list[str]:
    """Names in ``found`` of which ``known`` has neither the function nor the operator."""
    heads = {each.partition(".")[0] for each in known}
    return [each for each in found if each.partition(".")[0] not in heads]


def likely(name: str, resource: str) -> float:
    """The size of a coefficient that is to be expected: of a lane or a join, of a bit or a cell, or of a unit."""
    if resource != "lut_sites":
        return 1.0
    if name.rpartition(".")[2].isupper():  # a format
        return 500.0
    return 1.0 if name.endswith(("bits", "rows")) else 6.0 if name.endswith("cells") else 30.0


def save(table: Table, path: Path = TABLE) -> None:
    """Write ``table`` to ``path``, a line for each name."""
    lines = (f" {json.dumps(name)}: {json.dumps(each)}" for name, each in table.items())
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    coefficients.cache_clear()
    price.cache_clear()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--add", action="store_true")
    given = parser.parse_args()
    if given.fit or given.add:
        known: Mapping[str, Sequence[float]] = coefficients() if given.add else {}
        found: list[Sample] = []
        for name, program in designs():
            began = perf_counter()
            try:
                netlist = prepare(program).netlist
                if not any(unknown(each, known) for each in amounts(netlist).values()):
                    continue
                found += samples(netlist)
            except FabricError as error:
                print(f"{name}: left out: {error}")
            print(f"{name}: {len(found):,} parts, {perf_counter() - began:.1f} s", flush=True)
        save(fit(found, known) | SYNTHESISED)
    for name in EXAMPLES:
        netlist = prepare(f"examples/{name}.py").netlist
        for settings in (dict[str, Any](), NARROWER):
            show(name, replace(netlist, fabric=replace(netlist.fabric, **settings)))


def show(name: str, netlist: Netlist) -> None:
    """The areas by the formulas, their errors, and the time that they take."""
    known = truth(netlist)
    actual = sum(known.values(), Area())
    area_of(netlist)
    began = perf_counter()
    said = area_of(netlist)
    took = 1000 * (perf_counter() - began)
    numbers = []
    for each in fields(Area):
        mine, whole = getattr(said, each.name), getattr(actual, each.name)
        numbers.append(f"{each.name} {mine:,.0f} ({100 * (mine / max(1, whole) - 1):+.1f} %)")
    print(f"{name}: {', '.join(numbers)}; {took:.1f} ms")


if __name__ == "__main__":
    main()

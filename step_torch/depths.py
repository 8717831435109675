"""Depths of channels with which an imported program does not deadlock, by runs on the fast model."""

from __future__ import annotations

from dataclasses import replace

from step import Program, Simulator
from step.lowering.netlist import lower
from step_explore.fifos.runs import Runs
from step_explore.fifos.shrink import shrink

DEEP = 1 << 20
"""A depth that no run fills."""


def with_depths(program: Program, *, routed: bool = False) -> Program:
    """``program`` with deeper channels, where it would deadlock; the least that are enough, each alone.

    Those that its lowerings asked for stay, as they hold for other data too. Where data is ``routed``, other data may
    need more: a channel that has to be deeper gets room for all of its tokens. Raises what a run raises that fails
    whatever the depths.
    """
    simulator = Simulator(program)
    runs = Runs(lower(program.graph, program.fabric), [simulator], threads=1)
    asked, deep = runs.asked, dict[str, int]()
    while (outcome := runs.outcome({**asked, **deep})).cycles is None:
        full = [name for name, peak in outcome.peaks.items() if name not in deep and peak >= asked[name]]
        if not full:  # no depth helps: the run says what is wrong
            simulator.run(depths=outcome.depths)
        deep.update(dict.fromkeys(full, DEEP))
    if not deep:
        return program
    deep = {name: max(outcome.peaks[name], asked[name]) for name in deep}
    order = sorted(deep, key=lambda name: -deep[name] * runs.slot_bits[name])

    def ends(candidates: list[dict[str, int]]) -> list[bool]:
        return [each.cycles is not None for each in runs.outcomes([{**asked, **each} for each in candidates])]

    least = shrink(deep, order, ends)  # type: ignore[arg-type]
    changed = {name: depth for name, depth in least.items() if depth > asked[name]}
    if routed:
        changed = {name: outcome.tokens[name] + 1 for name in changed}
    return replace(program, graph=replace(program.graph, depths=changed))

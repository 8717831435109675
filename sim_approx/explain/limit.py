"""The unit that limits a run, and repeated parts in one row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sim_approx.explain.causes import MEMORY, Cause
from sim_approx.explain.explanation import Explanation
from sim_approx.explain.waits import Account
from step.functions.matmul import Matmul
from step.language.dtypes import INT32
from step.lowering.feasible import lanes_of
from step.programs.folding import members

ARROW = " -> "


def folded_cause(cause: Cause, parts: Mapping[str, str]) -> Cause:
    """``cause`` of the parts that stand for its operators."""
    return Cause(ARROW.join(_folded_end(each, parts) for each in cause.what.split(ARROW)), cause.why)


def _folded_end(name: str, parts: Mapping[str, str]) -> str:
    """An operator, or one end of a link, ``name.port``, whose port is a star where the operator is folded."""
    owner, dot, port = name.rpartition(".")
    if name in parts or not dot or owner not in parts:
        return parts.get(name, name)
    return f"{parts[owner]}.{port if parts[owner] == owner else '*'}"


def folded_shares(found: Explanation) -> dict[Cause, dict[str, int]]:
    """By cause of the critical path, folded, the cycles of each that it stands for; the one with most cycles first."""
    rows: dict[Cause, dict[str, int]] = {}
    for cause, cycles in found.path.shares().items():
        rows.setdefault(folded_cause(cause, found.parts), {})[cause.what] = cycles
    return dict(sorted(rows.items(), key=lambda each: -sum(each[1].values())))


def summed(found: Explanation, names: Sequence[str], parts: Mapping[str, str]) -> Account:
    """The account of the operators ``names`` together; whom they waited for is folded by ``parts``."""
    every = [found.accounts[name] for name in names]
    account = Account(sum(each.busy for each in every), sum(each.finished for each in every))
    for each in every:
        for side, cycles in ((account.starved, each.starved), (account.blocked, each.blocked)):
            for other, count in cycles.items():
                side[parts.get(other, other)] += count
    return account


@dataclass(frozen=True)
class RunLimit:
    """The largest share of the critical path: a ``part``, of it most to one ``unit``, an operator (None: of several
    that go to memory there is none) and ``where`` it is; the ``cycles`` by why."""

    part: str
    unit: str | None
    whys: dict[str, int]
    alike: int
    cycles: int
    where: str

    @property
    def text(self) -> str:
        """A sentence."""
        total = sum(self.whys.values())
        first, *rest = self.whys.items()
        whys = [f"{first[0]} {first[1]:,}", *(f"{why} {cycles:,}" for why, cycles in rest[:2])]
        unit = f" ({self.alike} alike, most of it {self.unit})" if self.alike > 1 and self.unit else ""
        share = f"{total / self.cycles:.1%} of the critical path, {total:,} of {self.cycles:,} cycles"
        return f"{self.part}{unit} limits the run: {share} ({', '.join(whys)})"


def limit(found: Explanation) -> RunLimit | None:
    """The limit of the run of ``found``; None of a run without a cycle."""
    by_part: dict[str, Counter[str]] = {}
    units: dict[str, Counter[str]] = {}
    for cause, cycles in found.path.shares().items():
        part = folded_cause(cause, found.parts).what
        by_part.setdefault(part, Counter())[cause.why] += cycles
        units.setdefault(part, Counter())[cause.what] += cycles
    if not by_part:
        return None
    part = max(by_part, key=lambda each: by_part[each].total())
    unit: str | None = units[part].most_common(1)[0][0]
    if part == MEMORY:
        unit = _busiest_port(found)
    elif ARROW in part and unit is not None:  # a link: who reads from it
        consumer = unit.split(ARROW)[1]
        unit = consumer if consumer in found.parts else consumer.rpartition(".")[0]
    alike = len(members(found.parts).get(part, ()))
    unit = unit if unit in found.parts else None
    where = "" if unit is None else _where(found, unit)
    return RunLimit(part, unit, dict(by_part[part].most_common()), alike, found.cycles, where)


def _where(found: Explanation, unit: str) -> str:
    """The ``unit`` with its line of the program, and why it does not use all lanes that it could have."""
    netlist = found.simulation.fabric.netlist
    node = netlist.graph.nodes[unit]
    match node.operator.function:
        case Matmul(sum="ordered") as product if product.out is not INT32:
            lanes, most = lanes_of(node, netlist), netlist.at(node).matmul_lanes
            if lanes < most:
                why = 'an ordered sum takes a term at a time, Matmul(sum="fused") several'
                return f"{node.describe()} uses {lanes} of {most} lanes: {why}"
    return node.describe()


def _busiest_port(found: Explanation) -> str | None:
    """The operator whose loads and stores are most of the beats."""
    fabric = found.simulation.fabric
    if fabric.memory is None:
        return None
    owners = Counter[str]()
    for port in fabric.ports:
        owners[fabric.owners[port.asks.writer].name] += port.granted
    return owners.most_common(1)[0][0]

"""All rules in one C++ text, and what the caller must know of it."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from sim_approx import off_chip, units
from sim_approx.compiled.fields import Kind
from sim_approx.compiled.rule import Rule
from step import rules
from step.firing.machine import Machine
from step.language.faults import Fault
from step.language.tokens import UNKNOWN

HEAD = f"""\
// Made from the rules of step/rules and sim_approx/units.
constexpr long STOPS_DISAGREE = {int(Fault.STOPS_DISAGREE)};
#include "interface.hpp"
"""

RULE = """
struct {name} final : Machine {{
{fields}
    void save(Out& out) const override {{
        save_pace(out);
{saves}
    }}
{traits}
}};

template <int INPUTS, int OUTPUTS>
static int fire_{name}(Machine& machine, Engine& e) {{
    {name}& self = static_cast<{name}&>(machine);
    const Channels inputs = known<INPUTS>(self.inputs), outputs = known<OUTPUTS>(self.outputs);
    (void)self, (void)e, (void)inputs, (void)outputs;
{body}
}}
"""

MAKERS = """
std::unique_ptr<Machine> make_machine(int64_t kind, Reader& reader) {{
    switch (kind) {{
{cases}
    }}
    return nullptr;
}}
"""

CASE = """\
        case {number}: {{
            auto machine = std::make_unique<{name}>();
            reader.read_base(*machine);
            machine->rule = {chosen}(fire_{name}, *machine);
{reads}
            return machine;
        }}"""


@dataclass(frozen=True)
class Layout:
    """How a machine travels: its number, its own ``fields`` in order, and those that come ``back``."""

    number: int
    fields: dict[str, Kind]
    back: dict[str, Kind]


@dataclass(frozen=True)
class Rules:
    """The C++ ``text`` of some rules; ``constants`` are the values that they name, in the order of their numbers."""

    text: str
    layouts: dict[type[Machine], Layout]
    constants: list[Any]


def own_machines() -> tuple[type[Machine], ...]:
    """The machines of all operators of the project."""
    found = []
    names = [f"{room.__name__}.{each.name}" for room in (rules, units) for each in pkgutil.iter_modules(room.__path__)]
    for module in [off_chip, *map(import_module, names)]:
        for each in vars(module).values():
            if isinstance(each, type) and issubclass(each, Machine) and each.__module__ == module.__name__:
                found.append(each)
    return tuple(found)


def rules_for(machines: Iterable[type[Machine]]) -> Rules:
    """The rules of the project, and those of other ``machines``; raises `RuleError`."""
    own = own_machines()
    return _rules((*own, *sorted(set(machines) - set(own), key=lambda each: (each.__module__, each.__qualname__))))


@cache
def _rules(machines: tuple[type[Machine], ...]) -> Rules:
    constants: list[Any] = [UNKNOWN]

    def constant(value: Any) -> int:
        """How C++ knows ``value``: `sim_approx.compiled.handles` gives the same numbers."""
        if all(value is not each for each in constants):
            constants.append(value)
        return ~next(place for place, each in enumerate(constants) if each is value)

    parts, cases, layouts = [HEAD], [], {}
    for number, machine in enumerate(machines):
        rule = Rule(machine, constant)
        name = f"{machine.__name__}_{number}"
        declared = "\n".join(f"    {kind.cpp} {field}{{}};" for field, kind in rule.fields.items())
        saves = "\n".join(f"        ::save(out, {field});" for field in rule.changed)
        parts.append(RULE.format(name=name, fields=declared, saves=saves, traits=rule.traits, body=rule.body))
        chosen = "RULE_BY_PORTS" if rule.goes_over_ports else "RULE"
        reads = "\n".join(f"            reader.read(machine->{field});" for field in rule.fields)
        cases.append(CASE.format(number=number, name=name, reads=reads, chosen=chosen))
        layouts[machine] = Layout(number, rule.fields, rule.changed)
    parts.append(MAKERS.format(cases="\n".join(cases)))
    return Rules("".join(parts), layouts, constants)

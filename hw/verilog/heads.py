"""Comments at the heads of modules: what a module is, its numbers, its ports and its latency."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib import import_module
from typing import Any

from amaranth.hdl import Value
from amaranth.lib.wiring import In

from hw.verilog.digits import any_length
from hw.verilog.modules import Parametric, flat_ports
from hw.verilog.spelling import UNITS
from step.language.dtypes import DType
from step.language.function import Function
from step.language.types import Buffer, Selector, Tile, Tuple
from step.lowering.plans.words import Words

MANY = 16
"""A list of more entries is only counted in a comment."""


def told_ports(component: Parametric) -> str:
    """A comment with the ports of ``component``, those of an interface in one line, and its latency.

    Bits are left out where they are parameters.
    """
    found = (getattr(each, "latency", None) for each in (component, getattr(component, "rule", None)))
    latency = component.depth if component.folder == "arithmetic" else next(filter(None, found), 0)
    groups = dict[str, dict[str, list[str]]]()
    for name, member, value in flat_ports(component):
        interface, _, signal = name.partition("__")
        bits, ways = len(Value.cast(value)), groups.setdefault(interface, {"in": [], "out": []})
        width = f"[{bits}]" if bits > 1 and not component.variables else ""
        ways["in" if member.flow is In else "out"].append(f"{signal} {width}".strip())
    lines = [f"  latency: {_count(latency, 'cycle')}"] if latency else []
    if len(groups) <= MANY:
        lines.append("  ports:")
        for interface, ways in groups.items():
            told = (f"{way} {', '.join(signals)}".strip() for way, signals in ways.items() if signals)
            lines.append(f"    {interface}: {'; '.join(told)}")
    return comment(lines)


def used_as(text: str, uses: Sequence[str]) -> str:
    """The ``text`` of a module with ``uses`` at the end of its head: operators and their lines in the program."""
    told = [*uses[:MANY], *([f"{len(uses) - MANY} more"] if len(uses) > MANY else [])]
    head = comment([f"  used as: {'; '.join(told)}"] if told else [])
    return text.replace("\nmodule ", f"\n{head}module ", 1)


def summary(kind: str) -> str:
    """A comment with what the class ``kind`` (``module:name``) is: the first sentences of its docstring."""
    module, _, name = kind.partition(":")
    found: Any = import_module(module)
    for each in name.split("."):
        found = getattr(found, each)
    text = (found.__doc__ or name).strip().partition("\n\n")[0]
    text = re.sub(r"`+([^`]*)`+", lambda match: match[1].removeprefix("~"), " ".join(text.split()))
    text = text.replace("\\ ", "").replace("\\", "").replace("None", "none")
    return comment([f"{getattr(found, 'verilog_name', '') or found.__name__}: {text}"])


def numbers(parameters: Mapping[str, Any]) -> str:
    """A comment with all ``parameters``."""
    with any_length():
        return comment(f"  {line}" for name, value in parameters.items() for line in _lines(name, value))


def comment(lines: Any) -> str:
    """``lines`` as comments of at most 120 characters, each wrapped below its indentation."""
    wrapped = list[str]()
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        wrapped += textwrap.wrap(line, 117, subsequent_indent=indent, break_on_hyphens=False)
    return "".join(f"// {line}\n" for line in wrapped)


def _lines(name: str, value: Any) -> Iterator[str]:
    """A parameter in words: a line, or more that are indented; nothing of what is not there."""
    if value is None or value is False or value in ((), []):
        return
    unit = next((UNITS[end] for end in UNITS if name.endswith(end)), "")
    label = name.removesuffix(f"_{unit}").replace("_", " ")
    text = _text(value)
    if text is not None:
        yield f"{label}: {text} {unit if isinstance(value, int) else ''}".rstrip()
        return
    yield f"{label}:" if isinstance(value, tuple | list | Mapping) else f"{label}: {type(value).__name__}"
    entries = value.items() if isinstance(value, Mapping) else _entries(value)
    yield from (f"  {line}" for key, each in entries for line in _lines(key, each))


def _entries(value: Any) -> list[tuple[str, Any]]:
    """Parts of a value, by name or number."""
    if is_dataclass(value):
        return [(each.name, getattr(value, each.name)) for each in fields(value)]
    if isinstance(value, tuple | list):
        ends = [at for at, each in enumerate(value) if at + 1 == len(value) or value[at + 1] != each]
        starts = [0, *(at + 1 for at in ends)]
        return [
            (str(start) if start == end else f"{start} to {end}", value[end])
            for start, end in zip(starts, ends, strict=False)
        ]
    raise TypeError(f"a parameter of a module is a {type(value).__name__}, for which there are no words")


def _text(value: Any) -> str | None:
    """A value in a line, if it has one."""
    match value:
        case bool():
            return "yes"
        case Enum():
            return value.name.lower().replace("_", " ")
        case DType() | int() | float() | str():
            return str(value)
        case type():
            return value.__name__
        case _ if hasattr(value, "module_name"):
            return f"module {value.module_name}"
        case _ if hasattr(value, "is_plain"):  # a format of tokens
            return str(value)
        case Words():
            tile = f"{value.rows} x {value.cols} {value.dtype}"
            return f"{tile}, {_count(value.words, 'word')} of {value.word_bits} bits"
        case Tile() | Selector() | Buffer() | Tuple():
            return str(value).replace("(", " ").replace(")", "").strip()
        case Function() if not fields(value):
            return value.name
        case tuple() | list() if len(value) > MANY:
            return f"{len(value)} entries"
        case tuple() | list() if all(isinstance(each, int | str) for each in value):
            return ", ".join(map(str, value))
        case tuple() | list() if all(isinstance(each, tuple) for each in value):
            texts = [_text(each) for each in value]
            return None if None in texts else "; ".join(map(str, texts))
    return None if is_dataclass(value) or isinstance(value, tuple | list | Mapping) else str(value)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"

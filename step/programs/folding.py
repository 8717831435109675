"""Repeated parts of a program: experts, regions, heads."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from step.language.graph import Graph, Node
from step.language.types import is_dynamic, with_rows

FEWEST = 3
"""Operators that are folded to one."""

NUMBER = re.compile(r"\d+")


def folded(graph: Graph) -> dict[str, str]:
    """By operator, the name of the part that stands for it and all that are like it; of one that is like no other, its
    own.

    Operators are alike if their names differ in numbers only, and they do the same with elements of the same types.
    """
    alike: dict[tuple[str, object], list[str]] = defaultdict(list)
    for node in graph:
        alike[starred(node.name), _work(node)].append(node.name)
    names: dict[str, str] = {}
    kinds: dict[str, int] = defaultdict(int)
    for (pattern, _), members in alike.items():
        if len(members) < FEWEST:
            names |= {each: each for each in members}
            continue
        kinds[pattern] += 1
        part = pattern if kinds[pattern] == 1 else f"{pattern} ({kinds[pattern]})"
        names |= dict.fromkeys(members, part)
    return names


def starred(name: str) -> str:
    """``name`` with a star for each number."""
    return NUMBER.sub("*", name)


def members(parts: Mapping[str, str]) -> dict[str, list[str]]:
    """By part, those that it stands for."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, part in parts.items():
        found[part].append(name)
    return dict(found)


def common(texts: Iterable[str]) -> str:
    """Common form of ``texts``, with a star for each number in which they differ; the first one where more differs."""
    different = list(dict.fromkeys(texts))
    if len({starred(each) for each in different}) > 1:
        return f"{different[0]}, .."
    places = map(set, zip(*map(NUMBER.findall, different), strict=True))
    numbers = iter(["*" if len(each) > 1 else each.pop() for each in places])
    return NUMBER.sub(lambda _: next(numbers), different[0])


def _work(node: Node) -> object:
    function = node.operator.function
    elements = (each.element for each in (*node.input_types, *node.output_types))
    types = [(is_dynamic(each), with_rows(each, 1)) for each in elements]  # all dynamic rows are the same
    return node.operator.name, function and function.name, len(node.inputs), tuple(types)

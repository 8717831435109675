"""Names of wires that nobody has named: what they are, in words, or else what they are for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from hw.verilog.folding import TEMPORARY

LONGEST = 32
"""Characters of a name that says what a wire is."""

_WORDS = {
    **{"==": "is", "!=": "is_not", "<": "below", "<=": "at_most", ">": "above", ">=": "at_least"},
    **{"&": "and", "&&": "and", "|": "or", "||": "or", "^": "xor", "+": "plus", "-": "minus", "*": "times"},
    **{"<<": "up_by", ">>": "down_by", "?": "then", ":": "else"},
}
_SIGNS = {"~": "not", "!": "no", "&": "all", "|": "any", "^": "parity", "-": "minus", "~^": "even"}
_KINDS = {
    "choice": re.compile(r" \? "),
    "sum": re.compile(r" [+-] "),
    "product": re.compile(r" \* "),
    "shifted": re.compile(r" (<<|>>)"),
    "condition": re.compile(r" (==|!=|<|>|<=|>=|&|&&|\||\|\||\^) |^[~!&|^]"),
    "value": re.compile(""),
}
_TOKEN = re.compile(r"(\d+'[hdb]\w+)|([A-Za-z_]\w*)(?:\[(\d+)(:\d+)?\])?|([^\s\w()]+)|[()]")
_WORD = re.compile(r"(?<![\w.$'])[A-Za-z_]\w*")
_PLACE = re.compile(r"^ +(?:(\w+)(?:\[.*?\])? <?= |\.(\w+)\(|).*", re.MULTILINE)
_INSTANCE = re.compile(r"^  (?:\w+|\)) (\w+) \($", re.MULTILINE)


def natural(name: str) -> list[tuple[int, str]]:
    """Key that sorts numbers in names as numbers."""
    return [(int(each), "") if each.isdigit() else (0, each) for each in re.split(r"(\d+)", name)]


class WireNames:
    """Names for the temporaries in what is ``assigned`` and in ``chunks``, none of which is ``taken``.

    They depend on the order of the chunks and on nothing that Yosys numbers. Without ``numbers`` they tell no
    constants, which may be parameters.
    """

    def __init__(
        self, assigned: Mapping[str, str], chunks: Sequence[str], taken: set[str], *, numbers: bool = True
    ) -> None:
        self._assigned, self._taken, self._numbers = assigned, set(taken), numbers
        self._users, self.names = dict[str, str](), dict[str, str]()
        self._parts = dict[str, list[str]]()
        for name in sorted(assigned, key=natural):
            self._parts.setdefault(name.partition("[")[0], []).append(name)
        for text, user in _places(chunks):
            self._use(text, user)
        for name in sorted((each for each in assigned if not TEMPORARY.match(each)), key=natural):
            self._use(name, name)
        for name in self._users:
            self._name(name)

    def _use(self, text: str, user: str) -> None:
        """Note that what is ``text`` is for ``user``."""
        for word in _WORD.findall(text):
            if TEMPORARY.fullmatch(word) and word != user:
                self._users.setdefault(word, user)
            for part in self._parts.pop(word, ()):
                self._use(self._assigned[part], word)

    def _name(self, wire: str) -> str:
        if wire in self.names or not TEMPORARY.fullmatch(wire):
            return self.names.get(wire, wire)
        self.names[wire] = self._end(wire)  # should it depend on itself
        value = self._assigned.get(wire, "")
        name = self._said(value) if value else ""
        if not name or len(name) > LONGEST:
            kind = next(kind for kind, found in _KINDS.items() if found.search(value))
            name = f"{self._name(self._users.get(wire, self._end(wire)))}_{kind}"
            name = re.sub(rf"(_{kind})+$", f"_{kind}", name)
        unique, number = name, 2
        while unique in self._taken:
            unique, number = f"{name}_{number}", number + 1
        self._taken.add(unique)
        self.names[wire] = unique
        return unique

    def _end(self, wire: str) -> str:
        """The signal with a name that ``wire`` is for."""
        passed = set[str]()
        while TEMPORARY.fullmatch(wire) and wire not in passed:
            passed.add(wire)
            wire = self._users.get(wire, "state")
        return "state" if wire in passed else wire

    def _said(self, value: str) -> str:
        """The words of an expression; none where there are no good ones."""
        words, after = list[str](), False
        for found in _TOKEN.finditer(value):
            constant, signal, high, low, sign = found.groups()
            if constant:
                words.append(str(int(*_digits(constant))) if self._numbers else "constant")
            elif signal:
                part = "_".join(filter(None, (high, low and f"to_{low[1:]}"))) if self._numbers else high and "part"
                words.append("_".join(filter(None, (self._name(signal).strip("_"), part))))
            elif sign:
                known = _WORDS if after else _SIGNS
                if sign not in known:
                    return ""
                words.append(known[sign])
            after = bool(constant or signal) or found[0] == ")"
        return "_".join(words) if words and words[0][:1].isalpha() else ""


def _digits(constant: str) -> tuple[str, int]:
    _, _, text = constant.partition("'")
    return text[1:], {"h": 16, "d": 10, "b": 2}[text[0]]


def _places(chunks: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Lines of instances and processes, each with what it is for."""
    for chunk in chunks:
        instance = _INSTANCE.search(chunk)
        targets = re.findall(r"^ +(\w+)(?:\[.*?\])? <?= ", chunk, re.MULTILINE)
        for line in _PLACE.finditer(chunk):
            target, port = line.groups()
            user = target or (f"{instance[1]}_{port}" if instance and port else next(iter(targets), "state"))
            yield line[0], user

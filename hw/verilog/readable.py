"""A module of Verilog with fewer wires, those that are left named, and each before what it is for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

from hw.verilog.folding import TEMPORARY, WireFolding
from hw.verilog.wire_names import WireNames, natural

_PORT = re.compile(r"^  (input|output) (?:wire|reg) (\[[^]]+\] )?(\w+)", re.MULTILINE)
_DECLARED = re.compile(r"  (?:wire|reg) (signed )?(\[[^]]+\] )?(\w+)( = \S+)?;\n")
_ASSIGNED = re.compile(r"  assign ([^{].*?) = (.+);\n")
_CHUNK = re.compile(r"^(?=  (?!end\b)(?:\w|\(\*))", re.MULTILINE)
_MEMORY = re.compile(r"^(  reg (?:\[[^]]+\] )?\w+) \[(\d+):0\];")
_ALIAS = re.compile(r"([A-Za-z_]\w*)(\[[^][]+\])?|\d+'[hdb]\w+")
_SIGNAL = re.compile(r"(?<![\w.$'])([A-Za-z_]\w*)(\[[^][]+\])?(?!\S* <?= )")
_WORD = re.compile(r"(?<![\w.$'])[A-Za-z_]\w*")
_REGISTER = re.compile(r"  always_ff @\(posedge clk\)\n    (\w+) <= (\w+);\n")
_DRIVEN = re.compile(r"^ +(\w+)(?:\[\S+\])? <?= ", re.MULTILINE)
_TARGET = re.compile(r"^ +(\w+)(?:\[\S+\])? = ", re.MULTILINE)
_NEVER = re.compile(
    r"^( *)if \(1'h0\) begin\n(?:\1 .*\n)*\1end(?: else begin\n((?:\1 .*\n)*)\1end\n|\n| else (?=if))", re.MULTILINE
)
_CASE = re.compile(r"^( *)casez? \(.*\)\n((?:\1 .*\n)*)\1endcase\n", re.MULTILINE)
_LABELS = re.compile(r"^( *)((?:\d+'[hb][0-9a-f?]+(?:, )?)+):\n", re.MULTILINE)
_READ_PART = re.compile(r"(?<![\w.$'])([A-Za-z_]\w*)\[\d+(?::\d+)?\](?! = )")
_ASSIGNED_PART = re.compile(r"(\w+)\[(\d+)(?::(\d+))?\]")

MOST_PARTS = 8
"""Parts that are written side by side."""


def readable(text: str, *, numbers: bool = True) -> str:
    """The ``text`` of a module as `laid_out` gives it. Only with ``numbers`` names of wires may tell constants."""
    head, body = text.removesuffix("endmodule\n").split("\n);\n", maxsplit=1)
    module = _ModuleBody(body, {port[3]: port[2] or "" for port in _PORT.finditer(head)})
    for step in (
        *(module.without_aliases, module.with_fields, module.without_next_values, module.without_unread),
        *(module.folded, module.without_parts, module.without_unread, module.with_parts),
    ):
        step()
    taken = {*module.widths, *_WORD.findall("".join(module.chunks))}  # variables of blocks, too
    assert not (lost := module.undriven()), f"{lost} have no driver any more"
    module.rename(WireNames(module.assigned, module.chunks, taken, numbers=numbers).names)
    return f"{head}\n);\n{''.join(module.written())}endmodule\n"


class _ModuleBody:
    """``declared`` signals, what is ``assigned``, and all else in ``chunks``; ``widths`` has no memories."""

    def __init__(self, body: str, ports: dict[str, str]) -> None:
        self.ports, self.declared = ports, dict[str, str]()
        self.widths, self.assigned, self.chunks = dict(ports), dict[str, str](), list[str]()
        attributes = ""
        for chunk in filter(None, _CHUNK.split(body)):
            if chunk.startswith("  (*"):
                attributes += chunk
                continue
            if declared := _DECLARED.fullmatch(chunk):
                self.declared[declared[3]] = attributes + chunk
                self.widths[declared[3]] = declared[2] or ""
            elif assigned := _ASSIGNED.fullmatch(chunk):
                self.assigned[assigned[1]] = assigned[2]
            else:
                self.chunks.append(attributes + _MEMORY.sub(r"\1 [0:\2];", chunk))
            attributes = ""

    def _uses(self) -> Counter[str]:
        """Counts of signals in values and chunks."""
        return Counter(word for text in (*self.assigned.values(), *self.chunks) for word in _WORD.findall(text))

    def undriven(self) -> set[str]:
        """Wires that nothing drives."""
        driven = {each.partition("[")[0] for each in self.assigned}
        for chunk in self.chunks:  # an instance, or an assignment to several, may drive all that it names
            driven.update((_DRIVEN if chunk.startswith("  always") else _WORD).findall(chunk))
        return {name for name, line in self.declared.items() if "  wire " in line} - driven

    def _change(self, change: Callable[[str], str]) -> None:
        self.assigned = {name: change(value) for name, value in self.assigned.items()}
        self.chunks = [change(chunk) for chunk in self.chunks]

    def rename(self, names: dict[str, str]) -> None:
        """Give signals the new ``names``, everywhere."""

        def renamed(text: str) -> str:
            return _WORD.sub(lambda match: names.get(match[0], match[0]), text)

        self._change(renamed)
        self.assigned = {renamed(name): value for name, value in self.assigned.items()}
        self.declared = {names.get(name, name): renamed(line) for name, line in self.declared.items()}
        self.widths = {names.get(name, name): width for name, width in self.widths.items()}

    def without_aliases(self) -> None:
        """A temporary that is a signal, a part or a constant is not there; one that a signal is has that name."""
        aliases = {name: value for name, value in self.assigned.items() if TEMPORARY.fullmatch(name)}
        aliases = {name: value for name, value in aliases.items() if _ALIAS.fullmatch(value)}
        kept = set[str]()

        def meant(match: re.Match[str]) -> str:
            name, part = match[1], match[2]
            if name not in aliases:
                return match[0]
            found = _SIGNAL.sub(meant, aliases[name])
            if part and not found.isidentifier():  # a part of a part, or of a constant
                kept.add(name)
                return match[0]
            return found + (part or "")

        self._change(lambda text: _SIGNAL.sub(meant, text))
        self.assigned = {name: value for name, value in self.assigned.items() if name not in aliases or name in kept}
        names = dict[str, str]()
        for name, value in sorted(self.assigned.items(), key=lambda each: natural(each[0])):
            line, itself = self.declared.get(value, ""), self.declared.get(name, "  wire ")
            driven = name not in self.ports or " wire " in line  # a wire can not be what a process drives
            named = name.isidentifier() and not TEMPORARY.fullmatch(name) and " wire " in itself and driven
            if named and line and TEMPORARY.fullmatch(value):
                names.setdefault(value, name)
        for value, name in names.items():
            del self.assigned[name]
            self.declared.pop(name, None)
            line = self.declared.pop(value)
            if name not in self.ports:
                self.declared[value] = line
        self.rename(names)
        self.chunks = [_simple(chunk) for chunk in self.chunks]

    def with_fields(self) -> None:
        """The name of a part of a signal is read in its place."""
        fields = dict[str, str]()
        for name, value in sorted(self.assigned.items(), key=lambda each: natural(each[0])):
            if name.isidentifier() and name not in self.ports and (found := _ALIAS.fullmatch(value)) and found[2]:
                fields.setdefault(value, name)

        def named(text: str) -> str:
            return _SIGNAL.sub(lambda match: fields.get(match[0], match[0]), text)

        for part, name in fields.items():
            value = self.assigned.get(part, "")
            if value and ("'" in value or TEMPORARY.match(value) or not _ALIAS.fullmatch(value)):
                self.assigned[name], self.assigned[part] = self.assigned[part], name
        names = {name for part, name in fields.items() if self.assigned[name] == part}
        self.assigned = {name: value if name in names else named(value) for name, value in self.assigned.items()}
        self.chunks = [named(chunk) if chunk.startswith("  always_") else chunk for chunk in self.chunks]

    def without_next_values(self) -> None:
        """The next value of a register is assigned where its clock is, if nobody else reads that."""
        uses = self._uses()
        blocks = {each[1]: place for place, chunk in enumerate(self.chunks) if (each := _TARGET.search(chunk))}
        for place, chunk in enumerate(self.chunks):
            found = _REGISTER.fullmatch(chunk)
            if not found or found[2] not in blocks:
                continue
            register, value = found.groups()
            block = self.chunks[blocks[value]]
            targets = _TARGET.findall(block)
            if {*targets} != {value} or uses[value] != len(targets) + 1:
                continue
            lines = re.sub(rf"^( +){value}((?:\[\S+\])?) = ", rf"\1{register}\2 <= ", block, flags=re.MULTILINE)
            lines = re.sub(rf"^    {register}((?:\[\S+\])?) <= {register}\1;\n", "", lines, flags=re.MULTILINE)
            self.chunks[place] = lines.replace("  always_comb", "  always_ff @(posedge clk)", 1)
            self.chunks[blocks[value]] = ""
            del self.declared[value]
        self.chunks = list(filter(None, self.chunks))

    def without_unread(self) -> None:
        """Signals that nobody reads are not there."""
        while True:
            uses = self._uses()
            kept = {each: each.partition("[")[0] for each in self.assigned}
            unread = [each for each, base in kept.items() if not uses[base] and base not in self.ports]
            for each in unread:
                del self.assigned[each]
            if not unread:
                break
        driven = {*kept.values()}
        self.declared = {name: line for name, line in self.declared.items() if uses[name] or name in driven}

    def folded(self) -> None:
        """Expressions in the places of temporaries."""
        temporary = {name: value for name, value in self.assigned.items() if TEMPORARY.fullmatch(name)}
        folding = WireFolding(temporary, self.widths, self._uses())
        self.assigned = {
            name: folding.of(name).text
            if name in temporary
            else folding.value(value)
            if _ALIAS.fullmatch(value)
            else folding.expression(value, self.widths.get(name, "-")).text
            for name, value in self.assigned.items()
        }
        self.chunks = [folding.in_block(chunk) for chunk in self.chunks]

    def without_parts(self) -> None:
        """A signal of which all parts are assigned is these side by side."""
        parts = dict[str, dict[int, tuple[int, str, str]]]()
        for name, value in self.assigned.items():
            if (found := _ASSIGNED_PART.fullmatch(name)) is not None:
                high, low = int(found[2]), int(found[3] or found[2])
                parts.setdefault(found[1], {})[low] = high, name, value
        for signal, each in parts.items():
            together, place = list[str](), 0
            while place in each:
                high, _, value = each[place]
                together.insert(0, value)
                place = high + 1
            simple = all(_ALIAS.fullmatch(value) for value in together)
            if self.widths.get(signal) == f"[{place - 1}:0] " and len(together) <= MOST_PARTS and simple:
                for _, name, _ in each.values():
                    del self.assigned[name]
                self.assigned[signal] = f"{{ {', '.join(together)} }}"

    def with_parts(self) -> None:
        """Parts of signals that a combinational block reads become signals: Icarus waits for whole ones only."""
        parts = dict[str, str]()

        def named(match: re.Match[str]) -> str:
            if match[1] not in self.widths:
                return match[0]
            return parts.setdefault(match[0], f"n0{len(parts)}")  # Amaranth has no n0

        for place, chunk in enumerate(self.chunks):
            if chunk.startswith("  always_comb"):
                self.chunks[place] = _READ_PART.sub(named, chunk)
        for part, name in parts.items():
            high, _, low = part.partition("[")[2].removesuffix("]").partition(":")
            width = f"[{int(high) - int(low)}:0] " if low and high != low else ""
            self.assigned[name], self.widths[name] = part, width
            self.declared[name] = f"  wire {width}{name};\n"

    def written(self) -> Iterator[str]:
        """Declarations, and then all that is assigned, each before what it is for."""
        yield from (self.declared[name] for name in sorted(self.declared, key=natural))
        left = {name: f"  assign {name} = {value};\n" for name, value in self.assigned.items()}
        parts = dict[str, list[str]]()
        for name in sorted(left, key=natural):
            parts.setdefault(name.partition("[")[0], []).append(name)

        def before(text: str) -> Iterator[str]:
            for word in _WORD.findall(text):
                for name in parts.pop(word, ()):
                    yield from before(self.assigned[name])
                    yield left[name]

        for chunk in self.chunks:
            yield from before(chunk)
            yield _whole_cases(chunk)
        for name in list(parts):
            yield from before(name)


def _simple(chunk: str) -> str:
    """Without what is done in no case."""
    while (found := _NEVER.search(chunk)) is not None:
        instead = re.sub(r"^  ", "", found[2] or "", flags=re.MULTILINE)
        chunk = chunk[: found.start()] + (found[1] if found[0].endswith("else ") else instead) + chunk[found.end() :]
    return chunk


def _whole_cases(chunk: str) -> str:
    """With a default in each case: the last one, where all values are there."""

    def whole(match: re.Match[str]) -> str:
        if "default:" in match[2]:
            return match[0]
        groups = [*_LABELS.finditer(match[2])]
        bits = int(groups[0][2].partition("'")[0])
        count = sum(2 ** each.count("?") for group in groups for each in group[2].split(", "))
        if count < 2**bits:
            return match[0].removesuffix(f"{match[1]}endcase\n") + f"{match[1]}  default: ;\n{match[1]}endcase\n"
        last = groups[-1]
        start = match.start(2) - match.start()
        return f"{match[0][: start + last.start()]}{last[1]}default:\n{match[0][start + last.end() :]}"

    return _CASE.sub(whole, chunk)

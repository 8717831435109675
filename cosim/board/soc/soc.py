"""A system on chip for simulation: a VexRiscv, DDR3 behind LiteDRAM, a UART, and the board that lies beside this file.

``python soc.py DIR`` writes ``DIR/soc.v``, and headers for firmware into ``DIR/software/include``. ``soc.json`` says
what the board has. The processor reaches its registers over AXI4-Lite; its AXI4 masters have ports of their own at the
memory, as any DMA in LiteX has.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

try:
    from litedram.frontend.axi import LiteDRAMAXI2Native
    from litedram.modules import MT41K128M16
    from litedram.phy.model import SDRAMPHYModel
    from litex.build.generic_platform import Pins, Subsignal
    from litex.build.sim import SimPlatform
    from litex.gen import LiteXModule
    from litex.soc.integration.builder import Builder
    from litex.soc.integration.soc import SoCRegion
    from litex.soc.integration.soc_core import SoCCore
    from litex.soc.interconnect import axi
    from migen import ClockDomain, ClockSignal, Instance, ResetSignal, Signal
except ModuleNotFoundError as error:
    sys.exit(f"the Python package {error.name!r} is missing: pip install 'step-fabric[litex]'")

HERE = Path(__file__).parent
CLOCK = 100_000_000
REGISTERS = 0x9000_0000
SERIAL = {
    **{"source_valid": 1, "source_ready": 1, "source_data": 8},
    **{"sink_valid": 1, "sink_ready": 1, "sink_data": 8},
}


class Platform(SimPlatform):
    """Clock, reset and the characters of a UART; it writes Verilog, and runs no tools."""

    def __init__(self) -> None:
        serial = [Subsignal(name, Pins(bits)) for name, bits in SERIAL.items()]
        super().__init__("SIM", [("sys_clk", 0, Pins(1)), ("sys_rst", 0, Pins(1)), ("serial", 0, *serial)])

    def build(self, soc: Any, build_dir: str, **_: Any) -> Any:
        """Write ``soc.v``, and ``files`` with the names of all Verilog."""
        fragment = soc.get_fragment()
        self.finalize(fragment)
        verilog = self.get_verilog(fragment, name="soc")
        verilog.write(str(Path(build_dir) / "soc.v"))
        self.add_source(str(Path(build_dir) / "soc.v"))
        (Path(build_dir) / "files").write_text("".join(f"{path}\n" for path, *_ in self.sources))
        return verilog.ns


class SmallDdr3(MT41K128M16):
    """DDR3 with the times of a real one and fewer rows, which a simulator has to hold."""

    nrows = 2048


class System(SoCCore):
    """All of it; ``board`` is what ``soc.json`` has."""

    def __init__(self, board: dict[str, Any]) -> None:
        platform = Platform()
        self.clocks = LiteXModule()
        self.clocks.cd_sys = ClockDomain("sys")
        self.comb += self.clocks.cd_sys.clk.eq(platform.request("sys_clk"))
        self.comb += self.clocks.cd_sys.rst.eq(platform.request("sys_rst"))
        super().__init__(
            platform,
            CLOCK,
            cpu_type="vexriscv",
            integrated_rom_size=board["rom"],
            integrated_rom_init=[0],  # so that it is read from a file, into which the firmware goes
            integrated_sram_size=board["sram"],
            uart_name="sim",
            with_timer=False,
        )
        self.add_config("BIOS_NO_DELAYS")  # the model is ready at once
        # A memory of as many bits as a bus has bytes: 4 cycles of its clock at both edges are a transfer.
        module = SmallDdr3(CLOCK, "1:4")
        self.memory_model = SDRAMPHYModel(module, data_width=board["bytes"], clk_freq=CLOCK)
        # No cache that the masters do not see.
        self.add_sdram("sdram", phy=self.memory_model, module=module, l2_cache_size=0)
        self._add_board(board)

    def _add_board(self, board: dict[str, Any]) -> None:
        slave = axi.AXILiteInterface(address_width=32, data_width=32)
        region = SoCRegion(origin=REGISTERS, size=1 << max(12, board["register_bits"]), cached=False)
        self.bus.add_slave("board", slave, region)
        interrupt = Signal()
        self.irq.add("board")
        self.comb += self.cpu.interrupt[self.irq.locs["board"]].eq(interrupt)
        wires = {"i_clk": ClockSignal(), "i_rst": ResetSignal(), "o_interrupt": interrupt}
        wires |= _wires("s_axil", slave, "aw ar w", "b r", widths={"addr": board["register_bits"]})
        for number in range(board["masters"]):
            master = axi.AXIInterface(data_width=8 * board["bytes"], address_width=32, id_width=1)
            wires |= _wires(f"m_axi{number}", master, "b r", "aw ar w")
            port = self.sdram.crossbar.get_port()
            self.submodules += LiteDRAMAXI2Native(master, port, base_address=self.bus.regions["main_ram"].origin)
        self.specials += Instance(board["top"], **wires)
        for name in board["files"]:
            self.platform.add_source(str(HERE / name))


def _wires(prefix: str, bus: Any, inputs: str, outputs: str, widths: dict[str, int] | None = None) -> dict[str, Any]:
    """Connections of the channels of a bus, of which those in ``inputs`` go into the board."""
    found: dict[str, Any] = {}
    for channel in (*inputs.split(), *outputs.split()):
        into = channel in inputs.split()
        endpoint = getattr(bus, channel)
        for name in SIGNALS[prefix[0]][channel].split():
            signal = getattr(endpoint, name)
            signal = signal[: widths[name]] if widths and name in widths else signal
            found[f"{'i' if into != (name == 'ready') else 'o'}_{prefix}_{channel}{name}"] = signal
    return found


_ADDRESS = "addr id len size burst lock cache prot qos valid ready"
SIGNALS = {
    "s": {"aw": "addr prot valid ready", "w": "data strb valid ready", "b": "resp valid ready"}
    | {"ar": "addr prot valid ready", "r": "data resp valid ready"},
    "m": {"aw": _ADDRESS, "w": "data strb last valid ready", "b": "id resp valid ready"}
    | {"ar": _ADDRESS, "r": "id data resp last valid ready"},
}
"""The signals of each channel, of the slave and of the masters."""


if __name__ == "__main__":
    made = System(json.loads((HERE / "soc.json").read_text()))
    Builder(made, output_dir=sys.argv[1], gateware_dir=sys.argv[1], compile_software=False).build()

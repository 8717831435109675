"""The registers of a board: names, addresses and fields, which hardware, driver and docs read."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from step.errors import FabricError
from step.lowering.board import PORT_BITS, BoardPlan
from step.lowering.dma import REQUEST

WORD = 4
"""Bytes of a register."""

MAGIC = 0x53544550
"""``STEP``, what the first register reads as."""

VERSION = 1
"""Of this map; another one where a driver of before would not do."""

PATIENCE = 1 << 20
"""Cycles of the watchdog after power-on; of a run of longer pauses a driver sets more."""

IMAGES = 0x80
"""Address of the base addresses, two registers for each image. Limits follow, one for each image that has one."""

UNIT_BITS = 12
"""Of the number of a unit, or of a channel, in a register."""


class FieldAccess(enum.Enum):
    """Behaviour of a field: what software may do with it, and what hardware does.

    A constant is read; what hardware shows is read; a setting is written, and read back. A locked setting is written
    while no run is going on, and not read back, which would take a LUT or two for each bit. A pulse is up for a cycle
    when a one is written; an event is set by hardware and stays until a one is written, and an interrupt is one that
    is told outside.
    """

    CONSTANT = "constant"
    SHOWN = "shown"
    SETTING = "setting"
    LOCKED = "written, locked during a run"
    PULSE = "write 1"
    EVENT = "write 1 to clear"
    INTERRUPT = "write 1 to clear, interrupts"


@dataclass(frozen=True)
class Field:
    """Bits ``low`` and up of a register; ``value`` is that of a constant, and of a setting after power-on."""

    name: str
    access: FieldAccess
    what: str
    low: int = 0
    width: int = 1
    value: int = 0


@dataclass(frozen=True)
class Register:
    """A word at a byte ``address``."""

    name: str
    address: int
    fields: tuple[Field, ...]


def check_counts(units: int, channels: int) -> None:
    """Raise `FabricError` for more units or channels than registers can point at."""
    for what, count in (("units", units), ("channels", channels)):
        if count > 1 << UNIT_BITS:
            raise FabricError(f"the registers of a board have numbers for {1 << UNIT_BITS:,} {what}, not for {count:,}")


def registers_of(board: BoardPlan, hash: str, units: int, channels: int) -> tuple[Register, ...]:
    """All registers, by address, of a design of so many units and channels with the digest ``hash`` (hexadecimal)."""
    return (*_fixed(int(hash[:8], 16), units, channels), *_bases(board), *_limits(board))


def _fixed(hash: int, units: int, channels: int) -> Iterator[Register]:
    constant, shown, setting = FieldAccess.CONSTANT, FieldAccess.SHOWN, FieldAccess.SETTING
    yield _word("magic", 0x00, constant, "reads as 0x53544550, STEP", MAGIC)
    yield _word("version", 0x04, constant, "of this map of registers", VERSION)
    yield _word("hash", 0x08, constant, "first 32 bits of the digest of the design (`fabric.json`)", hash)
    yield _of(
        "size",
        0x0C,
        Field("units", constant, "how many units there are", 0, 16, units),
        Field("channels", constant, "how many channels there are", 16, 16, channels),
    )
    yield _of(
        "control",
        0x10,
        Field("start", FieldAccess.PULSE, "resets the fabric, waits for memory, and runs", 0),
        Field("reset", FieldAccess.PULSE, "ends a run: the fabric is in reset until the next start", 1),
    )
    yield _of(
        "status",
        0x14,
        Field("done", shown, "the run is over, and memory has all that it wrote", 0),
        Field("idle", shown, "no run, and nothing of the last one is on its way to memory", 1),
        Field("busy", shown, "from start to done or a fault", 2),
        Field("draining", shown, "memory still has to answer what was asked before the reset", 3),
        Field("fault", shown, "the run met a fault", 4),
        Field("memory_waits", shown, "memory had not answered when the watchdog fired", 5),
    )
    yield _of(
        "fault",
        0x18,
        Field("code", shown, "of the first fault, until the next start; 0 without one", 0, 4),
        Field("unit", shown, "that met it, where a unit did", 16, UNIT_BITS),
    )
    yield _of(
        "memory_fault",
        0x1C,
        Field("code", shown, "of the first error of memory: 11 or 12; 0 without one", 0, 4),
        Field("port", shown, "that asked, as in the plan", 16, PORT_BITS),
    )
    yield _word("memory_fault_low", 0x20, shown, "byte address of that error, low half")
    yield _word("memory_fault_high", 0x24, shown, "high half")
    yield _word("cycles_low", 0x28, shown, "of the run, low half")
    yield _word("cycles_high", 0x2C, shown, "high half")
    yield _word("watchdog", 0x30, setting, "cycles without movement after which a run fails; 0: never", PATIENCE)
    interrupts = {
        "done": "the run is over",
        "fault": "a unit or memory met a fault",
        "watchdog": "the watchdog fired",
    }
    yield _of(
        "interrupt_enable",
        0x34,
        *(Field(name, setting, "whether it interrupts", at) for at, name in enumerate(interrupts)),
    )
    yield _of(
        "interrupt",
        0x38,
        *(Field(name, FieldAccess.INTERRUPT, what, at) for at, (name, what) in enumerate(interrupts.items())),
    )
    yield _of("error", 0x3C, Field("start_refused", FieldAccess.EVENT, "a start during a run, which goes on", 0))
    yield _of("wait_index", 0x40, Field("index", setting, "of the unit and of the channel to look at", 0, UNIT_BITS))
    yield _of(
        "wait_unit", 0x44, Field("activity", shown, "of that unit: 0 starved, 1 busy, 2 blocked, 3 finished", 0, 2)
    )
    yield _of(
        "wait_edge",
        0x48,
        Field("starved", shown, "the unit needs a token of that channel", 0),
        Field("blocked", shown, "the unit needs space in that channel", 1),
        Field("unit", shown, "that waits", 4, UNIT_BITS),
        Field("awaited", shown, "unit that it waits for", 16, UNIT_BITS),
    )


def _bases(board: BoardPlan) -> Iterator[Register]:
    shift, bits = board.beat_bytes.bit_length() - 1, board.bus.address_bits
    for at, image in enumerate(board.images):
        place, what = IMAGES + 2 * WORD * at, f"byte address of {image.name}"
        low = Field(
            "address", FieldAccess.LOCKED, f"{what}, a multiple of {board.beat_bytes}", shift, min(bits, 32) - shift
        )
        yield _of(f"base_{image.name}_low", place, low)
        if bits > 32:
            high = Field("address", FieldAccess.LOCKED, f"{what}, high half", 0, bits - 32)
            yield _of(f"base_{image.name}_high", place + WORD, high)


def _limits(board: BoardPlan) -> Iterator[Register]:
    """Nothing is written before they are: 0 after power-on."""
    place, request = IMAGES + 2 * WORD * len(board.images), REQUEST * board.beat_bytes
    shift = request.bit_length() - 1
    for at, image in enumerate(each for each in board.images if each.limited):
        what = f"how long {image.name} may become, a multiple of {request}"
        field = Field("bytes", FieldAccess.LOCKED, what, shift, 8 * WORD - shift)
        yield _of(f"limit_{image.name}", place + WORD * at, field)


def _word(name: str, address: int, access: FieldAccess, what: str, value: int = 0) -> Register:
    return _of(name, address, Field("value", access, what, 0, 8 * WORD, value))


def _of(name: str, address: int, *fields: Field) -> Register:
    return Register(name, address, fields)

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

VERSION = 2
"""Of this map; another one where a driver of before would not do."""

PATIENCE = 1 << 20
"""Cycles of the watchdog after power-on; of a run of longer pauses a driver sets more."""

IMAGES = 0x80
"""Address of the base addresses, two registers for each image. Limits follow, one for each image that has one."""

RUN_BITS = 16
"""Of the number of runs."""

UNIT_BITS = 12
"""Of the number of a unit, or of a channel, in a register."""


class FieldAccess(enum.Enum):
    """Behaviour of a field: what software may do with it, and what hardware does.

    A constant is read; what hardware shows is read; a setting is written, and read back. A locked setting is that of
    the next run. It is written while none is queued, and not read back, which would take a LUT or two for each bit. A
    pulse is up for a cycle when a one is written; an event is set by hardware and stays until a one is written, and an
    interrupt is one that is told outside.
    """

    CONSTANT = "constant"
    SHOWN = "shown"
    SETTING = "setting"
    LOCKED = "written, of the next run"
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
    fixed = _fixed(int(hash[:8], 16), units, channels)
    first = (Register(name, WORD * place, fields) for place, (name, fields) in enumerate(fixed.items()))
    return (*first, *_bases(board), *_limits(board))


def _fixed(hash: int, units: int, channels: int) -> dict[str, tuple[Field, ...]]:
    """Fields of the registers that every board has, in the order of their addresses."""
    constant, shown, setting = FieldAccess.CONSTANT, FieldAccess.SHOWN, FieldAccess.SETTING
    interrupts = {"done": "the run is over", "fault": "a unit or memory met a fault", "watchdog": "the watchdog fired"}
    return {
        "magic": _word(constant, "reads as 0x53544550, STEP", MAGIC),
        "version": _word(constant, "of this map of registers", VERSION),
        "hash": _word(constant, "first 32 bits of the digest of the design (`board.json`)", hash),
        "size": (
            Field("units", constant, "how many units there are", 0, 16, units),
            Field("channels", constant, "how many channels there are", 16, 16, channels),
        ),
        "control": (
            Field("start", FieldAccess.PULSE, "resets the fabric, waits for memory, and runs", 0),
            Field("reset", FieldAccess.PULSE, "ends a run: the fabric is in reset until the next start", 1),
            Field("queue", FieldAccess.PULSE, "a start behind the run that goes on, unless that fails", 2),
        ),
        "status": (
            Field("done", shown, "the run is over, and memory has all that it wrote", 0),
            Field("idle", shown, "no run, and nothing of the last one is on its way to memory", 1),
            Field("busy", shown, "from start to done or a fault", 2),
            Field("draining", shown, "memory still has to answer what was asked before the reset", 3),
            Field("fault", shown, "the run met a fault", 4),
            Field("memory_waits", shown, "memory had not answered when the watchdog fired", 5),
            Field("queued", shown, "a run begins at the end of this one", 6),
            Field("runs", shown, "how many runs were done", 16, RUN_BITS),
        ),
        "fault": (
            Field("code", shown, "of the first fault, until the next start; 0 without one", 0, 4),
            Field("unit", shown, "that met it, where a unit did", 16, UNIT_BITS),
        ),
        "memory_fault": (
            Field("code", shown, "of the first error of memory: 11 or 12; 0 without one", 0, 4),
            Field("port", shown, "that asked, as in the plan", 16, PORT_BITS),
        ),
        "memory_fault_low": _word(shown, "byte address of that error, low half"),
        "memory_fault_high": _word(shown, "high half"),
        "cycles_low": _word(shown, "of the run, low half"),
        "cycles_high": _word(shown, "high half"),
        "watchdog": _word(
            setting, f"cycles without movement after which a run fails; 0: never; {PATIENCE:,} at power-on", PATIENCE
        ),
        "interrupt_enable": tuple(
            Field(name, setting, "whether it interrupts", at) for at, name in enumerate(interrupts)
        ),
        "interrupt": tuple(
            Field(name, FieldAccess.INTERRUPT, what, at) for at, (name, what) in enumerate(interrupts.items())
        ),
        "error": (
            Field("start_refused", FieldAccess.EVENT, "a start during a run, which goes on, or a second one queued"),
        ),
        "wait_index": (Field("index", setting, "of the unit and of the channel to look at", 0, UNIT_BITS),),
        "wait_unit": (Field("activity", shown, "of that unit: 0 starved, 1 busy, 2 blocked, 3 finished", 0, 2),),
        "wait_edge": (
            Field("starved", shown, "the unit needs a token of that channel", 0),
            Field("blocked", shown, "the unit needs space in that channel", 1),
            Field("unit", shown, "that waits", 4, UNIT_BITS),
            Field("awaited", shown, "unit that it waits for", 16, UNIT_BITS),
        ),
        "previous_low": _word(shown, "cycles of the run before, low half"),
        "previous_high": _word(shown, "high half"),
    }


def _bases(board: BoardPlan) -> Iterator[Register]:
    shift, bits = board.beat_bytes.bit_length() - 1, board.bus.address_bits
    for at, image in enumerate(board.images):
        place, what = IMAGES + 2 * WORD * at, f"byte address of {image.name}"
        low = f"{what}, a multiple of {board.beat_bytes}"
        field = Field("address", FieldAccess.LOCKED, low, shift, min(bits, 32) - shift)
        yield Register(f"base_{image.name}_low", place, (field,))
        if bits > 32:
            field = Field("address", FieldAccess.LOCKED, f"{what}, high half", 0, bits - 32)
            yield Register(f"base_{image.name}_high", place + WORD, (field,))


def _limits(board: BoardPlan) -> Iterator[Register]:
    """Nothing is written before they are: 0 after power-on."""
    place, request = IMAGES + 2 * WORD * len(board.images), REQUEST * board.beat_bytes
    shift = request.bit_length() - 1
    for at, image in enumerate(each for each in board.images if each.limited):
        what = f"how long {image.name} may become, a multiple of {request}"
        field = Field("bytes", FieldAccess.LOCKED, what, shift, 8 * WORD - shift)
        yield Register(f"limit_{image.name}", place + WORD * at, (field,))


def _word(access: FieldAccess, what: str, value: int = 0) -> tuple[Field, ...]:
    return (Field("value", access, what, 0, 8 * WORD, value),)

"""``python -m host``."""

from __future__ import annotations

import argparse
import sys

from .board import Driver
from .errors import BoardError
from .mapped import MappedFiles


def address(text: str) -> int:
    """A number of bytes, in decimal or as 0x..."""
    return int(text, 0)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m host", description="Runs the program's own data on the board, and compares."
    )
    parser.add_argument("registers", help="file of the registers, such as /dev/uio0")
    parser.add_argument("memory", help="file of the memory, such as /dev/mem")
    for name in ("--register-offset", "--base", "--memory-offset"):
        parser.add_argument(name, type=address, help="see host.MappedFiles")
    parser.add_argument("--interrupt", action="store_true", help="wait for the interrupt of a UIO device")
    given = parser.parse_args()
    where = {"register_offset": given.register_offset or 0, "memory_offset": given.memory_offset, "base": given.base}
    board = Driver(MappedFiles(given.registers, given.memory, interrupt=given.interrupt, **where), base=given.base)
    board.check()
    sys.stdout.write(f"all right in {board.cycles:,} cycles\n")


if __name__ == "__main__":
    try:
        main()
    except (BoardError, OSError) as error:
        raise SystemExit(f"error: {error}") from None

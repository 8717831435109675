"""``step``, and ``python -m step``: what may take a while, imports too, is interrupted alike."""

from __future__ import annotations

import gc
import os
import signal
import sys
from types import FrameType

from step.errors import INTERRUPTED

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
YOUNG_OBJECTS = 5_000
"""After so many new ones Python looks for cycles of dead objects: at its 700, Verilog takes a tenth longer to make."""


def main() -> None:
    """Entry point: `step_cli.main`, with SIGTERM and a terminal that is closed as Ctrl-C."""
    open_closed()
    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])
    for each in SIGNALS:
        if signal.getsignal(each) in (signal.SIG_DFL, signal.default_int_handler):  # nohup ignores one
            signal.signal(each, _interrupt)
    try:
        from step_cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(INTERRUPTED)
    finally:
        # Where Ctrl-C came in code that was a string, as that of dataclasses, `python -m step` would end by the signal,
        # whatever the exit code. Python forgets that with the next such code.
        exec("")  # noqa: S102


def open_closed() -> None:
    """A closed stream (``>&-``, as daemons do) takes all and gives nothing, and no file of ours gets its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115 (until the end)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Once only: what then ends children and takes away what is half-made must not be interrupted."""
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()

"""Runs the board of this folder from Python: it needs NumPy and a C compiler, and nothing else.

The driver in ``../sw`` does the work, compiled into a library: how data lies in memory is said there, and nowhere else.

    import host  # with this folder's parent as the working directory, or in sys.path
    board = host.Driver(host.MappedFiles("/dev/uio0", "/dev/mem"))
    outputs = board.run({"x": x, "s": [[row, row], [row]]})
    weights = board.hold("w", w)  # moved once
    run = board.start({"x": x, "w": weights, "s": s})  # and run.wait() gives its outputs

A tensor is an array; a stream is as many lists in each other as it has dimensions, of arrays [rows, columns]: tuples of
them for tuples, and arrays [targets] of 0 and 1 for selectors. BF16 comes from numbers (rounded to the nearest, ties to
even) and goes to float32; FP8 is given and comes as patterns (uint8). An array of patterns, or of ml_dtypes, does for
both. ``python -m host /dev/uio0 /dev/mem`` runs the program's own data on a board, and compares (``--help``).
"""

from __future__ import annotations

from .board import Driver as Driver
from .board import HeldInput as HeldInput
from .buffers import Pynq as Pynq
from .buffers import Xrt as Xrt
from .errors import BoardError as BoardError
from .mapped import DmaBuffer as DmaBuffer
from .mapped import MappedFiles as MappedFiles
from .pcie import LitePcie as LitePcie
from .pcie import Xdma as Xdma
from .runs import StartedRun as StartedRun
from .transport import Transport as Transport

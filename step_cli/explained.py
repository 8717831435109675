"""Errors that nobody told in the user's terms, told by where they come from."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from typing import TextIO

from step.errors import Defect, EnvironmentProblem, StepError, UserCodeError
from step.language.location import where_raised


def explained(error: Exception) -> StepError:
    """``error`` as what the user can do about it: in the own code, in the machine's state, or in none of them."""
    if isinstance(error, StepError):
        return error
    lines, text = where_raised(error), f"{type(error).__name__}: {error}".removesuffix(": ")
    if lines:
        return UserCodeError(f"{text}{lines}")
    if isinstance(error, MemoryError):
        return EnvironmentProblem("there is not enough memory for this")
    if isinstance(error, OSError):
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EPIPE) and error.filename is None:
            drop(sys.stdout)
        return EnvironmentProblem(f"{error.filename or 'output'}: {error.strerror or error}")
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return Defect(
        f"{text} ({os.path.basename(frame.filename)}:{frame.lineno}): this is a defect of the toolkit; "
        "please report it, with the traceback that the same command shows with STEP_TRACEBACK=1"
    )


def drop(output: TextIO) -> None:
    """Throw away what ``output`` holds, so that Python does not try to write it again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), output.fileno())

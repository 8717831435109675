"""Whether something fits into the memory of this machine, asked before it is made."""

from __future__ import annotations

from step.errors import EnvironmentProblem


def free_bytes() -> int:
    """Memory that a program or a run can have."""
    import psutil  # which little needs

    return int(psutil.virtual_memory().available)


def check_fits(needed: int, what: str, advice: str) -> None:
    """Raise `EnvironmentProblem` if there are no ``needed`` bytes for ``what``, which is a subject, with ``advice``."""
    if needed > (free := free_bytes()):
        raise EnvironmentProblem(
            f"{what} takes at least {needed / 1e9:,.1f} GB of memory, and {free / 1e9:,.1f} GB are free; {advice}"
        )

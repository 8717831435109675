"""The engine as a library: all rules in one C++ text, compiled once, kept in the cache, or carried by a wheel.

    python -m sim_approx.compiled.library

makes what a wheel carries, before the wheel is built. It has the rules of the project and sets of up to 64 ports, and
is used where it fits: with other rules, another engine, another system or another processor it has another name, and
one that can not be loaded is passed over.
"""

from __future__ import annotations

import ctypes
import hashlib
import pkgutil
import platform
import shutil
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from string import Template
from typing import Any

from sim_approx import units
from sim_approx.compiled.pack import Handles, MachineLayout
from sim_approx.compiled.rule import TYPES, TranslatedRule
from sim_approx.memory import masters, off_chip
from step import rules
from step.firing.machine import Machine
from step.host import library
from step.host.files import cache_directory
from step.host.progress import Progress, silent
from step.language.faults import Fault
from step.language.tokens import UNKNOWN

NUMBER, NUMBERS = ctypes.c_int64, ctypes.POINTER(ctypes.c_int64)
CALLBACK = ctypes.CFUNCTYPE(NUMBER, NUMBER, NUMBER, NUMBERS, NUMBERS)
"""Calls function `number` of `count` values, by their numbers, and gets the code of a fault."""

CPP = Path(__file__).parent / "cpp"
SHIPPED = Path(__file__).parent / "shipped"
WHOLE, RULE, CASE = (Template((CPP / f"{name}.in").read_text()) for name in ("rules", "rule", "case"))
LOADED: dict[tuple[str, int, str, str], ctypes.CDLL] = {}
"""Engines that this process has, by the arguments of `library_of`; asked for them, they are looked up here first."""
FLAGS = (
    *("-std=c++17", library.optimization(long="-O2", short="-O1"), "-fno-exceptions", "-fno-tree-slp-vectorize"),
    *("-fPIC", "-shared", "-fno-plt", "-pipe"),
)
"""Without vectors of two words: see ``cpp/tokens.hpp``."""
SECONDS = 15
"""The time in which g++ compiles the engine."""


@dataclass(frozen=True)
class Rules:
    """The C++ ``text`` of some rules; ``constants`` are the values that they name, in the order of their numbers."""

    text: str
    layouts: dict[type[Machine], MachineLayout]
    constants: list[Any]


@cache
def own_machines() -> tuple[type[Machine], ...]:
    """The machines of all operators of the project."""
    names = [f"{room.__name__}.{each.name}" for room in (rules, units) for each in pkgutil.iter_modules(room.__path__)]
    return tuple(
        each
        for module in [masters, off_chip, *map(import_module, names)]
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Machine) and each.__module__ == module.__name__
    )


@cache
def rules_for(others: frozenset[type[Machine]]) -> Rules:
    """The rules of the project, and those of ``others``; raises `RuleError`."""
    handles, layouts = Handles([UNKNOWN]), dict[type[Machine], MachineLayout]()
    rules, cases = list[str](), list[str]()
    ordered = sorted(others, key=lambda each: (each.__module__, each.__qualname__))
    for number, machine in enumerate((*own_machines(), *ordered)):
        rule = TranslatedRule(machine, handles.number)
        lines = {
            "fields": (f"    {TYPES[kind]} {field}{{}};" for field, kind in rule.fields.items()),
            "saves": (f"        ::save(out, {field});" for field in rule.changed),
            "reads": (f"            reader.read(machine->{field});" for field in rule.fields),
            "first": (f"            machine->first = machine->{each};" for each in (rule.first,) if each),
        }
        given = {"number": number, "name": f"{machine.__name__}_{number}", "body": rule.body, "traits": rule.traits}
        given["chosen"] = "RULE_BY_PORTS" if rule.goes_over_ports else "RULE"
        given |= {name: "\n".join(each) for name, each in lines.items()}
        rules.append(RULE.substitute(given))
        cases.append(CASE.substitute(given))
        layouts[machine] = MachineLayout(number, rule.fields, rule.changed)
    disagree = int(Fault.STOPS_DISAGREE)
    text = WHOLE.substitute(disagree=disagree, rules="".join(rules), cases="".join(cases))
    return Rules(text, layouts, handles.objects)


def begin() -> None:
    """Have the engine for the project's rules compiled behind this process, where it is missing."""
    if not library.waits():
        with suppress(library.NoLibrary):
            engine_of(rules_for(frozenset()), 1, wait=False)


def engine_of(rules: Rules, mask_words: int, progress: Progress = silent, wait: bool = True) -> ctypes.CDLL:
    """`library_of` these ``rules`` in the cache, by the compiler of the environment; looked up where it is loaded."""
    key = rules.text, mask_words, library.compiler(), str(cache_directory())
    return LOADED.get(key) or library_of(*key, progress, wait)


def library_of(
    text: str, mask_words: int, compiler: str, directory: str, progress: Progress = silent, wait: bool = True
) -> ctypes.CDLL:
    """The engine with the rules of ``text``, for sets of ports of so many 64-bit words; raises `NoLibrary`.

    It is made with the ``compiler``, of which ``progress`` is told, and kept in the ``directory``; without ``wait`` it
    is made behind this process (see `step.host.library.cached`).
    """
    name = f"{content_hash(text, mask_words)}.so"
    found = library.whole(SHIPPED / name)
    if found is None:
        command = _command(mask_words, compiler)
        kept = Path(directory) / "engine"
        found = library.cached(kept, name, text, command, "the engine", SECONDS, progress, wait)
    LOADED[text, mask_words, compiler, directory] = _declare(found)
    return found


def content_hash(text: str, mask_words: int) -> str:
    """A name for all that goes into a library but the compiler."""
    digest = hashlib.sha256(f"{platform.system()} {platform.machine()} {FLAGS} {mask_words}\n".encode())
    for path in sorted(CPP.iterdir()):
        digest.update(path.read_bytes())
    digest.update(text.encode())
    return digest.hexdigest()[:32]


def _command(mask_words: int, compiler: str) -> list[str]:
    return [compiler, *FLAGS, f"-DMASK_WORDS={mask_words}", f"-I{CPP}"]


def _declare(engine: ctypes.CDLL) -> ctypes.CDLL:
    run = ctypes.c_void_p
    for names, result, arguments in (
        ("start", run, (run, CALLBACK, NUMBER, NUMBER)),
        ("profile", None, (run, NUMBER, NUMBER)),
        ("run", NUMBER, (run, NUMBER, NUMBER)),
        ("now entered", NUMBER, (run,)),
        ("end forget_seen", None, (run,)),
        ("profiled report notes events leaves seen fired waits", run, (run, NUMBERS)),
    ):
        for name in names.split():
            function = getattr(engine, f"step_{name}")
            function.restype, function.argtypes = result, arguments
    return engine


def ship(folder: Path) -> Path:
    """Put the library of this version into ``folder``, and nothing else; raises `NoLibrary`."""
    text = rules_for(frozenset()).text
    shutil.rmtree(folder, ignore_errors=True)
    path = folder / f"{content_hash(text, 1)}.so"
    library.compile_to(path, text, _command(1, library.compiler()), "the engine")
    return path


if __name__ == "__main__":
    sys.stdout.write(f"{ship(SHIPPED)}\n")

"""Modules that are found by name: those in a package of the project, then those that others installed.

An entry point extends the package that its group is called like (``step.ops``, ``step.functions``, ``hw.units``, ...):
it stands for one more file there, its name is the file's name, and its value is the module, which must be called so.
"""

from __future__ import annotations

import sys
from collections.abc import Container, Mapping
from functools import cache, partial
from importlib import import_module
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, TypeVar

from step.errors import FabricError, FormatError, RegistrationError
from step.host.nearest import among

Registered = TypeVar("Registered")


def register(table: dict[str, Registered], name: str, new: Registered, what: str) -> None:
    """Enter the class or function ``new`` in ``table``; raises `RegistrationError` where another one has its name.

    The same one again, from a module that is loaded anew, takes the old one's place. ``what`` is for the error.
    """

    def place(each: Registered) -> str:
        return f"{getattr(each, '__module__', '')}.{getattr(each, '__qualname__', '')}"

    known = table.get(name, new)
    if place(known) != place(new):
        raise RegistrationError(f"{what} {name!r} is defined twice: by {place(known)} and by {place(new)}")
    table[name] = new


@cache
def find_module(package: str, name: str) -> ModuleType | None:
    """The module ``name`` of ``package``, or the one installed for it; None where there is neither.

    Raises `RegistrationError` for an entry point that can not be loaded, and where there are several.
    """
    try:
        return import_module(f"{package}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{package}.{name}":
            raise
    found = [each for each in _installed(package) if each.name == name]
    if len(found) > 1:
        raise RegistrationError(f"there are several of one name: {' and '.join(_text(each) for each in found)}")
    return _load(found[0]) if found else None


def needed_module(package: str, name: str, where: str, what: str) -> ModuleType:
    """The module ``name`` of ``package``; raises `FabricError` where there is none, about ``what`` stands ``where``."""
    module = find_module(package, name)
    if module is None:
        raise FabricError(
            f"{where}: {package} has nothing for {what}; it needs a file {name}.py there, "
            f"or an entry point {name!r} in the group {package!r}"
        )
    return module


@cache
def modules_of(package: str) -> tuple[ModuleType, ...]:
    """All modules of ``package`` by their names, those installed for it included; raises like `find_module`."""
    files = iter_modules(import_module(package).__path__)
    names = {each.name for each in (*files, *_installed(package))}
    return tuple(module for name in sorted(names) if (module := find_module(package, name)) is not None)


def load_until(known: Container[str], name: str, package: str) -> None:
    """Import ``package``, and what else is installed for it, as far as it takes to make ``name`` a ``known`` one."""
    if name not in known:
        import_module(package)
    if name not in known:
        modules_of(package)


def registered(table: Mapping[str, Registered], name: str, package: str, what: str) -> Registered:
    """Class or function that ``package`` registers as ``name``; raises `FormatError`, about ``what``, for others."""
    load_until(table, name, package)
    if name not in table:
        raise FormatError(f"{what} must be one of {', '.join(sorted(table))}, not {name!r}")
    return table[name]


def open_package(namespace: dict[str, Any], table: Mapping[str, type[Any]]) -> None:
    """Let the package of ``namespace`` have the classes that its modules, and those installed for it, put in ``table``.

    Its own modules are imported at once, others when somebody asks for what they have, or for all.
    """
    package = namespace["__name__"]
    for each in iter_modules(namespace["__path__"]):
        import_module(f"{package}.{each.name}")

    def names() -> list[str]:
        modules_of(package)
        return sorted(each.__name__ for each in table.values())

    own = {each.__name__: each for each in table.values()}
    more = {"__all__": sorted(own), "__dir__": names, "__getattr__": partial(exported, table, package=package)}
    namespace.update(own, **more)


def exported(table: Mapping[str, type[Any]], name: str, package: str) -> type[Any]:
    """The class called ``name`` that a module installed for ``package`` has registered in ``table``.

    Raises `AttributeError`, as a module does, where there is none.
    """
    if name.startswith("_"):  # what Python itself asks modules for
        raise AttributeError(f"{package} has no {name!r}")
    modules_of(package)
    classes = {each.__name__: each for each in table.values()}
    if name not in classes:
        raise AttributeError(f"{package} has no {name!r}; {among(name, sorted(classes))}")
    return classes[name]


@cache
def installed_sources(*packages: str) -> list[Path]:
    """The source files of all that is installed for ``packages``, with what stands beside them, sorted."""
    entries = [each for package in packages for each in _installed(package)]
    files: set[Path] = set()
    for name in {each.module.partition(".")[0] for each in entries}:
        spec = find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            files |= {path for root in spec.submodule_search_locations for path in Path(root).rglob("*.py")}
        elif spec is not None and spec.origin is not None:
            files.add(Path(spec.origin))
    return sorted(files)


def _installed(group: str) -> EntryPoints:
    """The entry points of a group."""
    return _all_installed(tuple(sys.path)).select(group=group)


@cache
def _all_installed(_path: tuple[str, ...]) -> Any:
    """Entry points of all groups, as Python gives them: to look for one group takes as long."""
    return entry_points()


def _load(entry: EntryPoint) -> ModuleType:
    if entry.value.rpartition(".")[2] != entry.name:
        raise RegistrationError(f"{_text(entry)} must be a module called {entry.name!r}")
    try:
        return import_module(entry.value)
    except RegistrationError:
        raise
    except Exception as error:  # whatever others' code may raise
        raise RegistrationError(f"{_text(entry)} can not be loaded: {type(error).__name__}: {error}") from error


def _text(entry: EntryPoint) -> str:
    package = "" if entry.dist is None else f" of the package {entry.dist.name}"
    return f"the entry point {entry.name} = {entry.value} in the group {entry.group}{package}"

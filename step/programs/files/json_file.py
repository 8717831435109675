"""JSON files in the published formats, their schemas, and what is wrong with one, and who wrote it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, Self

from step.errors import FormatError, expect
from step.host.files import write_atomically, writing
from step.host.paths import check_readable, named_file


def schema_names() -> list[str]:
    """Names of all published schemas."""
    found = (each.name for each in files("step.programs.files.schemas").iterdir())
    return sorted(name.removesuffix(".json") for name in found if name.endswith(".json"))


@cache
def schema(name: str) -> dict[str, Any]:
    """The schema called ``name``; raises `FormatError` for other names."""
    expect(name in schema_names(), f"schema must be one of {', '.join(schema_names())}, not {name!r}", FormatError)
    return json.loads((files("step.programs.files.schemas") / f"{name}.json").read_text())


def validate(data: Any, name: str, where: str) -> None:
    """Raise `FormatError` with the place of the first problem unless ``data`` fits the schema ``name``.

    ``where`` is the file that the data is from.
    """
    import jsonschema  # which takes a while, and few commands need

    problem = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema(name)).iter_errors(data))
    if problem is not None:
        raise FormatError(f"{where}: {problem.json_path}: {problem.message}")


PACKAGE = "step-fabric"


def written_by() -> str:
    """The version that writes files now, as it stands in them."""
    return f"{PACKAGE} {version(PACKAGE)}"


def header(name: str) -> dict[str, Any]:
    """First entries of a file of the schema ``name``: its format, and who wrote it."""
    return {"format": format_of(name), "written_by": written_by()}


def json_bytes(data: Any) -> bytes:
    """Content of a file of plain ``data``."""
    return (json.dumps(data, indent=1, allow_nan=False) + "\n").encode()


class JsonFile:
    """Base of dataclasses that are kept in files of the schema ``schema``; errors call one ``noun``."""

    schema: ClassVar[str]
    noun: ClassVar[str]

    def to_json(self) -> dict[str, Any]:
        """Plain data, as the schema describes it."""
        return {**header(self.schema), **asdict(self)}  # type: ignore[call-overload]

    @classmethod
    def _of_json(cls, data: Mapping[str, Any]) -> Self:
        """The opposite of `to_json`, for data that fits the schema."""
        return cls(**{each.name: data[each.name] for each in fields(cls) if each.name in data})  # type: ignore[arg-type]

    def save(self, path: Path | str) -> None:
        """Write it to ``path`` as JSON; the file is there as a whole or not at all."""
        path = named_file(path, self.noun)
        with writing(path):
            write_atomically(path, json_bytes(self.to_json()))

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read a file of `save`; raises `FormatError` for other files."""
        return cls._of_json(read_json(named_file(path, cls.noun), cls.schema))


def read_json(path: Path, name: str) -> Any:
    """The data in ``path``, valid against the schema ``name``; raises `FormatError` for all else."""
    data = plain_json(path, name)
    _check_release(data, name, path)
    try:
        validate(data, name, str(path))
    except RecursionError:
        raise _too_deep(path, name) from None
    return data


def plain_json(path: Path, what: str) -> Any:
    """The data in the JSON file ``path``, which is ``what``; raises `FormatError` where it can not be read."""
    check_readable(path)
    try:
        return json.loads(path.read_text(), object_pairs_hook=_once)
    except OSError as error:
        raise FormatError(f"{path} can not be read: {error.strerror}") from None
    except RecursionError:
        raise _too_deep(path, what) from None
    except ValueError as error:  # of the decoders, and an integer with thousands of digits
        raise FormatError(f"{path} is no JSON: {error}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of ``pairs``; raises `ValueError` for a name that is there twice, of which JSON takes the last one."""
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in made if names.count(name) > 1)!r} is there twice in one object")
    return made


def format_of(name: str) -> Any:
    """Format that a file of the schema ``name`` has."""
    return schema(name)["properties"].get("format", {}).get("const")


def _too_deep(path: Path, what: str) -> FormatError:
    return FormatError(f"{path} is no {what}: its JSON is nested too deeply")


def _check_release(data: Any, name: str, path: Path) -> None:
    """Raise `FormatError` for data of another schema, and of the format that another release has."""
    known = format_of(name)
    stem, _, number = known.rpartition("-")
    found = data.get("format") if isinstance(data, dict) else None
    for other in schema_names():
        if other != name and found is not None and found == format_of(other):
            raise FormatError(f"{path} has the format {found} of a {other} file; this must be a {name} file, {known}")
    match = re.fullmatch(rf"{stem}-([0-9]{{1,9}})", found) if isinstance(found, str) else None
    if match is None or match[1] == number:
        return
    if int(match[1]) < int(number):
        raise FormatError(f"{path} has the format {found} of an earlier release; save the {name} again")
    writer = re.fullmatch(rf"{PACKAGE} ([\w.+-]+)", str(data.get("written_by")))
    newer = f"{PACKAGE} {writer[1]}" if writer else "a newer release"
    mend = f"'{PACKAGE}>={writer[1]}'" if writer else f"--upgrade {PACKAGE}"
    raise FormatError(
        f"{path} has the format {found} and was written by {newer}; this is {written_by()}, which reads {known}: "
        f"pip install {mend}"
    )

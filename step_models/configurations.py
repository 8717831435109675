"""Models as data: their dimensions, read from JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar

from step.errors import FormatError, InputError, expect
from step.host.paths import named_file
from step.language.arguments import Checked
from step.language.parameters import Count, settle_parameters, settled
from step.programs.files.json_file import plain_json
from step_models.checking import require, workload

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Configuration(metaclass=Checked):
    """Dimensions of a decoder with a mixture of SwiGLU experts and grouped-query attention.

    `dataclasses.replace` makes a smaller one.

    ``name``: the model's name.
    ``layers``: decoder layers.
    ``hidden``: scalars of a token.
    ``inner``: hidden scalars of one expert.
    ``experts``: experts of a layer.
    ``experts_per_token``: how many of these a token goes to.
    ``query_heads``: query heads, a multiple of the next number.
    ``key_value_heads``: heads of keys and values.
    ``head_size``: scalars of a head.
    ``norm_epsilon``: what RMSNorm adds to the mean square.

    Raises `InputError` for dimensions that no model can have.

    >>> from dataclasses import replace
    >>> small = replace(step_models.configuration("Mixtral-8x7B"), hidden=64, layers=2)
    >>> small.hidden, small.experts, small.group
    (64, 8, 4)
    """

    name: str
    layers: int
    hidden: int
    inner: int
    experts: int
    experts_per_token: int
    query_heads: int
    key_value_heads: int
    head_size: int
    norm_epsilon: float = 1e-5

    refused: ClassVar = InputError

    def __post_init__(self) -> None:
        for each in fields(self):
            if each.type == "int":
                what = f"{each.name} of model {self.name!r}"
                settled(getattr(self, each.name), Count, what, InputError)
        settle_parameters(self)
        if not isinstance(self.norm_epsilon, float) or not 0 <= self.norm_epsilon < math.inf:
            raise InputError(f"norm_epsilon of model {self.name!r} must be a float >= 0, not {self.norm_epsilon!r}")
        if self.experts_per_token > self.experts:
            raise InputError(
                f"experts_per_token of model {self.name!r} must be at most its {self.experts} experts, "
                f"not {self.experts_per_token}"
            )
        if self.query_heads % self.key_value_heads:
            raise InputError(
                f"the {self.query_heads} query heads of model {self.name!r} can not share {self.key_value_heads} "
                "key-value heads evenly"
            )

    @property
    def group(self) -> int:
        """Query heads that share a key-value head."""
        return self.query_heads // self.key_value_heads


@workload
def configuration(name: str) -> Configuration:
    """Configuration of a model that comes with the package.

    ``name``: the model, such as ``"Mixtral-8x7B"``.

    Raises `InputError`, with all names, for one that is not here.

    >>> step_models.configuration("Qwen3-30B-A3B").experts
    128
    """
    known = {each.name: each for each in map(read_configuration, sorted((DATA / "models").glob("*.json")))}
    require(name in known, f"there is no configuration of a model {name!r}; there are {', '.join(known)}")
    return known[name]


@workload
def read_configuration(path: Path | str) -> Configuration:
    """Configuration from a file.

    ``path``: a JSON object with the fields of `Configuration`.

    Raises `FormatError` for another form, and dimensions that no model can have.

    >>> step_models.read_configuration("step_models/data/models/mixtral-8x7b.json").name
    'Mixtral-8x7B'
    """
    data = plain_json(named_file(path, "a configuration"), "configuration of a model")
    expect(isinstance(data, dict), f"{path} must have an object with a model's dimensions, not {data!r}", FormatError)
    wanted = [each.name for each in fields(Configuration)]
    for name in data:
        expect(name in wanted, f"{path}: a configuration has no {name!r}; it has {', '.join(wanted)}", FormatError)
    for name in wanted:
        expect(name in data, f"{path}: the configuration has no {name!r}", FormatError)
    try:
        return Configuration(**data)
    except InputError as error:
        raise FormatError(f"{path}: {error}") from None

"""Parts of a model that a capture can not do, by name: told beside the exception that it leads to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

QUANTIZED = ("torch.ao.", "torchao.", "bitsandbytes.")

HEAD = "\nIt has what a capture can not do:"

_STATE = re.compile(r"LightningAttention|xLSTM")


def lacking(model: Any) -> list[str]:
    """Everything that is known to be missing for ``model``, as far as it can be seen from outside: one of each kind."""
    found = dict[str, str]()
    for each in (*_of_modules(model), *_of_configs(model)):
        found.setdefault(each.split(":")[0], each)
    return list(found.values())


def listed(found: Sequence[str]) -> str:
    """``found`` as further lines of an error."""
    return HEAD + "".join(f"\n  {each}" for each in found) if found else ""


def unlike(model: Any) -> list[str]:
    """A parameter that is not in BF16, if there is one."""
    other = [name for name, each in getattr(model, "named_parameters", dict)() if "bfloat16" not in str(each.dtype)]
    return [f"parameters that are not bfloat16, which .to(torch.bfloat16) makes so: {each!r}" for each in other[:1]]


def owner_of(model: Any) -> tuple[Any, str] | None:
    """The module with the layers of ``model`` and their name in it: the first list of as many as there are layers in
    its configuration, or else the longest one."""
    body = getattr(model, "base_model", model)
    children = [(owner, *child) for owner in body.modules() for child in owner.named_children()]
    lists = [each for each in children if type(each[2]).__name__ == "ModuleList"]
    count = getattr(getattr(model, "config", None), "num_hidden_layers", None)
    lists.sort(key=lambda each: (len(each[2]) != count, -len(each[2])))
    return lists[0][:2] if lists else None


def layers_of(model: Any) -> list[Any]:
    """The layers of ``model``, none where there is no list of them."""
    found = owner_of(model)
    return [*getattr(*found)] if found else []


def _of_modules(model: Any) -> Iterator[str]:
    modules = dict(model.named_modules()) if hasattr(model, "named_modules") else {}
    for path, each in modules.items():
        kind = type(each)
        if _STATE.search(kind.__name__) and path.count(".") > 1:
            yield f"recurrent state that is not in the cache: {path!r} is a {kind.__name__}"
        if kind.__module__.startswith(QUANTIZED):
            yield f"quantized weights, which must be bfloat16: {path!r} is a {kind.__module__}.{kind.__name__}"


def configs_of(model: Any) -> list[Any]:
    """The configurations of transformers in a module."""
    modules = model.modules() if hasattr(model, "modules") else [model]
    return list({id(each.config): each.config for each in modules if hasattr(each, "config")}.values())


def _of_configs(model: Any) -> Iterator[str]:
    for config in configs_of(model):
        if getattr(config, "is_encoder_decoder", False):
            yield "an encoder beside the decoder (is_encoder_decoder)"

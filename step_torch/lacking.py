"""Parts of a model that a capture can not do, by name: told beside the exception that it leads to."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from typing import Any

GIVEN = ("attention_mask", "position_embeddings", "past_key_values")
"""What a capture gives layers besides their rows."""

PARTS = ("embed_tokens", "layers", "norm", "rotary_emb"), ("wte", "wpe", "h", "ln_f")
"""Of bodies that have a step."""

QUANTIZED = ("torch.ao.", "torchao.", "bitsandbytes.")

HEAD = "\nIt has what a capture can not do:"

_STATE = re.compile(r"Mamba|Rwkv|DeltaNet|LightningAttention|Recurrent|ShortConv|LinearAttention|SSM")
_POSITIONS = re.compile(r"(^|\.)(embed_positions|position_embeddings?|wpe)$")
_WITHIN = ("attention", "attn", "residual", "mlp", "rope", "query", "key", "router", "routed")
_SCALES = re.compile(r"(multipliers?|scaling|scale|softcapping)$")


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


def layers_of(model: Any) -> Any:
    """The decoder layers of ``model``, None where they are not in `layers` or `h`."""
    body = getattr(model, "base_model", model)
    return getattr(body, "layers", getattr(body, "h", None))


def parts_missing(model: Any) -> str:
    """The parts of a step that the body of ``model`` lacks, if it has some of them."""
    body = getattr(model, "base_model", model)
    fewest = min(([name for name in kind if not hasattr(body, name)] for kind in PARTS), key=len)
    return "" if len(fewest) == len(PARTS[0]) else f"; {type(body).__name__} has no {', '.join(fewest)}"


def scales(config: Any, *, within: bool) -> list[str]:
    """Factors and caps in ``config`` that are not one: those of what is ``within`` layers, or of what is not."""
    return [
        f"{name} = {value:g}"
        for name, value in sorted(vars(config).items())
        if _SCALES.search(name) and isinstance(value, int | float) and not isinstance(value, bool) and value != 1
        if name.startswith(_WITHIN) == within
    ]


def _of_modules(model: Any) -> Iterator[str]:
    modules = dict(model.named_modules()) if hasattr(model, "named_modules") else {}
    lists = [path for path, each in modules.items() if type(each).__name__ == "ModuleList"]
    layers = layers_of(model)
    if layers is None and lists and hasattr(model, "base_model"):
        layers = modules[lists[0]]
        body = type(model.base_model).__name__
        yield f"layers that are not where they must be, `layers` or `h` of {body}: {lists[0]!r}"
    for each in layers or ():
        yield from _wanted(each)
    for path, each in modules.items():
        kind = type(each)
        if "layer_type" in _parameters(each) and "rotary" in path:
            yield f"rotary tables of several kinds: {path!r} takes a layer_type"
        if _POSITIONS.search(path) and path.count(".") > 1:
            yield f"learned positions inside the decoder: {path!r}"
        if "sinks" in getattr(each, "_parameters", {}):
            yield f"attention with sinks: {path!r}"
        if _STATE.search(kind.__name__) and path.count(".") > 1:
            yield f"recurrent state instead of keys and values: {path!r} is a {kind.__name__}"
        if kind.__module__.startswith(QUANTIZED):
            yield f"quantized weights, which must be bfloat16: {path!r} is a {kind.__module__}.{kind.__name__}"


def _wanted(layer: Any) -> Iterator[str]:
    """Arguments that the layer must be given, and is not."""
    for each in list(_parameters(layer).values())[1:]:
        known = each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) or each.name in GIVEN
        if each.default is each.empty and not known:
            what = " (positions as biases of scores)" if each.name in ("alibi", "position_bias") else ""
            yield f"layers that must be given {each.name!r}{what}: {type(layer).__name__}"


def _parameters(module: Any) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(module.forward).parameters) if hasattr(module, "forward") else {}


def _of_configs(model: Any) -> Iterator[str]:
    modules = model.modules() if hasattr(model, "modules") else [model]
    for config in {id(each.config): each.config for each in modules if hasattr(each, "config")}.values():
        if getattr(config, "is_encoder_decoder", False):
            yield "an encoder beside the decoder (is_encoder_decoder)"
        if getattr(config, "alibi", False):
            yield "positions as biases of scores (alibi)"
        if getattr(config, "kv_lora_rank", None):
            yield "a latent cache, keys and values of unlike heads (kv_lora_rank)"
        kinds = getattr(config, "layer_types", None) or ()
        if "sliding_attention" in kinds and getattr(config, "sliding_window", None):
            yield f"a window of {config.sliding_window} rows (sliding_window)"
        if "chunked_attention" in kinds:
            yield "attention in chunks (chunked_attention)"

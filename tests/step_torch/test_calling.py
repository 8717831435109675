"""What goes wrong in a model of the user is an `InputError`: with module, exception, and what can not be captured."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from step.errors import InputError
from step_torch.calling import calling
from step_torch.lacking import lacking


class Tree:
    """Something with modules, as those of torch have them."""

    def __init__(self, **modules: Any) -> None:
        self.__dict__.update(modules)
        self.parts = modules

    def named_modules(self) -> list[tuple[str, Any]]:
        """Itself, and all below it."""
        below = [(name, each) for name, each in self.parts.items() if isinstance(each, Tree)]
        return [("", self), *((f"{n}.{p}".rstrip("."), m) for n, each in below for p, m in each.named_modules())]

    def fails(self, error: Exception) -> None:
        """Raise it, in a method of the module."""
        raise error


def test_an_exception_has_its_module_and_its_cause() -> None:
    model = Tree(encoder=Tree(block=Tree()))
    error = KeyError("mask")
    with pytest.raises(InputError) as caught, calling(model, "it can not be captured"):
        model.encoder.block.fails(error)
    line = Tree.fails.__code__.co_firstlineno + 2
    assert str(caught.value) == f"it can not be captured: in encoder.block, at {__file__}:{line}, KeyError: 'mask'"
    assert caught.value.__cause__ is error


def test_an_error_of_ours_stays() -> None:
    with pytest.raises(InputError, match=r"^there is no room$"), calling(Tree(), "it fails"):
        raise InputError("there is no room")


class ModuleList(Tree):
    def __iter__(self) -> Any:
        return iter(self.parts.values())


class LightningAttention(Tree):
    def forward(self, x: Any, alibi: Any, attention_mask: Any = None) -> None:
        """What it takes."""


def test_what_a_model_has_is_listed() -> None:
    config = SimpleNamespace(layer_types=["sliding_attention"], sliding_window=16, is_encoder_decoder=True)
    blocks = ModuleList(a=LightningAttention())
    body = Tree(blocks=blocks, embed=Tree(deep=Tree(embed_positions=Tree())))
    model = Tree(body=body, base_model=SimpleNamespace(embed_tokens=0), config=config)
    model.parts.pop("base_model")
    assert lacking(model) == [
        "recurrent state that is not in the cache: 'body.blocks.a' is a LightningAttention",
        "an encoder beside the decoder (is_encoder_decoder)",
    ]
    with pytest.raises(InputError) as caught, calling(model, "it fails", always=True):
        raise InputError("there is a window")
    said = str(caught.value).splitlines()
    assert said[:2] == ["there is a window", "It has what a capture can not do:"] and len(said) == 4

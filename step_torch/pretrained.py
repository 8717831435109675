"""Checkpoints as transformers keeps them: a folder with `config.json` and weights in the format of safetensors."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from torch import nn

from step.errors import FormatError, InputError, expect
from step.host.paths import check_readable
from step_torch.calling import calling
from step_torch.capturing import Layers, capture, capture_decoding, tables
from step_torch.generating import LanguageModel
from step_torch.imported import Imported, load
from step_torch.lacking import layers_of
from step_torch.packings import check_packing, is_packed, unpacked_layers
from step_torch.quantized import quantize
from step_torch.tiling import Tiling

_LAYER = re.compile(r"(?<![^.])(?:layers?|h|blocks?)\.(\d+)(?=\.)")

_COUNTS = ("num_hidden_layers", "encoder_layers", "decoder_layers", "num_layers", "num_decoder_layers")
"""Entries of configurations that are the number of layers."""

_FIRST = ("first_k_dense_replace", "num_dense_layers")
"""Entries that are the number of the first layers of a kind."""

_NUMBERS = ("moe_layers", "mlp_only_layers", "full_attn_idxs")
"""Entries that are numbers of layers of a kind; other lists, as long as there are layers, have an entry for each."""


def from_pretrained(folder: Path | str) -> Checkpoint:
    """The checkpoint in ``folder``, of which weights are read when they are wanted.

    ``folder``: has config.json and model.safetensors, or several of these with model.safetensors.index.json, as
    `save_pretrained` of transformers writes them. Nothing is downloaded.

    Raises `FormatError` for files that can not be read, and `InputError` for a model that transformers does not have
    by itself, or whose weights are quantized by another way than GPTQ or AWQ.

    >>> checkpoint = step_torch.from_pretrained("checkpoints/tiny-llama")  # doctest: +SKIP
    >>> checkpoint.layer(7, tokens=16).check().passed  # doctest: +SKIP
    True
    >>> checkpoint.language_model(room=64).program([1, 2, 3], 8)  # doctest: +SKIP
    <program generate: 412 operators, 64 inputs>
    """
    return Checkpoint(Path(folder))


@dataclass(frozen=True)
class Checkpoint:
    """A model of transformers in ``folder``, whose weights are quantised as ``options`` of `quantize` say, if any."""

    folder: Path
    options: Mapping[str, Any] | None = None
    _read: dict[int, Mapping[str, np.ndarray]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        check_readable(self.folder / "config.json")
        expect(self.kind and self.names, self._says("has no weights"), InputError)
        check_packing(getattr(self.config, "quantization_config", None), chain(*self.names.values()), self._says)

    @cached_property
    def config(self) -> Any:
        """The configuration, as a class of transformers."""
        from transformers import AutoConfig

        try:
            return AutoConfig.from_pretrained(self.folder, local_files_only=True)
        except (ValueError, OSError, KeyError) as error:
            raise FormatError(self._says(f"has a config.json that can not be read: {error}")) from None

    @cached_property
    def kind(self) -> Any:
        """The class of transformers."""
        import transformers

        name = (self.config.architectures or ["model of no architecture"])[0]
        if not hasattr(transformers, name):
            raise InputError(self._says(f"is a {name}, which transformers {transformers.__version__} does not have"))
        return getattr(transformers, name)

    @cached_property
    def names(self) -> dict[int, dict[str, Path]]:
        """Names of the weights of every layer, -1 for those of no layer, with their files."""
        index, single = self.folder / "model.safetensors.index.json", self.folder / "model.safetensors"
        if index.exists():
            files = sorted({self.folder / each for each in json.loads(index.read_text())["weight_map"].values()})
        else:
            files = [single]
        found = dict[int, dict[str, Path]]()
        for file in files:
            with self._opened(file) as weights:
                for name in weights.keys():  # noqa: SIM118 - it is no dictionary
                    match = _LAYER.search(name)
                    found.setdefault(int(match[1]) if match else -1, {})[name] = file
        return found

    @property
    def layers(self) -> int:
        """The number of layers."""
        return int(self.config.get_text_config().num_hidden_layers)

    def model(self, numbers: Sequence[int]) -> Any:
        """The model of transformers in BF16 with these layers alone, of which alone the weights are read."""
        config = type(self.config).from_dict({**self.config.to_dict(), "quantization_config": None})
        for text in {id(each): each for each in (config, config.get_text_config())}.values():
            for count in [each for each in _COUNTS if hasattr(text, each)]:
                setattr(text, count, len(numbers))
            for name, entry in vars(text).items():
                if name in _FIRST:
                    setattr(text, name, sum(each < entry for each in numbers))
                elif name in _NUMBERS and entry is not None:
                    setattr(text, name, [place for place, each in enumerate(numbers) if each in entry])
                elif isinstance(entry, list) and len(entry) == self.layers:
                    setattr(text, name, [entry[each] for each in numbers])
        state, quantization = dict(self._weights(numbers)), getattr(self.config, "quantization_config", None)
        integers = unpacked_layers(state, quantization, self._says)
        state = {name: each for name, each in state.items() if not is_packed(name, integers)}
        with calling(None, self._says("can not be made")), _silent():
            model, told = self.kind.from_pretrained(
                None, config=config, state_dict=state, output_loading_info=True, dtype=torch.bfloat16
            )
        prefix = f"{model.base_model_prefix}."
        own = {path if path in dict(model.named_modules()) else prefix + path: each for path, each in integers.items()}
        if missing := sorted(each for each in told["missing_keys"] if each.rpartition(".")[0] not in own):
            lost = f"{len(missing)} weights of a {self.kind.__name__}"
            raise InputError(self._says(f"lacks {lost}: {missing[0]!r} is the first"))
        self._renumber(model, numbers)
        for each in (*model.parameters(), *model.buffers()):  # routers that transformers keeps in float32
            if each.dtype == torch.float32 and bool((each.data.bfloat16() == each.data).all()):
                each.data = each.data.bfloat16()
        for path, each in own.items():
            model.set_submodule(path, each)
        return model.eval() if self.options is None else quantize(model.eval(), **self.options)

    @cached_property
    def _whole(self) -> list[nn.Module]:
        """All layers, without their weights."""
        with calling(None, self._says("can not be made")), torch.device("meta"):
            model = self.kind(type(self.config).from_dict({**self.config.to_dict(), "quantization_config": None}))
        return layers_of(model)

    def _renumber(self, model: Any, numbers: Sequence[int]) -> None:
        """Give layers what they have by their ``numbers``; raises `InputError` where that is other modules."""
        for place, (mine, number) in enumerate(zip(layers_of(model), numbers, strict=False)):
            for one, other in zip_longest(mine.modules(), self._whole[number].modules()):
                if type(one) is not type(other):
                    says = f"has layer {number}, which is another one by itself: a {type(one).__name__} is there for a "
                    raise InputError(self._says(f"{says}{type(other).__name__}"))
                entries = {name: (vars(one).get(name), entry) for name, entry in vars(other).items()}
                changed = (name for name, pair in entries.items() if _differ(*pair, place, number))
                vars(one).update({name: entries[name][1] for name in changed})

    def layer(self, number: int = 0, *, tokens: int = 16, inputs: Any = None, tiling: Tiling | None = None) -> Imported:
        """The layer ``number`` by itself as a program, rows of so many ``tokens`` in and out.

        ``inputs``, ``tiling``: as for `step_torch.load`; the rows are random ones where nothing is given.
        """
        expect(0 <= number < self.layers, self._says(f"has layers 0 to {self.layers - 1}, not {number}"), InputError)
        model, generator = self.model([number]), torch.Generator().manual_seed(0)
        rows = torch.randn(1, tokens, self.config.get_text_config().hidden_size, generator=generator)
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / f"layer_{number}.pt2"
            capture(Layers(model), (rows.to(torch.bfloat16), *tables(model, range(tokens))), path)
            return load(path, inputs=inputs, tiling=tiling)

    def language_model(self, *, room: int = 64) -> LanguageModel:
        """The whole model, which writes texts of up to ``room`` tokens; weights are read as a program wants them.

        Raises what `step_torch.capture_decoding` raises.
        """
        alike = self._alike()
        captured = [0, 1][: self.layers] if alike else [*range(self.layers)]
        with tempfile.TemporaryDirectory() as scratch:
            path = capture_decoding(self.model(captured), Path(scratch) / "model.pt2", room=room)
            step = LanguageModel.load(path)
        archive, parts = replace(step.archive, path=self.folder), step.parts
        if alike:
            archive = replace(archive, weights=_LayerWeights(self, archive.weights))
            own = {
                name: [_LAYER.sub(f"layers.{number}", first) for number in range(self.layers)]
                for name, (first, *_) in parts.parameters.items()
            }
            parts = replace(parts, count=self.layers, parameters=own)
        return LanguageModel(archive, step.nodes, parts, step.room)

    def _alike(self) -> bool:
        """Whether all layers are the same but for their weights."""
        first, *others = self._whole
        return not any(
            type(one) is not type(each)
            or any(_differ(vars(one).get(name), entry, 0, number) for name, entry in vars(each).items())
            for number, other in enumerate(others, 1)
            for one, each in zip_longest(first.modules(), other.modules())
        )

    def weights_of(self, number: int) -> Mapping[str, np.ndarray]:
        """The weights of a layer, by their names in it."""
        if number not in self._read:
            state = self.model([number]).state_dict()
            found = {name: match.end() + 1 for name in state if (match := _LAYER.search(name))}
            self._read[number] = {name[begin:]: _array(state[name]) for name, begin in found.items()}
        return self._read[number]

    def _weights(self, numbers: Sequence[int]) -> Iterator[tuple[str, torch.Tensor]]:
        """Weights of the layers, which are numbered anew, and of no layer."""
        for new, number in [(-1, -1), *enumerate(numbers)]:
            for name, file in self.names.get(number, {}).items():
                with self._opened(file) as weights:
                    match = _LAYER.search(name)
                    called = f"{name[: match.start(1)]}{new}{name[match.end(1) :]}" if match else name
                    yield called, weights.get_tensor(name)

    @contextmanager
    def _opened(self, file: Path) -> Iterator[Any]:
        if not file.exists():
            raise InputError(
                f"'{file}' is not there: weights must be in the format of safetensors, which save_pretrained of "
                "transformers writes"
            )
        try:
            with safe_open(file, "pt") as weights:
                yield weights
        except SafetensorError as error:
            raise FormatError(f"'{file}' is damaged: {error}") from None

    def _says(self, what: str) -> str:
        return f"'{self.folder}' {what}"


class _LayerWeights(dict[str, np.ndarray]):
    """Weights of a captured step, where those of layers are those of the ``checkpoint``."""

    def __init__(self, checkpoint: Checkpoint, captured: Mapping[str, np.ndarray]) -> None:
        super().__init__({name: each for name, each in captured.items() if not _LAYER.search(name)})
        self._checkpoint = checkpoint

    def __missing__(self, name: str) -> np.ndarray:
        match = _LAYER.search(name)
        if match is None:
            raise KeyError(name)
        return self._checkpoint.weights_of(int(match[1]))[name[match.end() + 1 :]]


def _differ(one: Any, other: Any, place: int, number: int) -> bool:
    """Whether an attribute of layer ``place`` is not that of layer ``number``: they may be the numbers themselves."""
    is_plain = isinstance(other, bool | int | float | str)
    return is_plain and one != other and (one, other) != (place, number)


def _array(weight: torch.Tensor) -> np.ndarray:
    import ml_dtypes

    if weight.dtype != torch.bfloat16:
        return weight.numpy()
    return weight.detach().contiguous().view(torch.uint16).numpy().view(ml_dtypes.bfloat16)


@contextmanager
def _silent() -> Iterator[None]:
    """No progress bars of transformers meanwhile."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()

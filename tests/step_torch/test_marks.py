"""What marks take of models of transformers, and what they refuse, where torch is (`pytest -m torch`)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from cases import cases
from raising import raising

import step_torch
from step.errors import InputError
from step_torch.archive import read_archive

pytestmark = pytest.mark.torch
if find_spec("torch") is None:
    pytest.skip("torch is not installed", allow_module_level=True)

import torch  # noqa: E402
import transformers  # noqa: E402
from capturing import small  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from transformers.integrations.moe import use_experts_implementation  # noqa: E402
from transformers.models.mixtral import modeling_mixtral as mixtral  # noqa: E402

from step_torch.capturing import ALIKE, Decoding, _far  # noqa: E402
from step_torch.marks import Marks  # noqa: E402
from step_torch.states import kept_behind  # noqa: E402

SIZES = {
    "vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 64,
}  # fmt: skip
DECODER = {**SIZES, "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 64}
ROUTED = {**DECODER, "intermediate_size": 32, "num_local_experts": 4, "num_experts_per_tok": 2}
HAVE = "silu, gelu, gelu_tanh, relu, relu_squared, clamped_silu have a lowering"


def rows(*shape: int) -> Tensor:
    """Random numbers."""
    return torch.randn(*shape, dtype=torch.bfloat16)


def part(made: nn.Module, kind: str) -> nn.Module:
    """The first module of a class in it."""
    return next(each for each in made.modules() if type(each).__name__ == kind)


class First(nn.Module):
    """The first result of a module, with some options."""

    def __init__(self, module: nn.Module, **options: Any) -> None:
        super().__init__()
        self.module, self.options = module, options

    def forward(self, *args: Tensor) -> Tensor:
        result = self.module(*args, **self.options)
        return result[0] if isinstance(result, tuple) else result


class Masked(nn.Module):
    """A Llama layer that is given a mask."""

    def __init__(self, made: Any) -> None:
        super().__init__()
        self.layer = made.model.layers[0]

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor) -> Tensor:
        result: Tensor = self.layer(x, attention_mask=mask, position_embeddings=(cos, sin))
        return result


class Whole(nn.Module):
    """A whole Llama, on rows, with masks that it makes by itself."""

    def __init__(self, made: Any, *names: str) -> None:
        super().__init__()
        self.model, self.names = made.model, names

    def forward(self, x: Tensor, *rest: Tensor) -> Tensor:
        options = dict(zip(self.names, rest, strict=True))
        result: Tensor = self.model(inputs_embeds=x, use_cache=False, **options).last_hidden_state
        return result


Capture = Callable[[Path], Path]


def of(module: nn.Module, *args: Tensor, dynamic: Any = None) -> Capture:
    """The capture of a module."""
    return lambda path: step_torch.capture(module, args, path, dynamic_shapes=dynamic)


def layers(made: nn.Module, longest: int | None = 0) -> Capture:
    """The capture of its layer, 16 rows of up to ``longest``, where that is not 0."""
    dynamic = None
    if longest != 0:
        tokens = {1: torch.export.Dim("tokens", min=2, max=longest)}
        dynamic = {"x": tokens, "rest": (tokens, tokens)}
    return of(step_torch.Layers(made), rows(1, 16, 32), *step_torch.tables(made, range(16)), dynamic=dynamic)


def encoder(kind: str, part_of_it: str, *shape: int, of_: str = "Model", **config: Any) -> Capture:
    """The capture of a layer of an encoder."""
    options = {"attention_mask": None} if kind == "Whisper" else {}
    return of(First(part(small(kind, of_, **config), part_of_it), **options), rows(*shape))


WHISPER = {
    "vocab_size": 64, "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2, "decoder_start_token_id": 1,
}  # fmt: skip
VIT = {**SIZES, "image_size": 32, "patch_size": 8}
GEMMA = {**DECODER, "attn_logit_softcapping": None, "final_logit_softcapping": None}
MLA = {
    **SIZES, "moe_intermediate_size": 32, "num_key_value_heads": 4, "n_routed_experts": 4, "num_experts_per_tok": 2,
    "n_group": 1, "topk_group": 1, "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8,
    "v_head_dim": 8,
}  # fmt: skip


def block(**config: Any) -> Capture:
    """The capture of Mixtral's routed experts."""
    return of(First(part(small("Mixtral", **{**ROUTED, **config}), "MixtralSparseMoeBlock")), rows(1, 16, 32))


def with_mask(mask: Tensor) -> Capture:
    """The capture of a layer that is given ``mask``."""
    made = small("Llama", **DECODER)
    return of(Masked(made), rows(1, 16, 32), *step_torch.tables(made, range(16)), mask)


def padding() -> Tensor:
    """An additive mask that hides six rows."""
    mask = torch.zeros(1, 1, 16, 16, dtype=torch.bfloat16)
    mask[..., :6] = -1e9
    return mask


def eager(kind: str = "Llama") -> nn.Module:
    """Attention of a layer by PyTorch's single operators."""

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            made = small(kind, **DECODER, attn_implementation="eager")
            self.self_attn = made.model.layers[0].self_attn
            self.register_buffer("cos", torch.ones(1, 16, 16, dtype=torch.bfloat16))
            self.register_buffer("sin", torch.zeros(1, 16, 16, dtype=torch.bfloat16))

        def forward(self, x: Tensor, attention_mask: Tensor | None) -> Tensor:
            result: Tensor = self.self_attn(x, (self.cos, self.sin), attention_mask)[0]
            return result

    return Layer()


class Attention(nn.Module):
    """Attention by the registry of transformers."""

    def __init__(self, made: Any, **options: Any) -> None:
        super().__init__()
        self.attention, self.options = made.model.layers[0].self_attn, options

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        registry = transformers.modeling_utils.ALL_ATTENTION_FUNCTIONS
        own = getattr(sys.modules[type(self.attention).__module__], "eager_attention_forward", None)
        function = registry.get_interface(self.attention.config._attn_implementation, own)
        result: Tensor = function(self.attention, query, key, value, None, **self.options)[0]
        return result


def attending(queries: int = 16, **options: Any) -> Capture:
    """The capture of attention of so many queries and 16 keys."""
    keys = rows(1, 2, 16, 16)
    return of(Attention(small("Llama", **DECODER), **options), rows(1, 4, queries, 16), keys, keys)


def own_gate() -> Capture:
    """The capture of experts with a gate of their own."""
    module = made_experts()
    module.module.experts._apply_gate = lambda x: x[:, :32].clamp(max=7) * x[:, 32:]
    return of(module, rows(1, 16, 32))


ATTENTION, EXPERTS = "attention of 'attention'", "experts of 'module.experts' have"
REFUSED: list[tuple[Callable[[], Capture], str]] = [
    (lambda: attending(dropout=0.5), f"{ATTENTION} drops 0.5 of its weights: set its dropout to 0"),
    (lambda: attending(scaling=None, head_mask=torch.ones(4)),
     f"{ATTENTION} has the option head_mask = a tensor [4], which has no lowering"),
    (lambda: attending(cu_seq_lens_q=torch.tensor([0, 8])),
     f"{ATTENTION} has the option cu_seq_lens_q = a tensor [2], which has no lowering"),
    (lambda: attending(output_attentions=True),
     f"{ATTENTION} has the option output_attentions = True, which has no lowering"),
    (lambda: attending(4),
     f"{ATTENTION} is causal, with 4 queries and 16 keys: only as many, or a single query, have a lowering"),
    (lambda: block(hidden_act="quick_gelu"), f"{EXPERTS} the activation QuickGELUActivation or a gate of their own: "
     f"{HAVE}"),
    (own_gate, f"{EXPERTS} the activation SiLUActivation or a gate of their own: {HAVE}"),
    (lambda: of(made_experts(has_post_expert_norm=True), rows(1, 16, 32)),
     f"{EXPERTS} a norm behind them, which has no lowering"),
]  # fmt: skip


@cases(*REFUSED)
def test_what_a_mark_refuses(make: Callable[[], Capture], said: str, tmp_path: Path) -> None:
    with raising(InputError, said):
        make()(tmp_path / "model.pt2")
    assert not list(tmp_path.iterdir())


def test_a_scale_that_is_computed() -> None:
    query = rows(1, 2, 8, 16)
    with raising(InputError, "attention of 'Identity' has scaling = a tensor [1], but only a number has a lowering"):
        Marks()._attention(nn.Identity(), query, query, query, None, scaling=torch.ones(1))


def off(path: Path) -> float:
    """How far the program is from the references, over how far torch is."""
    check = step_torch.load(path).check()
    return check.error / check.torch_error


T5 = {"vocab_size": 64, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 1, "num_heads": 4}
CTRL = {"vocab_size": 64, "n_embd": 32, "dff": 64, "n_layer": 1, "n_head": 4}
NEMOTRON_H = {
    **ROUTED, "layers_block_type": ["moe"], "moe_intermediate_size": 32, "moe_shared_expert_intermediate_size": 32,
    "n_routed_experts": 4, "n_group": 1, "topk_group": 1,
}  # fmt: skip
LFM2 = {**ROUTED, "num_experts": 4, "num_dense_layers": 0, "layer_types": ["conv"]}
CAPPED = {**GEMMA, "attn_logit_softcapping": 2.0}
TAKEN: dict[str, Callable[[], Capture]] = {
    "a single row of an encoder": lambda: encoder("Bert", "BertSelfAttention", 1, 1, 32, **SIZES),
    "bert": lambda: encoder("Bert", "BertLayer", 1, 8, 32, **SIZES),
    "a batch": lambda: encoder("Bert", "BertLayer", 2, 8, 32, **SIZES),
    "whisper": lambda: encoder("Whisper", "WhisperEncoderLayer", 1, 8, 32, **WHISPER),
    "additive mask": lambda: with_mask(padding()),
    "boolean mask": lambda: with_mask(torch.ones(1, 1, 16, 16, dtype=torch.bool).tril()),
    "padding": lambda: of(Whole(small("Llama", **DECODER), "attention_mask"), rows(1, 16, 32),
     torch.arange(16)[None] > 5),
    "window in a mask": lambda: of(Whole(small("Mistral", **DECODER, sliding_window=8)), rows(1, 16, 32)),
    "eager without a mask": lambda: of(First(eager(), attention_mask=None), rows(1, 16, 32)),
    "swish": lambda: block(hidden_act="swish"),
    "gelu": lambda: block(hidden_act="gelu"),
    "squared relu": lambda: block(hidden_act="relu2"),
    "squared relu without a gate": lambda: of(
        First(part(small("NemotronH", **NEMOTRON_H), "NemotronHMoE")), rows(1, 16, 32)
    ),
    "an activation that is a function": lambda: of(
        First(part(small("Lfm2Moe", **LFM2), "Lfm2MoeSparseMoeBlock")), rows(1, 16, 32)
    ),
    "weights softmax behind the choice": lambda: of(
        First(part(small("GraniteMoe", **ROUTED), "GraniteMoeMoE")), rows(1, 16, 32)
    ),
    "biases": lambda: of(First(part(small("GptOss", **ROUTED), "GptOssMLP")), rows(1, 16, 32)),
    "biases, row by row": lambda: of(First(part(small("GptOss", **ROUTED), "GptOssMLP")), rows(1, 1, 32)),
    "a window that no row reaches": lambda: layers(small("Mistral", **DECODER, sliding_window=16)),
    "nor a dynamic one": lambda: layers(small("Mistral", **DECODER, sliding_window=64), longest=64),
    "a window": lambda: layers(small("Mistral", **DECODER, sliding_window=5)),
    "a dynamic one": lambda: layers(small("Mistral", **DECODER, sliding_window=8), longest=64),
    "layers of an eager model": lambda: layers(small("Llama", **DECODER, attn_implementation="eager")),
    "a model that is not causal": lambda: layers(small("Llama", **DECODER, is_causal=False)),
    "a soft cap": lambda: layers(small("Gemma2", **CAPPED, sliding_window=16, layer_types=["sliding_attention"])),
    "positions beside the layers": lambda: layers(small("RoFormer", "Model", **SIZES)),
    "types that layers have": lambda: layers(small("ModernBert", "Model", **SIZES, pad_token_id=0)),
    "rows that a model scales in place": lambda: layers(small("CTRL", "Model", **CTRL)),
    "position bias": lambda: of(First(part(small("T5", "EncoderModel", **T5), "T5LayerSelfAttention")), rows(1, 8, 32)),
}  # fmt: skip


@pytest.mark.parametrize("name", [each for each in TAKEN if "encoder" not in each])
def test_what_a_mark_takes(name: str, tmp_path: Path) -> None:
    """Close to the references, which are made without marks."""
    assert off(TAKEN[name]()(tmp_path / "model.pt2")) < 1.1


def test_a_single_row_sees_nothing_behind_it(tmp_path: Path) -> None:
    assert TAKEN["a single row of an encoder"]()(tmp_path / "model.pt2").exists()


@pytest.mark.parametrize("names", [(), ("position_ids",)])
def test_plain_causal_masks_that_a_model_makes(names: tuple[str, ...], tmp_path: Path) -> None:
    positions = [torch.arange(16)[None]] if names else []
    path = of(Whole(small("Llama", **DECODER), *names), rows(1, 16, 32), *positions)(tmp_path / "model.pt2")
    targets = [node["target"] for node in read_archive(path).model["graph_module"]["graph"]["nodes"]]
    assert targets.count("torch.ops.step.attention.default") == 1


def made_experts(**kind: Any) -> nn.Module:
    """Experts of transformers of a kind of their own."""

    @use_experts_implementation(**kind)
    class Own(mixtral.MixtralExperts):
        def __init__(self, config: Any) -> None:
            super().__init__(config)

        def forward(self, *args: Tensor) -> Tensor:
            return 2 * mixtral.MixtralExperts.forward.__wrapped__(self, *args)

    return swapped(Own)


def swapped(kind: Any, **config: Any) -> nn.Module:
    """Mixtral's block with other experts."""
    made = part(small("Mixtral", **{**ROUTED, **config}), "MixtralSparseMoeBlock")
    before = made.experts
    before.config._experts_implementation = "eager"  # that of its own class
    made.experts = kind(before.config).to(torch.bfloat16)
    made.experts.load_state_dict(before.state_dict())
    return First(made)


def test_what_a_mark_does_not_see_shows(tmp_path: Path) -> None:
    """Experts whose own class doubles their results, which nothing tells but the results."""
    with pytest.raises(InputError) as caught:
        of(made_experts(), rows(1, 16, 32))(tmp_path / "model.pt2")
    said = str(caught.value)
    assert said.startswith("marks for attention and experts make something else of the module: in float64 output 0 is ")
    assert said.endswith(", first behind 'module.experts'") and "off by 50.00% of its largest number, at [0, " in said


def test_a_module_that_does_not_run_in_float64(tmp_path: Path) -> None:
    class Casting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(16, 16)

        def forward(self, x: Tensor) -> Tensor:
            result: Tensor = self.linear(x.to(torch.bfloat16))
            return result

    with pytest.raises(InputError) as caught:
        of(Casting().to(torch.bfloat16), rows(8, 16).float())(tmp_path / "model.pt2")
    said = str(caught.value)
    assert said.startswith("the module does not run in float64, which results are compared with: ")
    assert said.endswith("where it casts, let that be to the format of a parameter, as x.to(weight.dtype)")


def test_a_step_that_sees_other_rows_than_the_model(tmp_path: Path) -> None:
    """Behind one token nothing shows; scores are compared behind many."""
    made: Any = small("Llama", **DECODER)
    attention = type(made.model.layers[0].self_attn)

    class Far(attention):  # type: ignore[misc, valid-type]
        """Only the model as a whole has a mask, that hides the first token from all but itself."""

        def forward(self, hidden_states: Any, *args: Any, **options: Any) -> Any:
            if (count := hidden_states.shape[1]) > 1:
                mask = torch.ones(count, count, dtype=torch.bool).tril()
                mask[2:, :2] = False
                options["attention_mask"] = mask[None, None]
            return super().forward(hidden_states, *args, **options)

    made.model.layers[0].self_attn.__class__ = Far
    with pytest.raises(InputError) as caught:
        step_torch.capture_decoding(made, tmp_path / "model.pt2", room=8)
    assert str(caught.value).startswith(
        "LlamaForCausalLM sees tokens before it in another way than one by one: behind 8 of them its scores are off "
    )


def test_rounding_that_grows_with_layers_is_no_other_model(tmp_path: Path) -> None:
    """Scores of heads that decide are off by a quarter in BF16; in float64 they are not."""
    made: Any = small("Llama", **DECODER | {"num_hidden_layers": 8})
    with torch.no_grad():
        for name, each in made.named_parameters():
            each *= 4 if "q_proj" in name or "k_proj" in name else 1
        tokens = torch.arange(16)[None]
        found = kept_behind(made, tokens[:, :-1])
        assert _far(made, Decoding(made, 16, [*found]), tokens, [*found.values()]) > 4 * ALIKE
    assert step_torch.capture_decoding(made, tmp_path / "model.pt2", room=16).exists()


def test_references_are_those_of_the_module_itself(tmp_path: Path) -> None:
    made = small("Llama", **DECODER)
    module, args = step_torch.Layers(made), (rows(1, 16, 32), *step_torch.tables(made, range(16)))
    (results,) = read_archive(step_torch.capture(module, args, tmp_path / "model.pt2")).results
    with torch.no_grad():
        assert torch.equal(torch.tensor(results.bf16[0].astype("float32")), module(*args).float())
        exact = module.double()(*(each.double() for each in args))
    assert torch.equal(torch.tensor(results.float64[0]), exact)

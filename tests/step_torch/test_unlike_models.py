"""Models and modules that can not be captured as they are: each an error that lists why, or written as by torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import cases

import step
import step_torch
from step.errors import Deadlock, InputError
from step_torch.agreement import agreements
from step_torch.archive import read_archive
from step_torch.depths import with_depths
from step_torch.generating import LanguageModel, run
from step_torch.tiling import Tiling

pytestmark = pytest.mark.torch
if find_spec("torch") is None:
    pytest.skip("torch is not installed", allow_module_level=True)

import capturing  # noqa: E402
import families  # noqa: E402
import odd  # noqa: E402
import torch  # noqa: E402
from torch import Tensor, nn  # noqa: E402

GROWING = {"llama_4_scaling_beta": 0.5, "original_max_position_embeddings": 4}
HEAD = "It has what a capture can not do:"
FULL = {"layer_types": ["full_attention"], "final_logit_softcapping": None, "attn_logit_softcapping": None}


def rows(*shape: int) -> Tensor:
    """Random numbers."""
    return torch.randn(shape or (8, 16), dtype=torch.bfloat16)


def complaint(module: nn.Module, args: Any, path: Path, **options: Any) -> str:
    """What `capture` says."""
    with pytest.raises(InputError) as caught:
        step_torch.capture(module, args, path / "model.pt2", **options)
    return str(caught.value)


@pytest.mark.parametrize("name", families.FAMILIES)
def test_a_family_that_can_not_be_captured(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        step_torch.capture_decoding(families.model(name), tmp_path / "model.pt2", room=8)
    first, *more = str(caught.value).splitlines()
    *_, begins, listed = families.FAMILIES[name]
    assert first.startswith(begins) and more == [HEAD, *(f"  {line}" for line in listed)][: 2 * len(listed)]


def test_an_unknown_family_is_told_with_its_own_exception(tmp_path: Path) -> None:
    made = capturing.model("Llama")
    made.model.layers[0].mlp.forward = lambda x: {}["missing"]
    with pytest.raises(InputError, match=r"^LlamaForCausalLM can not be captured: in .*KeyError: 'missing'$") as caught:
        step_torch.capture_decoding(made, tmp_path / "model.pt2", room=8)
    assert isinstance(caught.value.__cause__, KeyError)


@cases(
    ("Gemma", {}), ("Gemma2", {**FULL, "query_pre_attn_scalar": 16}), ("Olmo", {}), ("Olmo2", {}),
    ("Granite", {"embedding_multiplier": 12.0, "logits_scaling": 4.0, "residual_multiplier": 0.2}),
    ("Mistral", {"sliding_window": 6}), ("BioGpt", {}), ("OPT", {"ffn_dim": 16, "word_embed_proj_dim": 16}),
    ("Ministral3", {"num_hidden_layers": 2, "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, **GROWING}}),
)  # fmt: skip
def test_it_writes_as_torch_does(name: str, changes: dict[str, Any], tmp_path: Path) -> None:
    """A scalar scales embeddings, and tables of positions are in FP32; where it is close the other token may be it."""
    capturing.MODELS.setdefault(name, capturing.COMMON)
    path = tmp_path / "model.pt2"
    agrees(capturing.model(name, hidden_size=16, intermediate_size=16, head_dim=16, **changes), path)
    model, prompt, found = LanguageModel.load(path), [3, 1, 4, 1, 5, 9, 2, 6], []
    for chunk in (1, 4):
        outputs = dict(run(model.program(prompt, 4, chunk=chunk), "approx").outputs)
        tokens = model.batch(prompt, 4, chunk=chunk).written(outputs.pop("tokens"), 0)
        found.append([tokens, *(np.asarray(each).tobytes() for each in outputs.values())])
    assert found[0] == found[1] and len(found[0][0]) == 4


@pytest.mark.parametrize("options", [{}, {"chunk": 4}, {"slots": 2}], ids=["rows", "chunks", "texts"])
def test_two_layers_show_the_depths_of_more(options: dict[str, int], tmp_path: Path) -> None:
    """Four find the same by runs of their own, and eight end with them."""
    made = capturing.small("Olmo2", **{**capturing.COMMON, "num_hidden_layers": 2})
    model = LanguageModel.load(step_torch.capture_decoding(made, tmp_path / "model.pt2", room=34))
    for layers in (4, 8):
        own = {name: each * (layers // 2) for name, each in model.parts.parameters.items()}
        more = replace(model, parts=replace(model.parts, count=layers, parameters=own))
        prompt, count = more.begins(options.get("chunk", 1)), 2
        texts = ([prompt] * 2, [count] * 2) if "slots" in options else (prompt, count)
        program = more.program(*texts, **options)
        if "chunk" in options:  # where what several nodes read has slots for all chunks that are in a layer
            assert program.graph.depths == {} and step.run(program, "approx").cycles
            continue
        assert program.graph.depths == {"linear_product_broadcast.2": 4}
        bare = replace(program, graph=replace(program.graph, depths={}))
        if layers == 4:
            assert with_depths(bare).graph.depths == program.graph.depths
        else:
            assert step.run(program, "approx").cycles
            with pytest.raises(Deadlock):
                step.run(bare, "approx")


@pytest.mark.parametrize("name", families.WRITING)
def test_a_family_that_writes(name: str, tmp_path: Path) -> None:
    """Latent caches, some heads of one, states beside it, rotations by complex numbers, scores that grow."""
    agrees(families.model(name, families.WRITING), tmp_path / "model.pt2")


def agrees(made: nn.Module, path: Path) -> None:
    """Whether ``made`` writes on hardware as by itself."""
    step_torch.capture_decoding(made, path, room=12, prompts=[[3, 1, 4], [7]])
    for found in agreements(LanguageModel.load(path)):
        assert found.agreed >= 0.8 * found.count and all(each.margin < 0.05 for each in found.differences)


class Placed(nn.Module):
    """Attention to rows and what a layer has for their position."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner, self.table = inner, nn.Embedding(64, 32, dtype=torch.bfloat16)

    def forward(self, hidden_states: Tensor, position_ids: Tensor, **rest: Any) -> Any:
        return self.inner(hidden_states + self.table(position_ids), **rest)


def test_layers_with_tables_of_their_own(tmp_path: Path) -> None:
    """A text alone, and two of them in one tile."""
    made = capturing.model("Llama", num_hidden_layers=3)
    for layer in made.model.layers:
        layer.self_attn = Placed(layer.self_attn)
    agrees(made, tmp_path / "model.pt2")
    model = LanguageModel.load(tmp_path / "model.pt2")
    alone = [run(model.program(prompt, 4), "approx").outputs["tokens"] for prompt in ([3, 1, 4], [7])]
    batch = model.batch([[3, 1, 4], [7]], 4)
    found = run(model.program([[3, 1, 4], [7]], 4), "approx").outputs["tokens"]
    assert [batch.written(found, number) for number in (0, 1)] == [np.asarray(each).ravel().tolist() for each in alone]


def test_a_model_without_caches(tmp_path: Path) -> None:
    made = capturing.small("OpenAIGPT", "LMHeadModel", vocab_size=64, n_embd=16, n_layer=1, n_head=2, n_positions=16)
    said = "OpenAIGPTLMHeadModel keeps no keys and values of tokens before one, which a step reads: forward, at "
    place = r"transformers/models/openai/modeling_openai\.py:\d+, returns none"
    with pytest.raises(InputError, match=f"^{said}{place}$"):
        step_torch.capture_decoding(made, tmp_path / "model.pt2", room=8)


def test_quantized_modules(tmp_path: Path) -> None:
    quantized = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(16, 16)), {nn.Linear}, torch.qint8)
    said = complaint(odd.Module(lambda self, x: self.a(x.float()), a=quantized), (rows(),), tmp_path)
    assert said.startswith("the module can not be captured: ") and said.splitlines()[-1] == (
        "  quantized weights, which must be bfloat16: 'a.0' is a torch.ao.nn.quantized.dynamic.modules.linear.Linear"
    )


def test_a_dynamic_extent_of_one(tmp_path: Path) -> None:
    """All that torch says, and what to do."""
    linear, batch = nn.Linear(16, 16).to(torch.bfloat16), torch.export.Dim("batch", max=8)
    said = complaint(linear, (rows(1, 4, 16),), tmp_path, dynamic_shapes=({0: batch},)).splitlines()
    assert said[0].startswith("the module can not be exported: Constraints violated (batch)!")
    assert "your code specialized it to be a constant (1)" in said[1] and "  batch = 1" in said
    assert said[-1] == "torch takes an extent of 1 for a constant: capture with args of 2 or more along a dynamic axis"


MUST = "must be a tensor, not"
ARGS = "give forward arguments that are tensors alone, and let the module have the rest"
RESULT = "let forward return a tensor, or a tuple of tensors"
CHANGES = "but a program keeps nothing: let it return what is new, and take it as an argument"


@cases(
    (lambda self, x: {"y": x}, None, f"the result of the module {MUST} a dict: {RESULT}"),
    (lambda self, x: (x, None), None, f"result 1 of the module {MUST} None: {RESULT}"),
    (lambda self, x: (x, (x, x)), None, f"result 1 of the module {MUST} a tuple: {RESULT}"),
    (lambda self, x: (x, 3), None, f"result 1 of the module {MUST} int 3: {RESULT}"),
    (lambda self, x, y: x, (rows(), None), f"args[1] {MUST} None: {ARGS}"),
    (lambda self, x, y: x, (rows(), 2.0), f"args[1] {MUST} float 2.0: {ARGS}"),
    (lambda self, x: x[0], ((rows(),),), f"args[0] {MUST} a tuple: {ARGS}"),
    (lambda self, x: x["a"], ({"a": rows()},), f"args[0] {MUST} a dict: {ARGS}"),
    (lambda self, x: x, rows(), "args must be the arguments of the module, as (x,), not a tensor"),
    (lambda self, x: x, (rows(0, 16),), "args[0] is a tensor [0, 16], which has no scalars"),
    (lambda self, x: x.mul_(2), None, f"forward changes args[0], {CHANGES}"),
    (lambda self, x: x + self.n.add_(1), None, f"forward changes its buffer 'n', {CHANGES}"),
)
def test_arguments_results_and_state(forward: Callable[..., Any], args: Any, said: str, tmp_path: Path) -> None:
    module = odd.Module(forward, n=torch.zeros(16, dtype=torch.int64))
    assert complaint(module, (rows(),) if args is None else args, tmp_path) == said


def test_samples_of_other_shapes(tmp_path: Path) -> None:
    said = complaint(odd.Module(lambda self, x: x + 1), (rows(),), tmp_path, samples=[(rows(4, 16),)])
    assert said == (
        "samples[0] must have the shapes and formats of args, bfloat16[8, 16], not bfloat16[4, 16]"
    )  # fmt: skip


def test_a_module_that_raises(tmp_path: Path) -> None:
    said = complaint(odd.Module(lambda self, x: self.a(x), a=nn.Linear(8, 8).to(torch.bfloat16)), (rows(),), tmp_path)
    assert said.startswith("the module can not be called: in a, at ")
    assert said.endswith("RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x16 and 8x8)")


def test_an_axis_that_there_is_not(tmp_path: Path) -> None:
    dynamic = ({3: torch.export.Dim("rows", max=8)},)
    said = complaint(odd.Module(lambda self, x: x + 1), (rows(),), tmp_path, dynamic_shapes={"args": dynamic})
    assert said == "the module can not be captured: IndexError: list assignment index out of range"


def test_what_nobody_reads_may_have_any_format(tmp_path: Path) -> None:
    module = odd.Module(lambda self, x: x.tanh(), numbers=torch.arange(5), wide=torch.ones(3))
    assert step_torch.load(step_torch.capture(module, (rows(),), tmp_path / "model.pt2")).check().passed


def test_constants_of_forward(tmp_path: Path) -> None:
    module = odd.Module(lambda self, x: x * torch.tensor([2.5] * 16))
    check = step_torch.load(step_torch.capture(module, (rows(),), tmp_path / "model.pt2")).check()
    assert check.error <= 1.1 * check.torch_error


class Ordered(nn.Module):
    """Columns in blocks, and some of these in another order."""

    def __init__(self, inner: nn.Module, order: list[int]) -> None:
        super().__init__()
        self.inner, self.order = inner, order

    def forward(self, x: Tensor) -> Tensor:
        y = self.inner(x).unflatten(-1, (4, -1))[:, :, self.order]
        return x * y.repeat(1, 1, 4 // len(self.order), 1).flatten(2)


@pytest.mark.parametrize("order", [[2, 0, 3, 1], [1, 3], [2]])
def test_rows_that_go_round_are_put_in_order(order: list[int], tmp_path: Path) -> None:
    """Block by block: memory would have those of one round behind those of another one."""
    made = capturing.model("Llama", num_hidden_layers=2)
    for layer in made.model.layers:
        layer.mlp = Ordered(layer.mlp, order)
    agrees(made, tmp_path / "model.pt2")


def test_rows_that_go_round_do_not_go_through_memory(tmp_path: Path) -> None:
    made = capturing.model("Llama", num_hidden_layers=2)
    for layer in made.model.layers:
        turned = nn.Module()
        turned.forward = lambda x: x.unflatten(-1, (4, -1)).transpose(2, 3).flatten(2)
        layer.mlp = nn.Sequential(layer.mlp, turned)
    path = step_torch.capture_decoding(made, tmp_path / "model.pt2", room=8)
    with pytest.raises(InputError) as caught:
        LanguageModel.load(path).program([1, 2], 3, tiling=Tiling(on_chip=1))
    assert str(caught.value).endswith("rows that go round would be stored behind each other")


@pytest.mark.parametrize("name", odd.ODD)
def test_a_stored_module_is_what_is_captured(name: str, tmp_path: Path) -> None:
    stored, anew = capturing.CAPTURED / "odd" / f"{name}.pt2", odd.capture(name, tmp_path)
    assert read_archive(stored).model["graph_module"] == read_archive(anew).model["graph_module"]

"""A module of PyTorch as a `.pt2` file.

With `step_torch.layers`, `step_torch.marks`, `step_torch.quantized` and `step_torch.references` all of this floor that
imports torch.

Attention and routed experts stay whole: each becomes one operator, a mark, through the registries of transformers. The
results of the module itself, without marks, in BF16 and in float64 are stored beside it, so that an import can be
checked without torch.
"""

from __future__ import annotations

import inspect
import io
import re
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from step.errors import InputError, expect
from step.host.files import write_atomically, writing
from step.host.paths import named_file
from step.programs.data.npz import Arrays
from step_torch.archive import RESULTS
from step_torch.by_hand import rewrite
from step_torch.calling import OURS, SITE, calling, check_arguments, check_call, check_plain
from step_torch.decompositions import decompositions
from step_torch.known import compute_known
from step_torch.lacking import lacking, listed, owner_of
from step_torch.layers import Layers as Layers
from step_torch.layers import is_complex, kinds_of, name_of, tables, turning
from step_torch.lengths import check_lengths
from step_torch.marks import Marks
from step_torch.quantized import unrounded
from step_torch.references import Given, in_float64, references, results_of
from step_torch.states import Past, begun, first_states, kept_behind, unscaled

_FRAME = re.compile(r'File "(.*?)", line (\d+), in (.*)')


class Decoding(nn.Module):
    """One step of a language model: a token and its position in, scores of all tokens out, and states of layers that
    are no rows of a cache.

    ``past`` is what layers keep, by their numbers and its ``names``, states last. The model itself does it, with
    rotations from tables of up to ``room`` positions, which are part of the module.
    """

    def __init__(self, model: Any, room: int, names: Sequence[tuple[int, str]]) -> None:
        super().__init__()
        body, name = owner_of(model) or (model, "")
        self.__dict__ |= {"_model": model, "_body": body}  # no modules of this one: their parts with numbers are
        self.room = room
        self.layers = getattr(body, name)
        inside = set(self.layers.modules())
        for path, each in model.named_modules():
            if each not in inside and not list(each.children()) and (each._parameters or each._buffers):
                self.add_module(path.replace(".", "_"), each)
        self.kinds, self.names = kinds_of(body), names
        for number, table in enumerate(tables(model, range(room))):
            self.register_buffer(f"known_table_{number}", table[0].contiguous(), persistent=False)
        self.is_complex = is_complex(body, self.kinds)

    def forward(self, token: Tensor, position: Tensor, *past: Tensor) -> tuple[Tensor, ...]:
        kept = Past(dict(zip(self.names, past, strict=True)), position)
        given = (getattr(self, f"known_table_{at}") for at in range(2 * len(self.kinds)))
        found = [nn.functional.embedding(position, each) for each in given]
        options = kept.given(self._model)
        if "position_ids" in inspect.signature(type(self._model).forward).parameters:
            options["position_ids"] = position
        rows = self._model.get_input_embeddings()(token)
        if getattr(self._model.config, "residual_in_fp32", False):
            rows = rows.to(torch.promote_types(rows.dtype, torch.float32))
        with turning(self._body, self.kinds, found, is_complex=self.is_complex), kept.within(self.layers):
            scores: Tensor = self._model(inputs_embeds=rows, use_cache=True, **options).logits
        return scores, *kept.states


ALIKE = 0.05
"""By how much of the largest score those of a captured step may be off from those of the model itself."""

SOME = 64
"""Behind how many tokens they are compared: rows that are far from each other may be seen in another way."""


def capture_decoding(model: nn.Module, path: Path | str, *, room: int, prompts: Sequence[Sequence[int]] = ()) -> Path:
    """Capture of one step of a language model of transformers as the file ``path``: what `step generate` takes.

    ``model``: the model, in BF16.
    ``path``: a .pt2 file.
    ``room``: tokens that a sequence may have.
    ``prompts``: token ids; behind each the model writes as many as there is room for, and the texts are stored, too,
    for `step generate --check`.

    Raises what `capture` raises, and `InputError` for a model that does more than embedding, layers, norm and head, or
    has no positions for so many tokens.

    >>> step_torch.capture_decoding(model, "model.pt2", room=64, prompts=[[1, 2, 3]])  # doctest: +SKIP
    PosixPath('model.pt2')
    """
    kind, wpe = type(model).__name__, getattr(getattr(model, "base_model", model), "wpe", None)
    if owner_of(model) is None or not hasattr(model, "get_output_embeddings"):
        raise InputError(
            f"{kind} has no step that can be captured: language models of transformers have, whose "
            f"layers are a list of modules{listed(lacking(model))}"
        )
    most = room if wpe is None else wpe.num_embeddings
    expect(room <= most, f"{kind} has {most} positions: room can not be {room}, for more tokens", InputError)
    with calling(model, f"{kind} can not be captured", always=True), torch.no_grad(), unscaled(model):
        return _capture_decoding(model.eval(), path, room, prompts)


def _capture_decoding(model: Any, path: Path | str, room: int, prompts: Sequence[Sequence[int]]) -> Path:
    count = min(room, SOME)
    tokens = torch.arange(count)[None] % model.config.vocab_size
    found = kept_behind(model, tokens[:, : max(1, count - 1)])
    decoding = Decoding(model, room, [*found]).eval()
    if count > 1:
        _check_far(model, decoding, tokens, [*found.values()])
    if not found:
        code = inspect.unwrap(type(model).forward).__code__
        line = f"{SITE.sub('', code.co_filename)}:{code.co_firstlineno}"
        says = f"{type(model).__name__} keeps no keys and values of tokens before one, which a step reads"
        raise InputError(f"{says}: forward, at {line}, returns none")
    first = first_states(found, room)
    token = torch.zeros(1, 1, dtype=torch.int64)
    shorter = (token, token + room - 2, *first_states(found, room - 1)) if room > 2 else None
    return _capture(decoding, [(token, token + room - 1, *first)], path, None, _texts(model, prompts, room), shorter)


def _check_far(model: Any, decoding: Decoding, tokens: Tensor, past: Sequence[Tensor]) -> None:
    """Raise `InputError` where the scores of ``model`` behind ``tokens`` are not those of the step."""
    off = _far(model, decoding, tokens, past)
    if not off <= ALIKE:  # by BF16 alone, it may be: what is rounded grows with the layers
        exact = in_float64(model)
        with unrounded():
            found = kept_behind(exact, tokens[:, :-1])
            off = _far(exact, Decoding(exact, decoding.room, [*found]).eval(), tokens, [*found.values()])
    if not off <= ALIKE:
        raise InputError(
            f"{type(model).__name__} sees tokens before it in another way than one by one: behind {tokens.shape[1]} of "
            f"them its scores are off by {off:.0%} of the largest one"
        )


def _far(model: Any, decoding: Decoding, tokens: Tensor, past: Sequence[Tensor]) -> float:
    """By how much of the largest score of ``model`` behind ``tokens`` those of the step are off."""
    scores = model(tokens, use_cache=False).logits[:, -1:]
    step = results_of(decoding(tokens[:, -1:], torch.tensor([[tokens.shape[1] - 1]]), *past))[0]
    return float((step - scores).abs().max() / scores.abs().max())


def _texts(model: Any, prompts: Sequence[Sequence[int]], room: int) -> dict[str, np.ndarray]:
    """Tokens that ``model`` writes behind ``prompts``, and the margin of the score of each."""
    arrays = dict[str, np.ndarray]()
    for number, prompt in enumerate(prompts):
        begun(model)
        made = model.generate(
            torch.tensor([list(prompt)]), max_new_tokens=room + 1 - len(prompt), do_sample=False, eos_token_id=None,
            pad_token_id=0, output_logits=True, return_dict_in_generate=True,
        )  # fmt: skip
        best = torch.cat(made.logits).float().topk(2).values
        arrays[f"text_{number}"] = made.sequences[0].numpy()
        arrays[f"margin_{number}"] = (best[:, 0] - best[:, 1]).numpy()
    return arrays


def capture(
    module: nn.Module,
    args: Sequence[Tensor],
    path: Path | str,
    *,
    dynamic_shapes: Any = None,
    samples: Sequence[Sequence[Tensor]] = (),
) -> Path:
    """Capture of ``module`` as the file ``path``, with what it makes of ``args``; returns the path.

    ``module``: in BF16; it is taken as in `eval`.
    ``args``: tensors that it is called with.
    ``path``: a .pt2 file.
    ``dynamic_shapes``: as for `torch.export.export`: axes that `step_torch.load` may give another extent.
    ``samples``: further arguments to compare results for, as those of a single row are too few to tell errors apart.

    Raises `InputError` for a module that is not in BF16 or that decides on data, for attention and experts of
    transformers that a mark does not take or makes something else of, and for whatever else the module raises.

    >>> rows = torch.randn(1, 16, 32, dtype=torch.bfloat16)  # doctest: +SKIP
    >>> step_torch.capture(module, (rows,), "model.pt2")  # doctest: +SKIP
    PosixPath('model.pt2')
    """
    check_arguments([args, *samples])
    return _capture(module, [tuple(each) for each in (args, *samples)], path, dynamic_shapes, {})


def _capture(
    module: nn.Module, given: Given, path: Path | str, dynamic_shapes: Any, arrays: Arrays, shorter: Any = None
) -> Path:
    """The same for all that is ``given``, with ``arrays`` beside the results; ``shorter``: for a step behind less."""
    path = named_file(path, "a captured module", ".pt2")
    if not isinstance(module, torch.fx.GraphModule):  # one of torch.export is as it was exported
        module = module.eval()
    marks = Marks()
    check_plain(module)
    with torch.no_grad():
        check_call(module, given[0])
    with torch.no_grad(), calling(module, "the module can not be captured"):
        for number, results in enumerate(references(module, given, marks)):
            parts = ((kind, *each) for kind, some in results.items() for each in enumerate(some))
            arrays |= {f"{kind}_{number}_{at}": _bits(one) for kind, at, one in parts}
        with marks.within(module):
            program = _exported(module, given[0], dynamic_shapes)
            if shorter is not None:
                check_lengths(type(module._model).__name__, program, _exported(module, shorter, None))
        _check(program)
    with writing(path):
        write_atomically(path, _packed(program, arrays))
    return path


def _check(program: torch.export.ExportedProgram) -> None:
    """Raises `InputError` for a parameter that is read and not in BF16."""
    given = (node for node in program.graph.nodes if node.op == "placeholder")
    scaled = torch.ops.step.quantized_linear.default  # whose scales may be FP32
    read = {node.name for node in given if any(user.target is not scaled for user in node.users)}
    for spec in program.graph_signature.input_specs:
        each = program.state_dict.get(spec.target or "")
        if each is None or spec.arg.name not in read or not each.is_floating_point() or each.dtype == torch.bfloat16:
            continue
        says = f"parameter {spec.target!r} is {name_of(each.dtype)}, not bfloat16"
        raise InputError(f"{says}: call .to(torch.bfloat16) first")


def _exported(module: nn.Module, args: tuple[Tensor, ...], dynamic_shapes: Any) -> torch.export.ExportedProgram:
    try:
        program = torch.export.export(module, args, dynamic_shapes=dynamic_shapes, strict=False)
    except torch._dynamo.exc.UserError as error:
        reason = str(error).split("\n\nThe error above occurred")[0]
        one = "constant (1)" in reason
        raise InputError(
            f"the module can not be exported: {reason}"
            + "\ntorch takes an extent of 1 for a constant: capture with args of 2 or more along a dynamic axis" * one
        ) from error
    except torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode as error:
        found = _FRAME.search(str(error))
        line = f" at {SITE.sub('', found[1])}:{found[2]}" if found else ""
        raise InputError(f"the module decides on data{line}: a stream of operators can not, so take it apart") from None
    program = program.run_decompositions(decompositions())
    if isinstance(module, Decoding):
        (position,) = (each for each in program.graph.find_nodes(op="placeholder") if each.name == "position")
        compute_known(program, position, module.room)
    else:
        compute_known(program)
    rewrite(program)
    program.graph.eliminate_dead_code()
    program.graph_module.recompile()
    for path, body in program.graph_module.named_modules():
        for node in body.graph.nodes:
            _shorten(node.meta)
            if path:  # no two nodes of a file have one name
                node._rename(f"{path.replace('scan_combine_graph_', 'step')}_{node.name}")
    return program


def _shorten(meta: dict[str, Any]) -> None:
    """Keep the innermost line outside of torch, with a path that is the same on all machines."""
    frames = _FRAME.findall(meta.get("stack_trace") or "")
    own = [each for each in frames if not SITE.sub("", each[0]).startswith("torch/") and not each[0].startswith(OURS)]
    if own or frames:
        file, line, function = (own or frames)[-1]
        file = SITE.sub("", file)
        with suppress(ValueError):  # it lies elsewhere
            file = str(Path(file).relative_to(Path.cwd()))
        meta["stack_trace"] = f'File "{file}", line {line}, in {function}'
    for key in ("torch_fn", "source_fn_stack", "from_node"):
        meta.pop(key, None)


def _packed(program: torch.export.ExportedProgram, arrays: dict[str, np.ndarray]) -> bytes:
    """The file of torch, compressed, with ``arrays`` in it; the same bytes each time."""
    written, packed, results = io.BytesIO(), io.BytesIO(), io.BytesIO()
    torch.export.save(program, written)
    np.savez(results, **arrays)  # type: ignore[arg-type]
    with zipfile.ZipFile(written) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        root = old.namelist()[0].split("/")[0]
        members = {each: old.read(each) for each in old.namelist()}
        for name, data in {**members, f"{root}/{RESULTS}": results.getvalue()}.items():
            new.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED, 9)
    return packed.getvalue()


def _bits(each: Tensor) -> np.ndarray:
    """Numbers as they are, BF16 as its bits."""
    each = each.detach().contiguous()
    return (each.view(torch.uint16) if each.dtype == torch.bfloat16 else each).numpy()

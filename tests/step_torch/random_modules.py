"""Modules of torch at random: a few operators one behind the other, on tensors of small numbers.

Operators that jump (floor, ==, argmax) are only of what is exact, so that rounding decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import torch
from torch import Tensor, nn

SCALARS = """
torch.relu({a}); torch.sigmoid({a}); torch.tanh({a}); torch.exp({a}.clamp(-4, 2)); {a}.abs(); -{a}; {a} / 4; {a} * 0.5
torch.rsqrt({a}.abs() + 1); torch.log({a}.abs() + 1); torch.sin({a}); torch.erf({a}); F.silu({a}); F.gelu({a}); 2 - {a}
F.softplus({a}); F.elu({a}); F.leaky_relu({a}, 0.1); {a}.square(); 1 / ({a}.abs() + 1); {a}.clamp(-1, 2); {a}.float()
torch.expm1({a}.clamp(-3, 1)); torch.floor(x); torch.round(x); torch.sign(x); x % 2.5; torch.fmod(x, 2); n.float()
torch.where(x > 1, x, -x); x.masked_fill(x < 0, 0.25); n * 3; n // 2; n % 3; n.sigmoid(); torch.expm1(n); n.bool()
n * x; torch.hypot(n, x); torch.where(n > 0, x, 1.0); n.cumsum(-1); (n > x); n.clamp(0, 2); x.argmax({d})
n.sort(-1).values; {a} + {b}; {a} - {b}; {a} * {b}; {a} / ({b}.abs() + 1); torch.maximum({a}, {b})
torch.lerp({a}, {b}, 0.25)
torch.addcmul({a}, {a}, {b}); torch.sub({a}, {b}, alpha=3)
"""
ROWS = """
{a}.sum({d}); {a}.sum({d}, keepdim=True); {a}.mean({d}); {a}.amax({d}, keepdim=True); {a}.amin({d})
{a}.sum(); {a}.max({d}).values; {a}.prod({d}); torch.logsumexp({a}, {d}); F.softmax({a}, {d}); F.log_softmax({a}, {d})
{a}.max(); {a}.cumsum({d}); F.normalize({a}, dim={d}); {a}.var({d}); {a}.topk({s}, {d}).values; {a}.sort({d}).values
{a}.median({d}).values
"""
SHAPES = """
{a}.reshape({f}, -1); {a}.flatten(); {a}.squeeze(); {a}.unsqueeze({d}); {a}.transpose({d}, 0); {a}.movedim({d}, -1)
{a}.narrow({d}, 0, {s}); {a}.select({d}, {s} - 1); {a}.flip({d}); {a}.roll(1, {d}); F.pad({a}, (2, 1)); {a}.tril()
F.pad({a}, (0, 1, 1, 0), value=1.0); {a}.index_select({d}, torch.tensor({numbers})); torch.cat([{a}, {a}], {d})
torch.stack([{a}, -{a}], {d}); {a}.chunk(2, {d})[0]; {a}.unbind({d})[0]; {a}.expand(2, *{a}.shape)
{a}.unfold({d}, {s}, 1); {a}.repeat_interleave(2, {d}); {a}.diagonal(); {a}.tile(2)
{a}[..., ::2]; {a}.repeat(2, *[1] * ({a}.ndim - 1)); {a}.reshape(-1, {f})
"""
PRODUCTS = """
F.linear({a}, {wide}, {bias}); {a} @ {tall}; F.layer_norm({a}, ({k},), {row}); {a} @ {a}.transpose(-1, -2); {a} + {row}
F.group_norm({a}, 1); F.conv1d({a}, {filter}, padding=1)
F.scaled_dot_product_attention(*[{a}.contiguous()] * 3, is_causal=True)
"""
"""torch's own attention is wrong where rows lie one over the other in memory, as those of ``unfold`` do."""

KINDS = [
    [each for each in text.replace("\n", ";").split(";") if each.strip()] for text in (SCALARS, ROWS, SHAPES, PRODUCTS)
]
LIMIT = 512
"""A value has fewer numbers than so many."""


@dataclass
class Written:
    """Source of a module of ``lines``, the ``inputs`` that it is called with, and its parameters."""

    inputs: dict[str, Tensor]
    lines: list[str] = field(default_factory=list)
    parameters: dict[str, Tensor] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """A class `Made`, which gives its last five values."""
        body = [*self.lines, f"return {', '.join([*self.values][:-6:-1])}"]
        head = f"    def forward(self, {', '.join(self.inputs)}):"
        imports = ["import torch", "import torch.nn.functional as F"]
        return "\n".join([*imports, "class Made(torch.nn.Module):", head, *(f"        {each}" for each in body), ""])

    def made(self) -> nn.Module:
        """The module."""
        names: dict[str, Any] = {}
        exec(compile(self.source, "random_module.py", "exec"), names)
        return having(self.parameters, names["Made"]())


def having(parameters: dict[str, Tensor], module: nn.Module) -> nn.Module:
    """``module`` with these ``parameters``."""
    for name, each in parameters.items():
        module.register_parameter(name, nn.Parameter(each, requires_grad=False))
    return module


def written(seed: int) -> Written:
    """The module of a ``seed``."""
    random, _ = Random(seed), torch.manual_seed(seed)
    shape = [random.choice([1, 2, 3, 4, 6, 8]) for _ in range(random.choice([1, 2, 2, 3, 3]))]
    inputs = {"x": torch.randint(-4, 5, shape).bfloat16() / 2, "n": torch.randint(-3, 4, shape)}
    found, number = Written(inputs), random.randint(3, 9)
    for _ in range(60):
        if len(found.lines) == number:
            break
        _added(found, random)
    return found


def _added(found: Written, random: Random) -> None:
    """One more line, if torch takes it and its value is small and finite."""
    values = found.inputs | found.values
    name = random.choice([*values][-3:])
    a, parameters = values[name], dict[str, Tensor]()

    def parameter(*extents: int) -> str:
        own = f"w{len(found.parameters) + len(parameters)}"
        parameters[own] = torch.randint(-4, 5, extents).bfloat16() / 4
        return f"self.{own}"

    k, d = ([*a.shape] or [1])[-1], random.randrange(max(1, a.ndim))
    extent, width = ([*a.shape] or [1])[d], random.choice([1, 2, 4])
    factors = [each for each in range(1, a.numel() + 1) if a.numel() % each == 0]
    line = random.choice(random.choice(KINDS)).strip()
    shapes = {
        "wide": (width, k),
        "tall": (k, width),
        "bias": (width,),
        "row": (k,),
        "filter": (width, *a.shape[-2:-1], 2),
    }
    chosen = {each: parameter(*extents) for each, extents in shapes.items() if f"{{{each}}}" in line}
    numbers = [random.randrange(extent) for _ in range(extent)]
    line = line.format(
        a=name, b=random.choice([*values]), d=d, s=random.randint(1, extent), f=random.choice(factors), k=k,
        numbers=numbers, **chosen,
    )  # fmt: skip
    module = having(found.parameters | parameters, nn.Module())
    try:
        value = eval(line, {"torch": torch, "F": nn.functional, "self": module}, values)
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError):
        return
    if 0 < value.numel() < LIMIT and value.ndim <= 5 and bool(torch.isfinite(value).all()):
        own = f"v{len(found.lines)}"
        found.lines.append(f"{own} = {line}")
        found.values[own] = value
        found.parameters |= parameters

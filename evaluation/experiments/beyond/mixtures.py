"""Mixtures of experts over batch sizes and skews of the routing: static and dynamic tiles, and regions that are shared.

The models have the published numbers of experts, which are smaller.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace

from experiments.fabric import record
from experiments.fabric.points import FabricPoint, mixture
from experiments.layers import MODELS
from experiments.work import Experiment
from step_models.configurations import Configuration, configuration
from step_models.routing import sampled_routing

BATCHES = (16, 32, 64, 128, 256, 512, 1024)
SKEWS = (0.0, 0.5, 1.0, 1.5, 2.0)
SHRUNK = {"mixtral": 8, "qwen": 4}
"""What the hidden and the inner scalars are divided by; 512 hidden ones are left."""
STATIC = (8, 32, 64, 128)
"""Rows of static tiles."""
SHARED_ROWS = 32
"""Rows of a tile where experts share regions."""
REGIONS = {"mixtral": (4, 2), "qwen": (16, 4)}
DYNAMIC = "dynamic"
SEED, OTHER_SEEDS = 1, (2, 3)
"""Of the routing; with the others some points are drawn again."""
AGAIN, SKEWS_AGAIN = {"mixtral": (64, 256, 1024), "qwen": (64,)}, (0.0, 1.0, 2.0)
"""Which these are: the batches of each model, and the skews."""


@dataclass(frozen=True)
class MixturePoint:
    """A point: ``tiles`` have that many rows (a number, or ``"dynamic"``), on ``regions``: as many as there are
    experts, or fewer, which they share."""

    model: str
    batch: int
    skew: float
    tiles: str
    regions: int
    seed: int = SEED

    @property
    def name(self) -> str:
        """All of its parameters."""
        seed = "" if self.seed == SEED else f" seed {self.seed}"
        return f"{self.model} batch {self.batch} skew {self.skew} tiles {self.tiles} regions {self.regions}{seed}"

    @property
    def point(self) -> FabricPoint:
        """The program on the fabric of the published figures."""
        model = shrunk(self.model)
        routing = sampled_routing(self.batch, model.experts, model.experts_per_token, skew=self.skew, seed=self.seed)
        return mixture(
            self.name,
            model,
            routing,
            rows=None if self.tiles == DYNAMIC else int(self.tiles),
            columns=64,
            flops=4096,
            regions=None if self.regions == model.experts else self.regions,
        )


def shrunk(model: str) -> Configuration:
    """A model with all its experts, which are smaller."""
    full = configuration(MODELS[model])
    return replace(full, hidden=full.hidden // SHRUNK[model], inner=full.inner // SHRUNK[model])


def mixtures() -> Iterator[MixturePoint]:
    """All points, those of a small batch first, then those that are drawn again."""
    once = list(_once())
    yield from once
    for seed in OTHER_SEEDS:
        yield from (
            replace(each, seed=seed) for each in once if each.batch in AGAIN[each.model] and each.skew in SKEWS_AGAIN
        )


def _once() -> Iterator[MixturePoint]:
    for batch in BATCHES:
        for model, shared in REGIONS.items():
            for skew in SKEWS:
                for tiles in (*map(str, STATIC), DYNAMIC):
                    yield MixturePoint(model, batch, skew, tiles, experts(model))
                for regions in shared:
                    yield MixturePoint(model, batch, skew, str(SHARED_ROWS), regions)


def experts(model: str) -> int:
    """The number of a model's experts."""
    return configuration(MODELS[model]).experts


def measured(mixture: MixturePoint) -> dict[str, object]:
    """The parameters of a point, and what rows of the figures say of one."""
    return asdict(mixture) | record.measured(mixture.point)


def sources(study: str) -> str:
    """A digest of the files that decide the results."""
    return record.digest_with(__file__)


COLUMNS = (*(each.name for each in fields(MixturePoint)), *record.COLUMNS)
CAMPAIGN = Experiment("beyond", COLUMNS, {"mixtures": mixtures}, measured, sources)

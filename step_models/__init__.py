"""Workloads: parts of large language models as programs, in any size.

Each module has a function `program`, which returns a `step.Program`, and the parts of it that go into larger ones.
"""

from step_models.configurations import Configuration, configuration, read_configuration
from step_models.kv_lengths import check_lengths, measured_kv_lengths, read_kv_lengths, sampled_kv_lengths
from step_models.routing import check_routing, measured_routing, read_routing, sampled_routing

__all__ = [
    "Configuration",
    "check_lengths",
    "check_routing",
    "configuration",
    "measured_kv_lengths",
    "measured_routing",
    "read_configuration",
    "read_kv_lengths",
    "read_routing",
    "sampled_kv_lengths",
    "sampled_routing",
]

"""Workloads: parts of large language models as programs, in any size.

Each module has a function `program`, which returns a `step.Program`, and the parts of it that go into larger ones.
"""

from step_models.configurations import Configuration as Configuration
from step_models.configurations import configuration as configuration
from step_models.configurations import read_configuration as read_configuration
from step_models.kv_lengths import check_lengths as check_lengths
from step_models.kv_lengths import measured_kv_lengths as measured_kv_lengths
from step_models.kv_lengths import read_kv_lengths as read_kv_lengths
from step_models.kv_lengths import sampled_kv_lengths as sampled_kv_lengths
from step_models.routing import check_routing as check_routing
from step_models.routing import layer_routings as layer_routings
from step_models.routing import measured_routing as measured_routing
from step_models.routing import read_routing as read_routing
from step_models.routing import sampled_routing as sampled_routing

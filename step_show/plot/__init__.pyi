"""What `step.plot` has, and where it is."""

from .filling import fifos as fifos
from .filling import occupancy as occupancy
from .fronts import front as front
from .off_chip import bandwidth as bandwidth
from .regions import utilization as utilization
from .roofs import roofline as roofline
from .routing import tokens_per_expert as tokens_per_expert

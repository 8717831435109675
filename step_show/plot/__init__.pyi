"""What `step.plot` has, and where it is."""

from step_show.plot.filling import fifos as fifos
from step_show.plot.filling import occupancy as occupancy
from step_show.plot.fronts import front as front
from step_show.plot.off_chip import bandwidth as bandwidth
from step_show.plot.regions import utilization as utilization
from step_show.plot.roofs import roofline as roofline
from step_show.plot.routing import tokens_per_expert as tokens_per_expert

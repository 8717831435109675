"""AXI4 masters in front of off-chip memory."""

"""Pictures of programs, plots of runs and sweeps, and waves of tokens."""

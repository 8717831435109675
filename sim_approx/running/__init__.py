"""Runs of the timing model, to whatever end they come."""

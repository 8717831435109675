"""Plans of functions."""

"""Firing rules: what they are written on and in, and how an operator declares its own."""

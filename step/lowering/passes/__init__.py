"""Passes: rewrites of a graph into another graph."""

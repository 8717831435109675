"""Scalar operations: their circuits, and how these are cut into pipeline stages."""

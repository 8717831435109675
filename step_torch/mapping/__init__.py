"""Tiles and hardware for an imported model within a budget."""

"""Families of cells that synthesis can map to, one file each."""

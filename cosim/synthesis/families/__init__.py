"""What synthesis can map to, one file per family."""

"""Input data: as users give it, as it is kept, and as sources and tensors take it."""

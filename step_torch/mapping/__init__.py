"""Which tiles, and which hardware, for an imported model within a budget."""

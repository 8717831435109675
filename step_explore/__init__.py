"""The search for hardware and parameters: areas, depths of FIFOs, fits, sweeps and tuning, all on the fast model."""

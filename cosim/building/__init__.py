"""From a fabric to an executable simulation: tools, bench, build."""

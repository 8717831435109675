"""Programs to look at: in words, as SVG, in notebooks."""

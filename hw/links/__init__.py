"""Joints of units: channels, the bits of tokens on a wire, and the edges of a fabric."""

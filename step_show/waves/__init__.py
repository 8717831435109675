"""Tokens on the channels of a timed run, cycle by cycle: waves for viewers, and tokens as a table."""

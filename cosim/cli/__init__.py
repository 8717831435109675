"""The verbs of the command line that need the RTL."""

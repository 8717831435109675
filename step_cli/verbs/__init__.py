"""Verbs of the command line: the one called NAME is ``command`` in the file NAME.py here."""

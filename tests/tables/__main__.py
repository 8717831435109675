"""Writes the pages."""

from tables import pages

for path, text in pages().items():
    path.write_text(text)

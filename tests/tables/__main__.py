"""Writes the pages."""

from tables import PAGES

for path, make in PAGES.items():
    path.write_text(make())

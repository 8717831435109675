"""docs/contents.md: every page of the site with the question that it answers, by the groups of mkdocs.yml."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
TITLE = """# All pages

Written by `PYTHONPATH=tests python -m tables` from `mkdocs.yml` and the first lines of pages; do not edit. `pip install
-e '.[docs]' && mkdocs serve` shows all as a site with a search. The [README](../README.md#four-ways-in) has four ways
in.
"""


def navigation() -> dict[str, dict[str, str]]:
    """Titles of pages by group, as the site has them."""
    groups: dict[str, dict[str, str]] = {}
    for line in (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2].splitlines():
        if group := re.fullmatch(r"  - ([\w ]+):", line):
            groups[group[1]] = {}
        elif page := re.fullmatch(r"      - (?:(.+): )?(\S+\.md)", line):
            groups[list(groups)[-1]][page[2]] = page[1]
    return groups


def contents_page() -> str:
    return "\n".join([TITLE, *(line for group, pages in navigation().items() for line in _section(group, pages))])


def _section(group: str, pages: dict[str, str]) -> Iterator[str]:
    yield from (f"## {group}", "", "| page | answers |", "|---|---|")
    for page, title in pages.items():
        if page not in ("index.md", "contents.md"):
            yield f"| [{title}]({page}) | {_question(page)} |"
    yield ""


def _question(page: str) -> str:
    """The bold question with which a page begins."""
    text = (ROOT / "docs" / page).read_text()
    found = re.match(r"# .+\n\n\*\*([^*]+\?)\*\*", text)
    if found is None:
        raise LookupError(f"{page} must begin with its title and a question, **in bold letters?**")
    return " ".join(found[1].split())

"""The docs as a whole: every page is in one group, its lines are short, and the glossary explains its words."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from tables import PAGES as BY_TABLES
from tables.contents import navigation

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
WRITTEN_BY_A_COMMAND = {*BY_TABLES, DOCS / "distance.md", DOCS / "streamtensor.md"}
PROSE = [ROOT / "README.md", *PAGES]
LONGEST = 120
MOST_WORDS, MOST_OF_A_PAGE, MOST_OF_THE_README = 45_000, 3_500, 600
"""Words written by hand: all pages, one page, and the README."""

GROUPS = ["Start", "An accelerator", "A model", "Verilog", "Reference", "Extend", "Results"]
GLOSSARY = dict(re.findall(r"^\* \*\*(.+?)\*\*: (.+)$", (DOCS / "glossary.md").read_text(), re.MULTILINE))
IN_HOUSE = ("back end", "control", "floor", "jump", "plan", "region", "room", "rule", "scenario", "share", "sidecar")
"""Words of pages that mean something of their own here."""
SEARCHED = ("speculative", "sliding window", "CSR", "shared expert", "KV cache", "top-k", "quantization", "testbench")
"""Words that people type into the search."""


def test_every_page_is_in_one_group_of_the_site() -> None:
    shown = [page for pages in navigation().values() for page in pages]
    assert list(navigation()) == GROUPS
    assert sorted(shown) == sorted(["index.md", *(page.name for page in PAGES)])  # index.md is the README


def test_the_page_of_all_pages_has_the_groups_of_the_site() -> None:
    sections = re.findall(
        r"^## ([\w ]+)$(.*?)(?=^## |\Z)", (DOCS / "contents.md").read_text(), re.MULTILINE | re.DOTALL
    )
    listed = {group: re.findall(r"^\| \[.+?\]\((.+?)\)", table, re.MULTILINE) for group, table in sections}
    own = {"index.md", "contents.md"}
    assert listed == {group: [page for page in pages if page not in own] for group, pages in navigation().items()}


def test_the_readme_links_to_every_group() -> None:
    links = re.findall(r"\]\(docs/contents\.md#([\w-]+)\)", (ROOT / "README.md").read_text())
    assert sorted(links) == sorted(group.lower().replace(" ", "-") for group in GROUPS)


def prose(page: Path) -> list[str]:
    """Lines without code, tables, and links that no line can break."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return [re.sub(r"\]\(\S+\)|\S{80,}", "", line) for line in text.splitlines() if not line.startswith("|")]


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.name)
def test_lines_of_prose_are_short(page: Path) -> None:
    assert [line for line in prose(page) if len(line) > LONGEST] == []


def test_a_long_line_is_found_and_a_table_is_not(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    word = "word " * 30
    page.write_text(f"{word}\n\n| {word} |\n\n```sh\n{word}\n```\n\n[a](https://{'b' * 120})\n")
    assert [line for line in prose(page) if len(line) > LONGEST] == [word]


def test_pages_written_by_hand_are_short() -> None:
    counts = {page.name: len(page.read_text().split()) for page in PROSE if page not in WRITTEN_BY_A_COMMAND}
    assert sum(counts.values()) <= MOST_WORDS, counts
    assert {name: count for name, count in counts.items() if count > MOST_OF_A_PAGE} == {}
    assert counts["README.md"] <= MOST_OF_THE_README


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_list_stands_apart(page: Path) -> None:
    """Without an empty line in front of it, the site shows a list as a part of the paragraph, unlike other viewers."""
    lines = ["", *re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL).splitlines()]
    items = [(above, line) for above, line in pairwise(lines) if re.match(r"[*-] |\d+\. ", line)]
    assert [line for above, line in items if above and not re.match(r"[*-] |\d+\. |  ", above)] == []


def used(term: str, page: Path) -> bool:
    return re.search(rf"\b{re.escape(term)}", page.read_text(), re.IGNORECASE) is not None


@pytest.mark.parametrize("term", [*GLOSSARY, *SEARCHED])
def test_a_term_is_used(term: str) -> None:
    assert any(used(term, page) for page in PAGES if page.name != "glossary.md")


@pytest.mark.parametrize("word", IN_HOUSE)
def test_words_of_this_project_are_in_the_glossary(word: str) -> None:
    assert any(used(word, page) for page in PAGES if page.name != "glossary.md"), "no page has it"
    assert any(re.search(rf"\b{word}\b", term) for term in GLOSSARY)


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.name)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    """But for those whose name stands for any: `x.py`, `NAME.py`."""
    folders = "|".join(path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith("."))
    named = re.findall(rf"`((?:{folders})/[\w/.-]+\.\w+)`", page.read_text())
    assert [
        each for each in named if not ((ROOT / each).exists() or re.match(r"[a-z]$|[A-Z]+$", Path(each).stem))
    ] == []

"""Hooks of the docs site: the README is its start page, files that pages link to outside of docs/ are in it, the
tables of the evaluation are made of their results, and runs that pages play are made by the fast model."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.utils import get_relative_url

from step import play

ROOT = Path(__file__).parents[1]
OUTSIDE = re.compile(r"\]\((?:\.\./)+([^)#\s]+)")
"""A link out of docs/, with the path of the file in the project."""
PLAYED = re.compile(r"<!-- play: ([^\s#]+)(\S*) -->")
"""A run to play at this place of a page: a program, as the command line names it, and how its page begins."""
FRAME = """\
<iframe src="{address}" loading="lazy" style="width:100%;height:520px;border:1px solid #ccc"></iframe>

<a href="{address}" target="_blank">On a page of its own</a>"""
README = "README.md"
CODE = {".py": "python", ".json": "json", ".sv": "systemverilog"}
"""Languages of files that are shown as a page; others are there to be downloaded."""


def on_files(files: Files, config: Any) -> Files:
    """Add the start page, the tables of the evaluation, and a page for every file that a page links to."""
    for path, content in _evaluation().items():
        files.append(File.generated(config, path, content=content, inclusion=InclusionLevel.NOT_IN_NAV))
    for program in {found[0] for file in files.documentation_pages() for found in PLAYED.findall(file.content_string)}:
        page = play(str(ROOT / program)).page
        files.append(File.generated(config, _played(program), content=page, inclusion=InclusionLevel.NOT_IN_NAV))
    linked = {path for file in files.documentation_pages() for path in OUTSIDE.findall(file.content_string)}
    added = File.generated(config, "index.md", content=(ROOT / README).read_text().replace("](docs/", "]("))
    files.append(added)
    for path in sorted(linked - {README}):
        content, name = (ROOT / path).read_text(), _address(path)
        if language := CODE.get(Path(path).suffix):
            content = f"---\nsearch:\n  exclude: true\n---\n# `{path}`\n\n~~~~{language}\n{content}~~~~\n"
        files.append(File.generated(config, name, content=content, inclusion=InclusionLevel.NOT_IN_NAV))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links to files of the project lead to their pages, and runs are played."""
    markdown = PLAYED.sub(
        lambda found: FRAME.format(address=get_relative_url(_played(found[1]), page.url) + found[2]), markdown
    )
    return (
        OUTSIDE.sub(lambda found: f"]({_address(found[1])}", markdown)
        if page.file.src_uri.count("/") == 0
        else markdown
    )


def _evaluation() -> dict[str, bytes]:
    """The page of tables and its pictures; the experiments need not be installed for it."""
    sys.path.append(str(ROOT / "evaluation"))
    from experiments.page import write_page
    from experiments.rows import RESULTS

    with TemporaryDirectory() as folder:
        write_page(Path(folder), RESULTS)
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def _played(program: str) -> str:
    """The place in the site of the page that plays a run of ``program``."""
    return f"play/{re.sub(r'[^a-z0-9]+', '_', program.lower())}.html"


def _address(path: str) -> str:
    """The place in the site of the file at ``path`` of the project."""
    if path == README:
        return "index.md"
    return f"source/{path}.md" if Path(path).suffix in CODE else f"source/{path}"

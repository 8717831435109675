"""Names of modules without digests, where the other modules of a design leave no doubt.

A module's own name is the same in every design, so that its text can be kept; a digest at its end tells apart what its
words do not. What people read has shorter ones: ``matmul_bf16_4x4_by_4x4_lanes4_c7ebb37b`` is ``matmul_in_NAME`` in the
program ``NAME`` if nothing else there is called ``matmul``, else ``matmul_bf16_4x4_by_4x4_lanes4_in_NAME``. Modules of
two programs so have two names; no own name has the word ``in``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from hw.design.emit import EmittedDesign

_OWN = re.compile(r"\b([a-z]\w*)_[0-9a-f]{8}\b")
_NUMBER = re.compile(r"_(?=[a-z]*\d).*")
"""The words of a name from the first one with a number on."""


def short_names(files: Iterable[str], program: str) -> Callable[[str], str]:
    """A function that puts short names of the modules in ``files``, in ``program``, in place of own ones in a text."""
    own = [Path(file).stem for file in files if file.endswith(".sv")]
    words = {name: match[1] if (match := _OWN.fullmatch(name)) else name for name in own}
    begins = {name: _NUMBER.sub("", each) for name, each in words.items()}
    alike = Counter(begins.values()) + Counter(each for name, each in words.items() if each != begins[name])
    short = dict[str, str]()
    for name in own:
        chosen = next((each for each in (begins[name], words[name]) if alike[each] == 1), None)
        if chosen is not None and words[name] != name:
            short[name] = f"{chosen}_in_{program}"
    return lambda text: _OWN.sub(lambda found: short.get(found[0], found[0]), text)


def renamed(design: EmittedDesign, names: Callable[[str], str]) -> EmittedDesign:
    """``design`` with ``names`` in all its files and in its sidecar."""
    files = {names(file): names(text) for file, text in design.files.items()}
    return replace(design, files=files, sidecar=json.loads(names(json.dumps(design.sidecar))))

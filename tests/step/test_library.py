"""Libraries in C++: what is in the cache is loaded whole or made again, and what is loaded stays as it is.

They are loaded in processes of their own: one that maps a file which is cut off does not live on.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cases import cases
from filing import fake_compiler
from raising import raised

from step.host.library import NoLibrary, cached, compile_to, whole

ANSWER = """
import sys
from pathlib import Path
from step.host.library import cached

text = 'extern "C" int answer() { return 42; }'
found = cached(Path(sys.argv[1]), "answer", text, ["g++", "-fPIC", "-shared"], "the answer", 1)
sys.exit(found.answer() - 42)
"""


def process(code: str, cache: Path) -> subprocess.Popen[str]:
    """One that runs ``code``, which gets the folder for libraries, and its cache, in ``cache``."""
    environment = {**os.environ, "STEP_CACHE": str(cache)}
    command = [sys.executable, "-c", code, str(cache / "answers")]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)


def test_what_is_cut_off_is_made_again(tmp_path: Path) -> None:
    """Also: two that compile at once do not disturb each other, and nothing else stays in the cache."""
    for each in [process(ANSWER, tmp_path), process(ANSWER, tmp_path)]:
        assert (each.communicate()[1], each.returncode) == ("", 0)
    kept, digest = sorted((tmp_path / "answers").iterdir(), key=lambda path: path.suffix, reverse=True)
    assert (kept.suffix, digest.suffix) == (".so", ".sha256")
    content = kept.read_bytes()
    for cut in (0, len(content) // 2):  # nothing, and what begins like a library
        kept.write_bytes(content[:cut])
        after = process(ANSWER, tmp_path)
        assert (after.communicate()[1], after.returncode) == ("", 0)
        assert kept.read_bytes() == content


LEAVES = """
import sys
from pathlib import Path
from step.host.library import NotYet, cached

try:
    cached(Path(sys.argv[1]), "answer", sys.argv[2], [sys.argv[3], "-fPIC", "-shared"], "the answer", 1, wait=False)
except NotYet as reason:
    print(reason)
"""


def test_one_process_compiles_for_all_and_outlives_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STEP_BACKGROUND")
    script = f'echo >> {tmp_path}/runs; while [ ! -e {tmp_path}/go ]; do sleep 0.02; done; exec g++ "$@"'
    text, folder, compiler = (
        'extern "C" int answer() { return 42; }',
        tmp_path / "answers",
        fake_compiler(tmp_path, script),
    )
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", LEAVES, folder, text, compiler], capture_output=True, text=True)
        assert (done.stdout, done.stderr) == ("the answer was not compiled yet; later runs have it\n", "")
    (tmp_path / "go").touch()
    assert cached(folder, "answer", text, [compiler, "-fPIC", "-shared"], "the answer", 1).answer() == 42
    assert (tmp_path / "runs").read_text() == "\n"


def test_who_waits_for_a_library_is_told(tmp_path: Path) -> None:
    """Once: then it is there."""
    told = list[str]()
    text = 'extern "C" int answer() { return 42; }'
    for _ in range(2):
        cached(tmp_path / "answers", "answer", text, ["g++", "-fPIC", "-shared"], "the answer", 1, told.append)
    assert told == ["compiling the answer, once: some 1 s"]


def test_what_is_loaded_is_never_written(tmp_path: Path) -> None:
    """A library that is made again is another file: who has mapped the old one goes on with that."""
    kept, compiler = tmp_path / "kept.so", fake_compiler(tmp_path, 'cp "$(dirname "$last")/source.cpp" "$last"')
    compile_to(kept, "old", [compiler], "it")
    with kept.open() as mapped:
        compile_to(kept, "new", [compiler], "it")
        assert (mapped.read(), kept.read_text()) == ("old", "new")


def test_what_has_no_digest_or_another_one_is_not_loaded(tmp_path: Path) -> None:
    kept = tmp_path / "kept.so"
    assert whole(kept) is None
    kept.write_bytes(b"no library")
    assert whole(kept) is None
    kept.with_suffix(".sha256").write_text("0" * 64)
    assert whole(kept) is None


@cases(
    ("echo source.cpp:1: error: out of ink >&2; exit 1", "{} can not compile it: source.cpp:1: error: out of ink"),
    ("exit 3", "{} can not compile it: exit 3"),
    ('echo text > "$last"', "what {} made of it can not be loaded"),
    ('echo text > "$last"; touch "$(dirname "$0")/libraries"', "it can not be kept in {}: File exists"),
)
def test_no_library(script: str, message: str, tmp_path: Path) -> None:
    compiler, folder = fake_compiler(tmp_path, script), tmp_path / "libraries"
    error = raised(NoLibrary, lambda: cached(folder, script, "", [compiler], "it", 1))
    assert error == message.format(folder if "kept in" in message else compiler)


def test_no_compiler(tmp_path: Path) -> None:
    with pytest.raises(
        NoLibrary, match=re.escape("there is no C++ compiler no-such-compiler; install g++, or set CXX")
    ):
        cached(tmp_path, "any", "", ["no-such-compiler"], "it", 1)

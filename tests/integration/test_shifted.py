"""An operator from outside of the tree whose rule holds a token and takes others that never go out, on all floors."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from cases import cases
from installed import told
from test_outside import COMPARE, HERE

from hw.links.layout import TokenFormat
from hw.rules.unit import Translated
from hw.rules.words import HardwareError
from step.firing.declared import Declared

RULE = HERE.parent / "outside" / "shifted" / "rules" / "shift.py"

EVERYWHERE = f"""
from pathlib import Path
from step import interpret, load_program
from sim_approx import backend as approx

program = load_program({str(HERE / "shifting.py")!r})
given = program.graph, program.inputs, program.fabric
engines = [approx.run(*given, values="all", events=True, engine=each) for each in ("python", "compiled")]
for each in (interpret(*given[:2]), *engines):
    print([token.value[0, 0].item() if token.has_value else str(token) for token in each.outputs["twice"]])
times = [{{name: each.cycles.tolist() for name, each in engine.events.items()}} for engine in engines]
print(times[0] == times[1])
"""


HARDWARE = f"""
import sys
sys.path += {[str(HERE), str(HERE.parent), str(HERE.parent / "hw")]!r}
from shifting import program
from test_further_rules import check

given = program()
for how in ("free", "both"):
    check(given.graph, given.inputs, given.fabric, how)
"""


def test_hardware_means_the_same() -> None:
    """Its words are those of the interpreter, in the cycles of the Python engine: both are made of the rule."""
    assert told(HARDWARE) == ""


@pytest.mark.slow
def test_interpreter_and_both_engines() -> None:
    assert told(EVERYWHERE).splitlines() == [*[str([0, 0, 10, 20, 0, 0, 0])] * 3, "True"]


@pytest.mark.slow
def test_rtl_in_every_cycle() -> None:
    assert told(COMPARE.format(program=str(HERE / "shifting.py"))) == "True 0 True\n"


BODY = RULE.read_text().partition("    def fire(self) -> int | None:\n")[2].partition("\n\n")[0]
"""The rule as it is."""

ONE_FIRING = """\
        x = need(self.inputs[0])
        room(self.outputs[0])
        take(self.inputs[0])
        if not x.has_value:
            put(self.outputs[0], x)
            return ENDS if x.done else None
        put(self.outputs[0], Token(self.zero if self.before is None else self.before.value, x.stop))
        self.before = x if x.stop == 0 else None
        return COMPUTES"""


def read(tmp_path: Path, body: str) -> Translated:
    """The hardware of the rule with this ``body``, for tiles of two words."""
    path = tmp_path / "shift.py"
    path.write_text(RULE.read_text().replace(BODY, body).replace("from shifted.ops.shift import zeros\n", ""))
    linecache.checkcache()
    module: Any = ModuleType("shift")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "shift", module)
        exec(compile(path.read_text(), str(path), "exec"), vars(module))
        stream = TokenFormat(1, (16,), 8)
        rule = Translated.of(Declared(module.Shift, {"zero": np.zeros((1, 2), np.int8)}), (stream,), (stream,))
        assert rule.execution
    return rule


def test_there_is_hardware_of_it(tmp_path: Path) -> None:
    assert read(tmp_path, BODY).held == (0,)


@cases(
    (ONE_FIRING, "return COMPUTES",
     "a value of input 0 that is taken, and goes nowhere, behind the one in self.before; "
     "put what self.before holds first, and take the other in a firing of its own, in which nothing is held"),
    (
        BODY.replace("        room(", "        if x.stop == 0:\n            take(self.inputs[0])\n"
                     "            self.before = x\n            return None\n        room("),
        "return None",
        "a value in self.before that is held no longer and was not put; "
        "put what self.before holds first: a value that is not to go out is taken where none is held",
    ),
    (BODY.replace("        self.before = None\n", ""), "return COMPUTES",
     "a value in self.before that is put and held; what is held is put once, and held no longer then"),
    ids=["one_firing", "overwritten", "put_twice"],
)  # fmt: skip
def test_mutants_are_refused(body: str, line: str, error: str, tmp_path: Path) -> None:
    with pytest.raises(HardwareError) as caught:
        read(tmp_path, body)
    text = (tmp_path / "shift.py").read_text().splitlines()
    (*_, number) = (at for at, each in enumerate(text, 1) if each.strip() == line)
    assert str(caught.value) == f"{tmp_path}/shift.py:{number}: no hardware can be made of {error}"

"""The results of a function: where its datapath has them, and its state, when they are to go out."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from hw.rules.numbers import Number, const
from hw.rules.pace import Pace
from hw.rules.values import ANY, RESULT, STATE, Literal

HELD = "the datapath keeps what it makes: so does the state word"


class Results(Pace):
    """Words of a rule about what a function makes of the values in front, and what it keeps of them.

    A state stays in the datapath: the rule puts what became of it in this firing, or what it was before, or the initial
    one, and says where that is the first operand.
    """

    def _puts(self, wanted: Any) -> Number:
        carries = self.token(0).carries
        return const(0) if carries is ANY else self._picked(carries.source, wanted)

    @property
    def begins(self) -> Number:
        """Whether the state before a firing that applies the function, or puts a state, is the initial one."""
        applies, puts = self.flag("applies"), self._puts(self.parameters.get("initial"))
        begins: Number = self.end.said.get(("begins",), const(1))
        return begins if puts is const(0) else applies & begins | ~applies & puts

    @cached_property
    def initial(self) -> Literal:
        """The initial state, without items where that never goes out."""
        return next((each for each in self.ways(0).values() if isinstance(each, Literal)), Literal(()))

    @property
    def puts_before(self) -> bool:
        """Whether the state that goes out is the one before the firing."""
        return STATE in self.ways(0).values() and RESULT not in self.ways(0).values()

    def check_results(self) -> None:
        """Refuse what the datapath does not have in the cycle in which it is to go out."""
        place, applies, (puts, token) = self.rule.body[0], self.flag("applies"), self.end.put(0)
        if applies is const(0):
            return
        emits, given = puts & token.has_value, self.parameters.get("initial")
        other = [each for each in self.ways(0).values() if each not in (RESULT, STATE, given)]
        if len(self.outputs) > 1 or other:
            self.refuse(place, "what goes out beside a result", "it is that, the state or self.initial, in one output")
        if self.words.kept and (self.end.said["begins",] is const(0) or (self.puts_before and not self.initial.items)):
            self.refuse(place, "a reduction that does not begin", "its first operand is self.initial then")
        late = emits & ~applies if self.puts_before else applies & (emits & ~self._puts(RESULT))
        for wrong, what, hint in (
            (~self.flag("COMPUTES"), "that does not compute", "return COMPUTES"),
            (late, "that puts another state", "it puts the state before it, always, or what it makes of it"),
            *((~self.flag("next", name), f"that self.{name} does not get", HELD) for name in self.words.kept),
        ):
            if not self.never(self.flag("live") & ((late if wrong is late else applies) & wrong), self.end):
                self.refuse(place, f"a result of a firing {what}", hint)

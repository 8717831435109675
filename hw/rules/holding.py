"""Words stay in the order in which they came: what a rule may do with values that it holds, and when words go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

from hw.rules.calls import Calls
from hw.rules.facts import never
from hw.rules.numbers import Number, bit, const, equal, leaf, less
from hw.rules.states import possible
from hw.rules.values import ANY, NOTHING, Arriving, Literal, Path, Symbol, leaves, picked
from hw.rules.words import Words
from step.firing.terms import RuleTerm


class Holding(Calls):
    """Ways of the values of inputs, on each of the paths that ``ends`` has with their last statements.

    A state word holds a header: the words of its value are the oldest ones that lie in the channel, and they alone can
    be read. So one value of an input leaves in a firing at most, the one that is held before the one in front.
    """

    words: Words
    ends: list[tuple[RuleTerm, Path]]
    end: Path
    flag: Callable[..., Number]
    possible: Number

    def token(self, port: int) -> Symbol:
        """The token that goes out on output ``port``."""
        return self.end.said.get(("token", port), Symbol())

    def ways(self, port: int) -> dict[int, Any]:
        """The sources of the words that go out on output ``port``, by number."""
        carries = self.token(port).carries
        return {} if carries is ANY else {each: self.sources[each] for each in leaves(carries.source)}

    def split(self, port: int) -> tuple[list[Arriving], dict[int, Literal]]:
        """The same, those that arrive and the constants."""
        ways = self.ways(port)
        literals = {number: each for number, each in ways.items() if isinstance(each, Literal)}
        places = [replace(each, held=()) for each in ways.values() if isinstance(each, Arriving)]
        return list(dict.fromkeys(places)), literals

    @cached_property
    def held(self) -> set[int]:
        """The inputs whose tokens state words keep."""
        return set(self.words.held.values())

    def drops(self, port: int) -> Number:
        """When the words of the oldest value of the held input ``port`` go: it goes out, or nobody gets it."""
        taken, ahead = self.taken(self.end, port), self.goes(self.end, port)
        (name,) = (name for name, each in self.words.held.items() if each == port)
        before, _, fresh = self._holds(self.end, name, port)
        goes = self.goes(self.end, port, None)
        stays, lost = ahead & ~taken, taken & ~(goes | (before | fresh))
        live = self.end.flag("live")
        goes = goes if self.never(live & stays, self.end) else goes & ~stays
        return goes if self.never(live & lost, self.end) else goes | lost

    def taken(self, path: Path, port: int) -> Number:
        """Whether a value is taken from input ``port``."""
        return path.flag("take", port) & self.fronts[port].has_value

    def goes(self, path: Path, port: int, held: bool | None = False) -> Number:
        """Whether the value of input ``port`` that is ``held``, or the one in front, or any (None), goes out."""
        found = const(0)
        for output in range(len(self.outputs)):
            puts, token = path.put(output)
            found |= puts & self._is_of(token, port, held)
        return found

    def _is_of(self, token: Symbol, port: int, held: bool | None) -> Number:
        """Whether ``token`` has the value of input ``port`` that is ``held``, or the one in front, or any (None)."""

        def wanted(source: int) -> Number:
            words = self.sources[source]
            if not isinstance(words, Arriving) or port not in words.ports or held not in (None, port in words.held):
                return const(0)
            return const(1) if words.mask is None else bit(words.mask, words.ports.index(port))

        return const(0) if token.carries is ANY else token.has_value & picked(token.carries.source, wanted)

    def _holds(self, path: Path, name: str, port: int) -> tuple[Number, Number, Number]:
        """Whether word ``name`` holds a value, and still holds it behind the firing, or the one in front."""
        changes, after = path.flag("next", name), path.said.get(("word", name), NOTHING)
        before = self.present[name].has_value
        kept = changes & self._is_of(after, port, True) | ~changes & before
        return before, kept, changes & self._is_of(after, port, False)

    def _possible(self) -> Number:
        """Whether it can be so: every token is Done, an empty or a value; those that do not differ are alike; and what
        the flags among the state words can be."""
        found, flags = const(1), dict[Number, tuple[int, Number]]()
        for token in self.fronts:
            found &= token.has_value | (token.done | less(const(0), token.rank))
        for port in self.aligned:
            (one, other), differs = (self.fronts[each].has_value for each in (0, port)), leaf(("differ", 0, port), 0, 1)
            same = one & other | ~one & ~other
            found &= differs | same
        for name, word in self.present.items():
            if name in self.words.kept:
                continue
            after = self.end.said.get(("word", name), word)
            now, then = (each.there if isinstance(each, Symbol) else each for each in (word, after))
            if now.op == "leaf" and now.is_flag:
                changes = self.end.flag("next", name)
                then = changes & equal(then, const(1)) | ~changes & now
                flags[now] = self.words.initial.get(now.args[0], 0), then
        return found & possible(flags, self.end.flag("live"), self.end.facts)

    def never(self, wrong: Number, path: Path) -> bool:
        """Whether nothing is ``wrong`` on ``path``."""
        return never(wrong & self.possible, path.facts)

    def check_moves(self) -> None:
        """Refuse paths on which words would be lost, or sent twice, or be those of another value."""
        for word, place in self.too_late.items():
            hint = "needs and faults come first, then rooms, then what is taken, put and changed"
            self.refuse(place, f"a {word} that comes too late", hint)
        self.possible = self._possible()
        for port in range(len(self.outputs)):
            for place, path in self.ends:
                puts, token = path.put(port)
                if not self.never(puts & ~token.there, path):
                    hint = "ask before whether it `is None`"
                    self.refuse(place, f"a put in output {port} of what may be None", hint)
        for place, path in self.ends if self.compares_ages else ():
            for port, each in enumerate(self.passing.ports):
                needed, taken = bit(self.passing.mask, port), path.flag("take", each)
                differs = needed & ~taken | taken & ~needed
                if not self.never(differs & ~path.flag("ENDS"), path):
                    hint = "inputs that wait for each other are taken by need_each alone"
                    self.refuse(place, f"another take of input {each} than that of what passes", hint)
        for name, port in self.words.held.items():
            if self.fronts[port].carries.control is ANY:
                found = [[(place, path, *each) for each in self._wrong(path, name, port)] for place, path in self.ends]
                for place, path, wrong, what, hint in (each for alike in zip(*found, strict=True) for each in alike):
                    if not self.never(wrong, path):
                        self.refuse(place, what, hint)

    def _wrong(self, path: Path, name: str, port: int) -> tuple[tuple[Number, str, str], ...]:
        """Cases that must never be with what ``name`` holds of input ``port``, what it is, and what would be right."""
        value, word = f"a value of input {port}", f"self.{name}"
        taken, ahead, goes = self.taken(path, port), self.goes(path, port), self.goes(path, port, True)
        before, kept, fresh = self._holds(path, name, port)
        lost = taken & ~(ahead | fresh)
        once, first = "what is held is put once, and held no longer then", f"put what {word} holds first"
        return (
            (goes & kept, f"a value in {word} that is put and held", once),
            (ahead & fresh, f"{value} that is put, and held in {word}", once),
            (
                before & ~(goes | kept),
                f"a value in {word} that is held no longer and was not put",
                f"{first}: a value that is not to go out is taken where none is held",
            ),
            (fresh & ~taken, f"{value} in {word} that is not taken", "take what is held from now on"),
            (
                before & ahead,
                f"{value} that is put ahead of the one in {word}",
                f"{first}: words leave in the order in which they came",
            ),
            (
                before & lost,
                f"{value} that is taken, and goes nowhere, behind the one in {word}",
                f"{first}, and take the other in a firing of its own, in which nothing is held",
            ),
        )

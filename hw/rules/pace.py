"""The time that words take: the next firing comes behind them."""

from __future__ import annotations

from collections.abc import Sequence

from hw.rules.holding import Holding
from hw.rules.numbers import Number, const
from hw.rules.values import ANY, Path
from step.firing.terms import RuleTerm
from step.lowering.links import Span


class Pace(Holding):
    """Words of a rule about the time of its firings, in which its words must pass, on all floors alike.

    ``offsets``: by input, how many cycles behind a firing its words begin to come.
    """

    offsets: Sequence[Span]

    def rows_put(self) -> dict[Number, int]:
        """The rows of what goes out in tiles of dynamic size, each with an output where it does."""
        tiled = [port for port, each in enumerate(self.outputs) if each.most_rows]
        tokens = {port: self.end.put(port)[1].carries for port in tiled}
        return {each.rows: port for port, each in tokens.items() if each is not ANY and each.rows is not ANY}

    def check_pace(self) -> None:
        """Refuse firings that may end before words have passed, or take another time than the fast model says."""
        rows = self.rows_put()
        if len(rows) > 1:
            hint = "a firing takes the time of one tile"
            ports = " and ".join(map(str, sorted(rows.values())))
            self.refuse(self.rule.body[0], f"the rows of different tiles in outputs {ports}", hint)
        for place, path in self.ends:
            self._check_words_pass(place, path)
            if (rows or ("resize",) in self.end.said) and self.flag("applies") is const(0):
                self._check_rows(place, path)

    def _check_words_pass(self, place: RuleTerm, path: Path) -> None:
        for port, format in enumerate(self.outputs):
            puts, token = path.put(port)
            computes = path.flag("COMPUTES") | path.flag("reserve", port)
            gathers = format.control and not all(each.is_whole for each in self.split(port)[0])
            if (gathers or format.words > 1) and not self.never(puts & token.has_value & ~computes, path):
                hint = "its words pass in the cycles behind the firing: return COMPUTES"
                self.refuse(place, f"a value put in output {port} by a firing that does not compute", hint)
        for port, begin in enumerate(self.offsets):
            if begin.rows:
                computes = path.flag("COMPUTES")
                taken, goes = self.taken(path, port), self.goes(path, port)
                if not self.never(taken & ~computes | goes & ~taken, path):
                    hint = "a firing takes what it puts of them, and returns COMPUTES"
                    self.refuse(place, f"words of input {port} that come behind tiles of dynamic size", hint)

    def _check_rows(self, place: RuleTerm, path: Path) -> None:
        """A firing that computes has one number of rows, which it puts, or says by ``resize``."""
        computes, timed, one = path.flag("COMPUTES"), path.flag("resized"), path.said.get(("resize",))
        for port, format in enumerate(self.outputs):
            if not format.most_rows:
                continue
            puts, token = path.put(port)
            timed |= puts
            other = one is not None and token.carries is not ANY and token.carries.rows not in (one, ANY)
            wrong = puts if other else puts & ~token.has_value
            if not self.never(computes & wrong, path):
                hint = "a firing that computes takes the time of the tile that it puts"
                self.refuse(place, f"a token put in output {port} without the rows of the firing", hint)
        if not self.never(computes & ~timed, path):
            hint = "it puts a tile of dynamic size, or names one by self.resize"
            self.refuse(place, "the time of a firing that computes without rows", hint)

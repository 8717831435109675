"""Loads: one machine issues requests, another one delivers tiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Elaboratable, Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.addresses import fetch_addresses
from hw.channel import Channel, ConsumerSignature
from hw.layout import AddressFormat, Format, TileFormat, TokenFormat
from hw.shared import Parametric, Shared
from hw.tile_queue import TileQueue
from hw.unit import STATUS, Firing, Rule, Unit, join, offer, pass_status

REQUEST, PENDING = 0, 1
"""Outputs of the machine that issues requests: addresses, and what is to come of them."""

REQUEST_DEPTH = 2


@dataclass(frozen=True)
class LoadDeliver(Rule):
    """Joins what a token will be with its tile."""

    pending: TokenFormat
    token: TokenFormat

    @property
    def tile(self) -> TileFormat:
        """The words that go out, without header."""
        return TileFormat(self.token.word_bits, self.token.beats)

    @property
    def inputs(self) -> tuple[Format, ...]:
        return (self.pending, self.tile)

    @property
    def outputs(self) -> tuple[Format, ...]:
        return (self.token,)

    def fire(self, m: Module, firing: Firing) -> None:
        pending = firing.need(0)
        with m.If(pending.value):
            firing.wait(firing.visible(1))
            firing.take(1)
        firing.put(0, pending)
        firing.pass_data(1, 0)
        firing.occupy(when=pending.value)
        firing.take(0)
        firing.finish(pending.done)


class TileLoad(Parametric):
    """The two machines, the queues between them, and the assembly of tiles from beats.

    ``addresses``: what input 0 carries, if the machine that issues requests wants addresses fetched from it.
    """

    def __init__(
        self,
        issue: Rule,
        deliver: LoadDeliver,
        beat_bits: int,
        beats: int,
        outstanding: int,
        addresses: TokenFormat | None = None,
        *,
        deep: bool,
    ) -> None:
        self.deep = deep
        self.issue, self.deliver, self.addresses = issue, deliver, addresses
        self.beat_bits, self.beats, self.outstanding = beat_bits, beats, outstanding
        inputs = issue.inputs if addresses is None else (addresses,)
        members = {f"input{port}": In(ConsumerSignature(each)) for port, each in enumerate(inputs)}
        response = wiring.Signature({"payload": Out(beat_bits), "valid": Out(1)})  # always ready: see `TileQueue`
        super().__init__(
            {
                **members,
                "output0": Unit(deliver).signature.members["output0"],
                "base": In(32),
                "request": Out(stream.Signature(32)),
                "response": In(response),
                **STATUS,
            }
        )

    @property
    def parameters(self) -> tuple[Any, ...]:
        shared = (self.issue, self.deliver, self.beat_bits, self.beats, self.outstanding, self.deep)
        return shared if self.addresses is None else (*shared, self.addresses)

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        m.submodules.issue = issue = Shared(Unit(self.issue))
        m.submodules.deliver = deliver = Shared(Unit(self.deliver))
        m.submodules.requests = requests = Shared(Channel(AddressFormat(), REQUEST_DEPTH))
        m.submodules.pending = pending = Shared(Channel(self.deliver.pending, self.outstanding))
        queue = TileQueue(self.deliver.tile, self.beat_bits, self.beats, self.outstanding, deep=self.deep)
        m.submodules.tiles = tiles = Shared(queue)
        if self.addresses is not None:
            fetch_addresses(m, self.addresses, self.input0, issue.input0)
        elif self.issue.inputs:
            join(m, self.input0, issue.input0)
        join(m, issue.output0, requests.i)
        join(m, issue.output1, pending.i)
        offer(m, requests.o, self.request)
        join(m, pending.o, deliver.input0)
        join(m, tiles.o, deliver.input1)
        join(m, deliver.output0, self.output0)
        m.d.comb += [
            issue.base.eq(self.base),
            tiles.valid.eq(self.response.valid),
        ]
        if self.deliver.tile.word_bits:
            m.d.comb += tiles.beat.eq(self.response.payload)
        pass_status(m, deliver, self)
        if self.addresses is not None:
            m.d.comb += self.fault.eq(issue.fault)
        return m

"""Meaning of an operator that its rule says: firings without time, as soon as there are the tokens that they need."""

from __future__ import annotations

from collections import deque
from functools import partial

from step.firing.declared import Applied
from step.firing.machine import ENDS, UNLIMITED, Channel, Starved, Unread
from step.host.extensions import needed_module
from step.language.graph import Node
from step.language.operator import Process
from step.language.reduction import _Reduction
from step.language.surroundings import Surroundings
from step.language.tokens import Token
from step.language.types import is_dynamic


def process(node: Node, around: Surroundings) -> Process:
    """The rule of ``node``, fired until it ends; raises `FabricError` where there is none."""
    name = node.operator.name
    declared = needed_module("step.rules", name, node.describe(), f"the operator {name!r}").rule(node)
    tiled = tuple(port for port, each in enumerate(node.input_types) if is_dynamic(each.element))
    makes_rows = any(is_dynamic(each.element) for each in node.output_types)
    parameters = declared.given(tiled, around.most_rows() if makes_rows else 0)
    for name, value in parameters.items():
        if isinstance(value, Applied):
            operator, result = node.operator, node.output_types[0].element
            if isinstance(operator, _Reduction):
                result, _ = operator.state(node.input_types)
            parameters[name] = partial(around.computed, value, result=result)
    inputs = tuple(Channel(UNLIMITED, port) for port in range(len(node.inputs)))
    outputs = tuple(Channel(UNLIMITED, port) for port in range(len(node.output_types)))
    sent = deque[tuple[Channel, Token]]()
    for each in inputs:
        each.freed = []
    for each in outputs:
        each.entering = sent
    asked = tuple[Channel, ...]()
    if declared.loads is not None:
        parameters |= {"addresses": declared.loads, "tiles": around.tiles()}
        asked = (Unread(),)
    machine, outcome = declared.machine(inputs=inputs, outputs=(*asked, *outputs), **parameters), None
    while outcome != ENDS:
        try:
            outcome = machine.fire()
        except Starved as starved:
            ports = tuple(channel.index for channel in starved.args)
            if len(ports) > 1:  # whichever comes first; in a replay the one that came
                came = sum(inputs[port].taken for port in node.operator.arrival_ports(len(inputs)))
                ports = tuple(around.arrivals()[came : came + 1]) or ports
            token = yield ports[0] if len(ports) == 1 else ports
            inputs[ports[0] if len(ports) == 1 else around.port()].tokens.append(token)
        while sent:
            channel, token = sent.popleft()
            around.emit(channel.index, token)

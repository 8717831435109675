"""Exports, for editors and type checkers. Written by ``python -m tables``; do not edit."""

from step.ops.accum import Accum as Accum
from step.ops.broadcast import Broadcast as Broadcast
from step.ops.bufferize import Bufferize as Bufferize
from step.ops.eager_merge import EagerMerge as EagerMerge
from step.ops.expand import Expand as Expand
from step.ops.flat_map import FlatMap as FlatMap
from step.ops.flatten import Flatten as Flatten
from step.ops.generate import Generate as Generate
from step.ops.item_of import ItemOf as ItemOf
from step.ops.linear_off_chip_load import LinearOffChipLoad as LinearOffChipLoad
from step.ops.linear_off_chip_store import LinearOffChipStore as LinearOffChipStore
from step.ops.map import Map as Map
from step.ops.partition import Partition as Partition
from step.ops.promote import Promote as Promote
from step.ops.random_off_chip_load import RandomOffChipLoad as RandomOffChipLoad
from step.ops.random_off_chip_store import RandomOffChipStore as RandomOffChipStore
from step.ops.reassemble import Reassemble as Reassemble
from step.ops.reshape import Reshape as Reshape
from step.ops.scan import Scan as Scan
from step.ops.sink import Sink as Sink
from step.ops.source import Source as Source
from step.ops.streamify import Streamify as Streamify
from step.ops.until import Until as Until
from step.ops.zip import Zip as Zip

"""The suite `compaction`: reads before and after a compaction, its cost, and its effect on concurrent writers."""

from benchmarks.compaction.compacting import compact_bulk, compact_rows, compact_tombstones
from benchmarks.compaction.counting import count_writes
from benchmarks.compaction.reading import read_behind_tombstones, read_through_layers
from benchmarks.compaction.sensing import sensor_tick
from benchmarks.compaction.writing import long_compaction, long_compaction_of_rows

__all__ = [
    "compact_bulk",
    "compact_rows",
    "compact_tombstones",
    "count_writes",
    "long_compaction",
    "long_compaction_of_rows",
    "read_behind_tombstones",
    "read_through_layers",
    "sensor_tick",
]

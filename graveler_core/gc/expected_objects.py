"""Objects that entries of a repository name, each once, as a table.

An object occurs several times if entries disagree on its size or checksum. Memory holds address, path and size of each
object, some 100 bytes, and 80 more with checksums. While duplicates are removed, it holds about five times as much.
Texts have 64-bit offsets, because 2 GiB are some 50 million addresses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from graveler_core.segments.sorted_keys import KEY

COLUMNS = (KEY, "address", "address_type", "size")
"""Columns of entries that are needed to check existence and size."""
COLUMNS_WITH_CHECKSUM = (*COLUMNS, "checksum")
"""Columns of entries that are needed to check content."""
_BATCH = 1_000_000
"""Minimum number of rows to collect before duplicates are removed."""
_LARGE = {KEY: pa.large_binary(), "address": pa.large_string(), "checksum": pa.large_string()}
_ROW = "row"


@dataclass(slots=True)
class ExpectedObjects:
    """Collects the objects that entries name."""

    columns: Sequence[str]
    """`COLUMNS` or `COLUMNS_WITH_CHECKSUM`."""
    sources: list[str] = field(default_factory=list)
    """Branches and commits that name objects. The column `source` is an index into it."""
    _tables: list[pa.Table] = field(default_factory=list)
    _rows: int = 0
    _unique_rows: int = 0

    def add(self, source: str, entries: pa.Table) -> None:
        """Add entries of a branch or commit, with the columns `columns`."""
        if not entries.num_rows:
            return
        if not self.sources or self.sources[-1] != source:
            self.sources.append(source)
        columns = [
            entries.column(name).cast(_LARGE.get(name, entries.schema.field(name).type)) for name in self.columns
        ]
        number = pa.array(np.full(entries.num_rows, len(self.sources) - 1, np.int32))
        self._tables.append(pa.table([*columns, number], names=[*self.columns, "source"]))
        self._rows += entries.num_rows
        if self._rows >= max(_BATCH, 2 * self._unique_rows):
            self.unique()

    def unique(self) -> pa.Table | None:
        """Return each object once, with an entry that names it, or `None` if there are none."""
        if not self._tables:
            return None
        table = pa.concat_tables(self._tables)
        if len(self._tables) > 1 or table.num_rows != self._unique_rows:
            table = _unique(table, [name for name in self.columns if name != KEY])
        self._tables, self._rows, self._unique_rows = [table], table.num_rows, table.num_rows
        return table


def _unique(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return the first row of each combination of values, in order."""
    numbered = table.append_column(_ROW, pa.array(np.arange(table.num_rows)))
    firsts = numbered.group_by(columns, use_threads=False).aggregate([(_ROW, "min")]).column(f"{_ROW}_min")
    return table.take(pa.array(np.sort(firsts.to_numpy()))).combine_chunks()

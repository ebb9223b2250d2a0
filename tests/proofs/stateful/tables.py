"""Tables as users give them."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from graveler_core.model.entry import Entry


def table_of(staged: Mapping[str, Entry]) -> pa.Table:
    """A user's table: the columns that `world.entry` fills."""
    columns = ("address", "size", "checksum", "mtime", "content_type")
    rows = {name: [getattr(e, name) for e in staged.values()] for name in columns}
    metadata = pa.array([list(e.metadata.items()) for e in staged.values()], pa.map_(pa.string(), pa.string()))
    return pa.table({"key": pa.array(list(staged), pa.string()), **rows, "metadata": metadata})

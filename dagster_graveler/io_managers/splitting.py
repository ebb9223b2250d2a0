"""Division of rows among the partitions of a run, by the values of columns.

A column of dates or timestamps is compared with the time windows of the partitions. Any other column must contain the
partition keys, as text.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import dagster as dg

from dagster_graveler.io_managers.table_path import PARTITION_EXPR, PARTITION_NAMES, Dimension, TablePath

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    Positions = np.ndarray[Any, np.dtype[np.int64]]


class Splitter:
    """Assigns rows to the partitions of a write."""

    def __init__(self, table: TablePath, schema: pa.Schema) -> None:
        import numpy as np

        _require_columns(table, schema.names)
        require_directory_names(table, schema.names)
        self._table = table
        self._values = [sorted(set(column)) for column in zip(*table.values, strict=True)]
        self._partitions = np.full([len(values) for values in self._values], -1, dtype=np.int64)
        for position, values in enumerate(table.values):
            self._partitions[tuple(known.index(v) for known, v in zip(self._values, values, strict=True))] = position

    def positions(self, batch: pa.RecordBatch) -> Positions:
        """Return the position of the partition of each row in the keys of the write.

        Raises:
            DagsterInvariantViolationError: A row belongs to no partition of the run.
        """
        import numpy as np

        if not self._table.is_split:
            return np.zeros(batch.num_rows, dtype=np.int64)
        columns = [batch.column(dimension.expression) for dimension in self._table.dimensions]
        found = [
            _positions(dimension, column, values)
            for dimension, column, values in zip(self._table.dimensions, columns, self._values, strict=True)
        ]
        positions = np.where(np.any([each < 0 for each in found], axis=0), -1, self._partitions[tuple(found)])
        outside = np.flatnonzero(positions < 0)
        if outside.size:
            raise _outside_error(self._table, [column[int(outside[0])].as_py() for column in columns])
        return positions


def require_directory_names(table: TablePath, names: list[str]) -> None:
    """Require that no column but the partition column has the name of the partition directories.

    Raises:
        DagsterInvalidDefinitionError: Readers of Hive directories would not see a column.
    """
    for dimension in table.dimensions:
        for name in names:
            if name.lower() == dimension.name.lower() and name != dimension.expression:
                raise dg.DagsterInvalidDefinitionError(
                    f"asset {table.asset}: column {name!r} has the name of the partition directories; choose another "
                    f"name for the directories with metadata {PARTITION_NAMES!r}, or name the column with metadata "
                    f"{PARTITION_EXPR!r} if it tells the partition of a row"
                )


def _require_columns(table: TablePath, names: list[str]) -> None:
    for dimension in table.dimensions:
        if dimension.expression is not None and dimension.expression not in names:
            raise dg.DagsterInvalidDefinitionError(
                f"asset {table.asset}: metadata {PARTITION_EXPR!r} must name a column, but is "
                f"{dimension.expression!r}; columns are {', '.join(map(repr, names))}"
            )


def _outside_error(table: TablePath, values: list[Any]) -> dg.DagsterInvariantViolationError:
    """Return the error for a row that belongs to no partition of the run."""
    columns = [dimension.expression for dimension in table.dimensions]
    shown = ", ".join(f"{column} = {_shown(value)}" for column, value in zip(columns, values, strict=True))
    return dg.DagsterInvariantViolationError(
        f"asset {table.asset}: a row with {shown} belongs to none of the partitions of this run: {table.shown_keys}. "
        "Nothing is written"
    )


def _shown(value: Any) -> str:
    return "null" if value is None else repr(str(value))


def _positions(dimension: Dimension, column: pa.Array, values: list[str]) -> Positions:
    """Return the position of each row in the sorted values of a dimension, or -1."""
    import pyarrow as pa
    import pyarrow.compute as pc

    windows = [dimension.window(value) for value in values]
    if pa.types.is_temporal(column.type) and all(windows):
        return _window_positions(column, [window for window in windows if window is not None])
    found = pc.index_in(pc.cast(column, pa.string()), value_set=pa.array(values, pa.string()))
    positions: Positions = pc.fill_null(pc.cast(found, pa.int64()), -1).to_numpy(zero_copy_only=False)
    return positions


def _window_positions(column: pa.Array, windows: list[dg.TimeWindow]) -> Positions:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    zone = getattr(column.type, "tz", None)
    times = pc.cast(column, pa.timestamp("us", tz=zone), safe=False)
    null = times.is_null().to_numpy(zero_copy_only=False)
    numbers = pc.fill_null(pc.cast(times, pa.int64()), 0).to_numpy(zero_copy_only=False)
    bounds = np.array([[_microseconds(moment, zone) for moment in (w.start, w.end)] for w in windows], dtype=np.int64)
    order = np.argsort(bounds[:, 0], kind="stable")
    candidate = np.searchsorted(bounds[order, 0], numbers, side="right") - 1
    position = order[np.maximum(candidate, 0)]
    inside = (candidate >= 0) & (numbers < bounds[position, 1]) & ~null
    return np.where(inside, position, -1)


def _microseconds(moment: datetime, zone: str | None) -> int:
    """Return microseconds since 1970: of the instant, or of the local time if the column has no time zone."""
    aware = moment.replace(tzinfo=UTC) if zone is None else moment
    return int((aware - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1_000_000)

"""Alternatives to graveler, each doing the same work: commit the metadata of files, and list the files of a version.

Only metadata is written; the content of the files is assumed to exist. The alternatives are not dependencies of the
project, so the constructors import them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

_STATISTICS = (
    "column_sizes",
    "value_counts",
    "null_value_counts",
    "nan_value_counts",
    "lower_bounds",
    "upper_bounds",
)
_ABSENT = ("sort_order_id", "equality_ids", "key_metadata", "split_offsets")
"""Fields of an Iceberg data file that have no value here."""


class Other(Protocol):
    """A table or array in a directory of its own, initially empty. Constructors take the directory."""

    def commit(self, numbers: Sequence[int]) -> None:
        """Add the files with these numbers in one commit."""
        ...

    def version(self) -> Any:
        """Return the identifier of the newest version."""
        ...

    def files(self, version: Any) -> int:
        """Open the table again, list the files of a version, and return their number."""
        ...


class DeltaLake:
    """Delta Lake: commits of add actions through one table handle."""

    def __init__(self, directory: Path) -> None:
        self._deltalake: Any = import_module("deltalake")
        self._transaction: Any = import_module("deltalake.transaction")
        self._schema = self._deltalake.Schema([self._deltalake.Field("id", "long")])
        self._at = str(directory)
        self._transaction.create_table_with_add_actions(self._at, self._schema, [], "error", [])
        self._table = self._deltalake.DeltaTable(self._at)

    def commit(self, numbers: Sequence[int]) -> None:
        self._table.create_write_transaction([self._add(number) for number in numbers], "append", self._schema)
        self._table.update_incremental()  # otherwise the next commit checks this one for conflicts

    def version(self) -> Any:
        return self._table.version()

    def files(self, version: Any) -> int:
        return len(self._deltalake.DeltaTable(self._at, version=version).file_uris())

    def _add(self, number: int) -> Any:
        size, stats = 1_000_000 + number, json.dumps({"numRecords": 10})
        return self._transaction.AddAction(f"part-{number:08}.parquet", size, {}, 1_700_000_000_000, True, stats)


class Iceberg:
    """Iceberg: fast appends with a SQL catalog on SQLite."""

    def __init__(self, directory: Path) -> None:
        sql: Any = import_module("pyiceberg.catalog.sql")
        schema: Any = import_module("pyiceberg.schema")
        types: Any = import_module("pyiceberg.types")
        self._manifest: Any = import_module("pyiceberg.manifest")
        self._record: Any = import_module("pyiceberg.typedef").Record
        self._directory = directory.as_uri()
        self._catalog = sql.SqlCatalog("bench", uri=f"sqlite:///{directory}/catalog.db", warehouse=self._directory)
        self._catalog.create_namespace("bench")
        fields = types.NestedField(1, "id", types.LongType())
        self._table = self._catalog.create_table("bench.files", schema=schema.Schema(fields))

    def commit(self, numbers: Sequence[int]) -> None:
        with self._table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
            for number in numbers:
                append.append_data_file(self._file(number))

    def version(self) -> Any:
        return self._table.current_snapshot().snapshot_id

    def files(self, version: Any) -> int:
        scan = self._catalog.load_table("bench.files").scan(snapshot_id=version)
        return sum(1 for _ in scan.plan_files())

    def _file(self, number: int) -> Any:
        nothing: dict[str, Any] = {name: {} for name in _STATISTICS} | dict.fromkeys(_ABSENT)
        return self._manifest.DataFile.from_args(
            content=self._manifest.DataFileContent.DATA,
            file_path=f"{self._directory}/part-{number:08}.parquet",
            file_format=self._manifest.FileFormat.PARQUET,
            partition=self._record(),
            record_count=10,
            file_size_in_bytes=1_000_000 + number,
            spec_id=0,
            **nothing,
        )


class Icechunk:
    """Icechunk: commits of virtual chunks of one array."""

    def __init__(self, directory: Path) -> None:
        self._icechunk: Any = import_module("icechunk")
        self._icechunk.set_logs_filter("error")  # it logs to standard output, which is for results
        zarr: Any = import_module("zarr")
        self._at = str(directory)
        self._repository = self._icechunk.Repository.create(self._storage())
        session = self._repository.writable_session("main")
        plain = {"compressors": None, "filters": None}
        zarr.create_array(session.store, shape=(1_000_000_000,), chunks=(1,), dtype="i8", **plain)
        session.commit("an array")

    def commit(self, numbers: Sequence[int]) -> None:
        session = self._repository.writable_session("main")
        for number in numbers:
            where = f"s3://bucket/part-{number:08}.parquet"
            session.store.set_virtual_ref(f"c/{number}", where, offset=0, length=8, validate_container=False)
        session.commit("files")

    def version(self) -> Any:
        return self._repository.lookup_branch("main")

    def files(self, version: Any) -> int:
        opened = self._icechunk.Repository.open(self._storage())
        return len(opened.readonly_session(snapshot_id=version).all_virtual_chunk_locations())

    def _storage(self) -> Any:
        return self._icechunk.local_filesystem_storage(self._at)


OTHERS: dict[str, Callable[[Path], Other]] = {"deltalake": DeltaLake, "pyiceberg": Iceberg, "icechunk": Icechunk}
"""Alternatives by the name of their package, which is also the name of the module."""

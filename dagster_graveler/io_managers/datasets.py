"""Parquet files of a snapshot as an Arrow dataset, which reads them when they are needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import dagster as dg
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow.fs import FileInfo, FileSystemHandler, FileType, PyFileSystem

from dagster_graveler.io_managers.listed_files import open_listed

if TYPE_CHECKING:
    from graveler_core.facade.content_file import ContentFile
    from graveler_core.facade.readable_ref import ReadableRef
    from graveler_core.model.entry import Entry


def open_dataset(at: ReadableRef, listed: Sequence[Entry], columns: Sequence[str] | None, asset: str) -> ds.Dataset:
    """Return the rows of Parquet files, in the order in which they are given.

    If some files have fewer columns or narrower types, all rows are read with the columns and types of all files.

    Args:
        at: State to read.
        listed: The files as a listing of the table has shown them, at least one.
        columns: Columns to read. `None` means all.
        asset: Asset key for error messages.

    Raises:
        FileChanged: A file was replaced or removed after the listing.
        DagsterInvariantViolationError: The files have columns of different types, or a column does not exist.
    """
    opened = {entry.path: open_listed(at, entry, asset) for entry in listed}
    files, parquet = PyFileSystem(_Files(opened)), ds.ParquetFileFormat()
    fragments = [parquet.make_fragment(path, files) for path in opened]
    schemas = {path: _file_schema(path, each, asset) for path, each in zip(opened, fragments, strict=True)}
    return ds.FileSystemDataset(fragments, _selected(_common_schema(schemas, asset), columns, asset), parquet, files)


def _file_schema(path: str, fragment: ds.Fragment, asset: str) -> pa.Schema:
    try:
        return fragment.physical_schema
    except pa.ArrowInvalid as e:
        raise dg.DagsterInvariantViolationError(
            f"asset {asset}: file {path!r} is not a Parquet file; annotate the input as bytes or str "
            "if it is not a table"
        ) from e


def _common_schema(schemas: Mapping[str, pa.Schema], asset: str) -> pa.Schema:
    """Return the columns of all files, with the widest types."""
    common: pa.Schema | None = None
    for path, schema in schemas.items():
        try:
            if common is None:
                common = schema
            elif not schema.equals(common):
                common = pa.unify_schemas([common, schema], promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as e:
            raise dg.DagsterInvariantViolationError(
                f"asset {asset}: files have columns of different types; {path!r} differs from the files before it: {e}"
            ) from e
    return common


def row_count(at: ReadableRef, listed: Sequence[Entry], asset: str) -> int:
    """Return the number of rows of Parquet files, from their footers.

    Args:
        at: State to read.
        listed: The files, as a listing of the table has shown them.
        asset: Asset key for error messages.

    Raises:
        FileChanged: A file was replaced or removed after the listing.
    """
    return sum(pq.read_metadata(open_listed(at, entry, asset)).num_rows for entry in listed)


def _selected(schema: pa.Schema, columns: Sequence[str] | None, asset: str) -> pa.Schema:
    if columns is None:
        return schema
    for column in columns:
        if column not in schema.names:
            raise unknown_column(asset, column, schema.names)
    return pa.schema([schema.field(column) for column in columns], schema.metadata)


def unknown_column(asset: str, column: str, names: Sequence[str]) -> dg.DagsterInvariantViolationError:
    """Return the error for a requested column that does not exist."""
    known = ", ".join(map(repr, names))
    return dg.DagsterInvariantViolationError(f"asset {asset}: has no column {column!r}; columns are {known}")


class _Files(FileSystemHandler):  # type: ignore[misc]
    """File system of Arrow with the files of a snapshot, whose entries stay the same. It only reads."""

    def __init__(self, files: Mapping[str, ContentFile]) -> None:
        self._files = files

    def get_type_name(self) -> str:
        return "graveler"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> list[FileInfo]:
        return [FileInfo(path, FileType.File, size=self._files[path].size) for path in paths]

    def open_input_file(self, path: str) -> pa.NativeFile:
        return pa.PythonFile(self._files[path].reopened(), mode="r")

    def open_input_stream(self, path: str) -> pa.NativeFile:
        return self.open_input_file(path)

    def _refuse(self, *args: Any) -> Any:
        raise NotImplementedError("this file system only reads files")

    get_file_info_selector = create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = _refuse
    delete_file = move = copy_file = open_output_stream = open_append_stream = _refuse

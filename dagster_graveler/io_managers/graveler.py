"""`GravelerIOManager`: stores the values of assets in a repository, on the branch of the run.

It commits nothing. Publication commits and merges the branch after the checks.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

import dagster as dg
from pydantic import ConfigDict, Field

from dagster_graveler.io_managers.handlers.port import Handler, Read, Write
from dagster_graveler.io_managers.handlers.registry import handler_for
from dagster_graveler.io_managers.listed_files import read_unchanged
from dagster_graveler.io_managers.output_metadata import output_metadata
from dagster_graveler.io_managers.requested import is_of_check, missing_error, requested_files
from dagster_graveler.io_managers.states import state_to_read
from dagster_graveler.io_managers.storage import table_files
from dagster_graveler.io_managers.table_path import TablePath, input_path, output_path
from dagster_graveler.publishing.groups import publications_of
from dagster_graveler.publishing.loaded_digests import add_loaded
from dagster_graveler.publishing.written import content_digest
from dagster_graveler.resources.graveler_branch import GravelerBranch

if TYPE_CHECKING:
    from graveler_core.facade.snapshot import Snapshot
    from graveler_core.model.entry import Entry

MODE = "mode"
"""Metadata of an asset: `replace` (the default) or `append`."""
FILE = "graveler/file"
"""Metadata of an asset: name of the file of bytes or text. Default: `content`."""
COLUMNS = "columns"
"""Metadata of an input: columns to load."""
_LABEL_DIGITS = 13


class GravelerIOManager(dg.ConfigurableIOManager):
    """IO manager that stores the asset `["a", "b"]` at the path `a/b` of a repository.

    The type of a value chooses its format. DataFrames and other tables are stored as Parquet files, bytes and text as
    one file of any format. An input is loaded as the type of its annotation, whatever type was stored.
    """

    model_config = ConfigDict(extra="forbid")

    branch: dg.ResourceDependency[GravelerBranch]
    pyspark: dg.ResourceDependency[Any] = None  # type: ignore[assignment]
    default_load_type: str = Field(
        default="", description="Type of inputs without annotation, such as polars.DataFrame. Default: an error."
    )

    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
        """Stage a value on the branch of the run, in place of the former files of the table or of the partitions."""
        if obj is None and not context.has_asset_key:
            return  # an op without annotation that returns nothing
        table = output_path(context)
        if obj is None:
            raise dg.DagsterInvariantViolationError(
                f"asset {table.asset}: the value is None. If the asset stores nothing here, annotate it with -> None"
            )
        handler = handler_for(type(obj), table.asset)
        append = _append_label(context, table, self.branch.origin_run_id or context.run_id)
        branch = self.branch.open_for_writing(context.asset_key)
        options = {**self.branch.graveler.place(self.branch.repository), "branch": self.branch.name}
        at = self.branch.open_repository().at(branch.name)
        stored = handler.write(obj, Write(table, branch, at, append, _file_name(context, table), options))
        given = {**(context.definition_metadata or {}), **(context.output_metadata or {})}
        made = output_metadata(self.branch, table, stored, replaced=not append)
        context.add_output_metadata({key: value for key, value in made.items() if key not in given})

    def load_input(self, context: dg.InputContext) -> Any:
        """Return an input as the type of its annotation; `dict[str, …]` is loaded partition by partition.

        If the input has no partition, the dictionary is empty, and the value of an `Optional[…]` is `None`.
        """
        table, wanted = input_path(context), _without_none(context.dagster_type.typing_type)
        each_alone = get_origin(wanted) is dict
        if table.dimensions and not table.keys:
            return self._without_partitions(context, table, wanted)
        if wanted is Any:
            each_alone = len(table.keys) > 1 and not table.is_split
        handler = handler_for(self._value_type(wanted, table), table.asset)
        return read_unchanged(partial(self._load, context, table, handler, each_alone))

    def _load(self, context: dg.InputContext, table: TablePath, handler: Handler[Any], each_alone: bool) -> Any:
        at = state_to_read(context, self.branch)
        _measure(context, self.branch, table, at)
        stored = table_files(at, table)
        files = requested_files(table, stored, context, may_be_empty=each_alone)
        if files is None:
            raise missing_error(table, stored, context, self.branch, at.ref)
        metadata = context.definition_metadata or {}
        columns = _columns(table, metadata)

        def read(part: Sequence["Entry"]) -> Any:
            repository = self.branch.open_repository()
            return handler.read(Read(table, repository, at, part, columns, self._session))

        if each_alone:
            value = {key: read(part) for key, part in files.items()}
        else:
            value = read([file for part in files.values() for file in part])
        _record(context, table, at)
        return value

    def load_table(self, path: str, as_type: Any, columns: Sequence[str] | None = None) -> Any:
        """Return a whole table as the run sees it, with its staged changes. For asset checks and ops.

        Args:
            path: Path of the table in the repository.
            as_type: Type of the result, such as `polars.DataFrame`.
            columns: Columns to load. `None` means all.

        Raises:
            DagsterInvariantViolationError: The table or a column does not exist.
            DagsterInvalidDefinitionError: The type is not supported.
        """
        table, handler = TablePath(path, path), handler_for(as_type, path)

        def read() -> Any:
            at = self.branch.open_for_reading()
            files = [file for files in table_files(at, table).values() for file in files]
            if not files:
                raise dg.DagsterInvariantViolationError(f"table {path!r}: is not stored at {at.ref!r}")
            return handler.read(Read(table, self.branch.open_repository(), at, files, columns, self._session))

        return read_unchanged(read)

    def _without_partitions(self, context: dg.InputContext, table: TablePath, wanted: Any) -> Any:
        """Return an input whose partition mapping yields no partition."""
        if get_origin(wanted) is dict:
            self._value_type(wanted, table)
            return {}
        if wanted is Any or wanted is not context.dagster_type.typing_type:
            return None
        raise dg.DagsterInvariantViolationError(
            f"asset {table.asset}: the partition mapping of the input yields no partition for this run; annotate the "
            "input as dict[str, …], which is then empty, or as Optional[…], which is then None"
        )

    def _value_type(self, wanted: Any, table: TablePath) -> Any:
        if get_origin(wanted) is dict:
            key, value = get_args(wanted)
            if key is not str or not table.dimensions:
                raise dg.DagsterInvalidDefinitionError(
                    f"asset {table.asset}: type {wanted} is not supported; dict[str, …] loads the partitions of a "
                    "partitioned asset by key"
                )
            return value
        if wanted is not Any:
            return wanted
        if not self.default_load_type:
            raise dg.DagsterInvalidDefinitionError(
                f"asset {table.asset}: the input has no type; annotate it, or set default_load_type of the IO manager"
            )
        return self.default_load_type

    def _session(self) -> Any:
        from dagster_graveler.resources.spark import session

        if self.pyspark is None:
            raise dg.DagsterInvalidDefinitionError(
                "GravelerIOManager: loading a Spark DataFrame needs the resource `pyspark`"
            )
        return session(self.pyspark)


def _measure(context: dg.InputContext, branch: GravelerBranch, table: TablePath, at: "Snapshot") -> None:
    """Take the digest of a table for the result of the check that loads it, before its files are listed."""
    if is_of_check(context) and publications_of([context.asset_key]) and at.ref == branch.name != branch.into:
        add_loaded(context.step_context, branch.repository, table.path, content_digest(at, table.path))


def _without_none(annotation: Any) -> Any:
    """Return the type `X` of an annotation `Optional[X]`, and any other annotation as it is."""
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    others = [each for each in get_args(annotation) if each is not NoneType]
    return others[0] if len(others) == 1 else annotation


def _append_label(context: dg.OutputContext, table: TablePath, run_id: str) -> str:
    """Return the beginning of the names of appended files, or "".

    It is the same for each attempt of a step, also in a run that continues another one.
    """
    mode = (context.definition_metadata or {}).get(MODE, "replace")
    if mode not in ("replace", "append"):
        raise dg.DagsterInvalidDefinitionError(
            f"asset {table.asset}: metadata {MODE!r} must be 'replace' or 'append', but is {mode!r}"
        )
    return f"run-{run_id[:_LABEL_DIGITS]}-" if mode == "append" else ""


def _file_name(context: dg.OutputContext, table: TablePath) -> str:
    name = (context.definition_metadata or {}).get(FILE, "content")
    if not isinstance(name, str) or not name or "/" in name or name.startswith(("_", ".")):
        raise dg.DagsterInvalidDefinitionError(
            f"asset {table.asset}: metadata {FILE!r} must be the name of a file, without / and not hidden, but is "
            f"{name!r}"
        )
    return name


def _columns(table: TablePath, metadata: Mapping[str, Any]) -> list[str] | None:
    columns = metadata.get(COLUMNS)
    if columns is None:
        return None
    if isinstance(columns, str) or not columns or not all(isinstance(column, str) for column in columns):
        raise dg.DagsterInvalidDefinitionError(
            f"asset {table.asset}: metadata {COLUMNS!r} must be a list of columns, but is {columns!r}"
        )
    return list(columns)


def _record(context: dg.InputContext, table: TablePath, at: Any) -> None:
    """Record the commit that is read. Dagster records it for inputs of at most one partition."""
    metadata = {"commit": str(at.commit_id), "ref": at.ref}
    if len(table.keys) <= 1:
        context.add_input_metadata(metadata)
    else:
        context.log.info("asset %s: read at %s", table.asset, metadata)

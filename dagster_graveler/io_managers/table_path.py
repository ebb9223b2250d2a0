"""Place of an asset in a repository: the path of its table, and one directory for each partition.

The directories of partitions are named as in Hive: `month=2013-01/`, and `date=2013-01-01/letter=a/` for two
dimensions. The files contain all columns, so readers take no values from the names of directories.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import dagster as dg

from dagster_graveler.partition_directories import directory

PATH = "graveler/path"
"""Metadata of an asset or an input: path in the repository. Default: the parts of the asset key, joined with /."""
PARTITION_EXPR = "partition_expr"
"""Metadata of an asset: the column that tells the partition of a row; for several dimensions, a mapping of dimension to
column.
"""
PARTITION_NAMES = "graveler/partition_names"
"""Metadata of an asset: name of the partition directories; for several dimensions, a mapping of dimension to name."""
_GRANULARITIES = {"HOURLY": "hour", "DAILY": "day", "WEEKLY": "week", "MONTHLY": "month"}
_DEFAULT_NAME = "partition"
_SHOWN = 5


@dataclass(frozen=True)
class Dimension:
    """One dimension of the partitions of an asset."""

    partitions_def: dg.PartitionsDefinition[Any]
    name: str
    """Name of the directories."""
    expression: str | None = None
    """Column, or for Spark an SQL expression, that tells the partition of a row."""

    def window(self, value: str) -> dg.TimeWindow | None:
        """Return the time window of a partition key, or `None` if partitions are not time windows."""
        if isinstance(self.partitions_def, dg.TimeWindowPartitionsDefinition):
            return self.partitions_def.time_window_for_partition_key(value)
        return None


@dataclass(frozen=True)
class TablePath:
    """Place of an asset, or of some of its partitions."""

    asset: str
    """Asset key, for error messages."""
    path: str
    dimensions: tuple[Dimension, ...] = ()
    """Dimensions of the partitions. Empty for an asset without partitions."""
    keys: tuple[str, ...] = ()
    """Keys of the partitions. Empty means the whole table."""

    @cached_property
    def values(self) -> list[tuple[str, ...]]:
        """Values of the keys, one for each dimension."""
        return [_values(key) for key in self.keys]

    @cached_property
    def directories(self) -> list[str]:
        """Directories that hold the files: one for each key, or that of the table. Each ends in a slash."""
        if not self.keys:
            return [f"{self.path}/"]
        names = [dimension.name for dimension in self.dimensions]
        return [f"{self.path}/{directory(names, values)}" for values in self.values]

    @property
    def is_split(self) -> bool:
        """True if the rows of a write are divided among partitions by their values."""
        return any(dimension.expression is not None for dimension in self.dimensions)

    @property
    def shown_keys(self) -> str:
        """The keys for error messages, shortened if there are many."""
        shown = ", ".join(repr(str(key)) for key in self.keys[:_SHOWN])
        return shown if len(self.keys) <= _SHOWN else f"{shown} and {len(self.keys) - _SHOWN} more"


def output_path(context: dg.OutputContext) -> TablePath:
    """Return the place that an output is written to.

    Raises:
        DagsterInvalidDefinitionError: The output is no asset, or the metadata of the asset is not valid.
        DagsterInvariantViolationError: The asset has partitions, and the run names none.
    """
    if not context.has_asset_key:
        raise _no_asset_error(f"output {context.name!r} of step {context.step_key!r}", "Out")
    metadata = context.definition_metadata or {}
    asset, path = context.asset_key.to_user_string(), _path(context, metadata)
    if not context.has_asset_partitions:
        _refuse_partitions(context, asset)
        return TablePath(asset, path)
    keys = tuple(sorted(context.asset_partition_keys))
    dimensions = _dimensions(asset, context.asset_partitions_def, metadata)
    if len(keys) > 1 and dimensions[0].expression is None:
        raise dg.DagsterInvalidDefinitionError(
            f"asset {asset}: a run that writes {len(keys)} partitions needs the metadata {PARTITION_EXPR!r}, the "
            "column that tells the partition of a row"
        )
    return TablePath(asset, path, dimensions, keys)


def input_path(context: dg.InputContext) -> TablePath:
    """Return the place that an input is read from.

    Raises:
        DagsterInvalidDefinitionError: The input is no asset, or the metadata of the upstream asset or of the input is
            not valid.
    """
    if not context.has_asset_key:
        raise _no_asset_error(f"input {context.name!r}", "In")
    upstream = context.upstream_output
    above = (upstream.definition_metadata or {}) if upstream is not None else {}
    metadata = {**above, **(context.definition_metadata or {})}
    asset, path = context.asset_key.to_user_string(), _path(context, metadata)
    if not context.has_asset_partitions:
        return TablePath(asset, path)
    dimensions = _dimensions(asset, context.asset_partitions_def, metadata)
    return TablePath(asset, path, dimensions, tuple(sorted(context.asset_partition_keys)))


def _refuse_partitions(context: dg.OutputContext, asset: str) -> None:
    """Refuse an asset with partitions. Dagster starts its run without a partition too, which would replace all."""
    try:
        context.asset_partitions_def  # noqa: B018 - raises if there is none
    except dg.DagsterInvariantViolationError:
        return
    raise dg.DagsterInvariantViolationError(
        f"asset {asset}: has partitions, but the run names none; start it with a partition. Nothing is written"
    )


def _no_asset_error(what: str, kind: str) -> dg.DagsterInvalidDefinitionError:
    argument = "io_manager_key" if kind == "Out" else "input_manager_key"
    return dg.DagsterInvalidDefinitionError(
        f"{what} is no asset, and GravelerIOManager stores only assets: name another IO manager for it, such as "
        f'dg.{kind}({argument}="op_io_manager") with the resource op_io_manager=dg.FilesystemIOManager()'
    )


def _path(context: dg.OutputContext | dg.InputContext, metadata: Mapping[str, Any]) -> str:
    path = metadata.get(PATH, "/".join(context.asset_key.path))
    if not isinstance(path, str) or not path.strip("/"):
        raise dg.DagsterInvalidDefinitionError(
            f"asset {context.asset_key.to_user_string()}: metadata {PATH!r} must be a path, but is {path!r}"
        )
    return path.strip("/")


def _dimensions(
    asset: str, partitions_def: dg.PartitionsDefinition[Any], metadata: Mapping[str, Any]
) -> tuple[Dimension, ...]:
    expressions, names = metadata.get(PARTITION_EXPR), metadata.get(PARTITION_NAMES)
    if not isinstance(partitions_def, dg.MultiPartitionsDefinition):
        for key, value in ((PARTITION_EXPR, expressions), (PARTITION_NAMES, names)):
            if value is not None and (not isinstance(value, str) or not value):
                raise dg.DagsterInvalidDefinitionError(f"asset {asset}: metadata {key!r} must be text, not {value!r}")
        return (Dimension(partitions_def, names or _default_name(partitions_def, expressions), expressions),)
    inner = {each.name: each.partitions_def for each in partitions_def.partitions_defs}
    for key, value in ((PARTITION_EXPR, expressions), (PARTITION_NAMES, names)):
        if value is not None and not (
            isinstance(value, Mapping) and set(value) == set(inner) and all(isinstance(v, str) for v in value.values())
        ):
            raise dg.DagsterInvalidDefinitionError(
                f"asset {asset}: metadata {key!r} must be a mapping of the dimensions {sorted(inner)} to text, not "
                f"{value!r}"
            )
    return tuple(
        Dimension(inner[name], (names or {}).get(name, name), (expressions or {}).get(name)) for name in sorted(inner)
    )


def _default_name(partitions_def: dg.PartitionsDefinition[Any], expression: str | None) -> str:
    """Return the granularity of time windows, or the partition column, or `partition`."""
    if isinstance(partitions_def, dg.TimeWindowPartitionsDefinition):
        return _GRANULARITIES.get(partitions_def.schedule_type.name if partitions_def.schedule_type else "", "window")
    return expression if expression is not None and expression.isidentifier() else _DEFAULT_NAME


def _values(key: str) -> tuple[str, ...]:
    by_dimension = getattr(key, "keys_by_dimension", None)
    return (str(key),) if by_dimension is None else tuple(by_dimension[name] for name in sorted(by_dimension))

"""`SparkTableIOManager`: a Spark DataFrame to and from a table in a repository, on the run's branch.

Written by `format("graveler")`, which stages the files; read by Spark's own reader of Parquet. Nothing is committed:
that is the publishing op's part, after the checks.
"""

from collections.abc import Sequence
from typing import Any

import dagster as dg
from dagster_pyspark import LazyPySparkResource
from pyspark.sql import DataFrame

from orchestration.display.schema import column_schema
from orchestration.resources.run_branch import RunBranch
from orchestration.resources.spark import session

PARTITION_EXPR = "partition_expr"
"""Definition metadata of a partitioned asset: the SQL expression that gives a row's partition key."""


class SparkTableIOManager(dg.ConfigurableIOManager):
    """Asset `["a", "b"]` is the table `a/b`; partition `p` of it, `a/b/p/`. What is written replaces what was there."""

    branch: dg.ResourceDependency[RunBranch]
    pyspark: dg.ResourceDependency[LazyPySparkResource]

    def handle_output(self, context: dg.OutputContext, obj: DataFrame) -> None:
        """Write the files in place of the table's (or the partitions') former ones."""
        from graveler_core.model.entry import Entry
        from jobs.source import register
        from jobs.tables import Split, stage_table

        path, keys = table_path(context), _partition_keys(context)
        split = None if keys is None else Split(_partition_expr(context), keys)
        branch = self.branch.open_for_writing()
        register(obj.sparkSession)
        place = self.branch.graveler.place(self.branch.repository)
        stage_table(obj, {**place, "branch": self.branch.name, "path": path}, split)

        found = (entry for each in _directories(path, keys) for entry in branch.list(each))
        files = [entry for entry in found if isinstance(entry, Entry)]
        metadata: dict[str, Any] = {
            "dagster/row_count": self.read(path).count(),
            "dagster/column_schema": column_schema(obj.schema),
            "dagster/uri": f"graveler://{self.branch.repository}/{self.branch.name}/{path}",
            "branch": self.branch.name,
            "rows": self.read(path, keys).count(),
            "files": len(files),
            "bytes": sum(entry.size for entry in files),
        }
        context.add_output_metadata(metadata)

    def load_input(self, context: dg.InputContext) -> DataFrame:
        """The table, or the partitions asked for, as the run sees them."""
        keys = list(context.asset_partition_keys) if context.has_asset_partitions else None
        return self.read(table_path(context), keys)

    def read(self, path: str, keys: Sequence[str] | None = None) -> DataFrame:
        """A table by its path, whole or some partitions of it."""
        from jobs.source import graveler_read

        ref = self.branch.open_for_reading().ref
        return graveler_read(session(self.pyspark), self.branch.open_repository(), ref, _directories(path, keys))


def table_path(context: dg.OutputContext | dg.InputContext) -> str:
    """Where an asset's table stands in the repository."""
    return "/".join(context.asset_key.path)


def _directories(path: str, keys: Sequence[str] | None) -> list[str]:
    from jobs.tables import directory

    return [directory(path)] if keys is None else [directory(path, key) for key in keys]


def _partition_keys(context: dg.OutputContext) -> Sequence[str] | None:
    return list(context.asset_partition_keys) if context.has_asset_partitions else None


def _partition_expr(context: dg.OutputContext) -> str:
    expression = (context.definition_metadata or {}).get(PARTITION_EXPR)
    if not isinstance(expression, str):
        raise dg.DagsterInvalidDefinitionError(
            f"asset {context.asset_key.to_user_string()} is partitioned: its metadata must have {PARTITION_EXPR!r}, "
            "the SQL expression that gives a row's partition key"
        )
    return expression

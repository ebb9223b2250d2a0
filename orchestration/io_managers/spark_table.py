"""`SparkTableIOManager`: a Spark DataFrame to and from a table in a repository, on the run's branch.

Spark writes the Parquet files straight below the repository's storage namespace; here their entries are staged. Nothing
is committed: that is the publishing op's part, after the checks.
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
        """Write the files, then stage them in place of the table's (or the partitions') former ones."""
        import pyarrow.compute as pc

        from jobs.tables import Split, directory, write_files

        path, keys = table_path(context), _partition_keys(context)
        split = None
        if keys is not None:
            split = Split(_partition_expr(context), keys)
        branch = self.branch.open_for_writing()
        namespace = self.branch.open_repository().storage_namespace
        entries = write_files(obj, namespace, path, split)
        for key in keys if keys is not None else (None,):
            branch.remove_prefix(directory(path, key))
        branch.stage_many(entries)

        metadata: dict[str, Any] = {
            "dagster/row_count": self.read(path).count(),
            "dagster/column_schema": column_schema(obj.schema),
            "dagster/uri": f"graveler://{self.branch.repository}/{self.branch.name}/{path}",
            "branch": self.branch.name,
            "rows": self.read(path, keys).count(),
            "files": entries.num_rows,
            "bytes": pc.sum(entries.column("size")).as_py(),
        }
        context.add_output_metadata(metadata)

    def load_input(self, context: dg.InputContext) -> DataFrame:
        """The table, or the partitions asked for, as the run sees them."""
        keys = list(context.asset_partition_keys) if context.has_asset_partitions else None
        return self.read(table_path(context), keys)

    def read(self, path: str, keys: Sequence[str] | None = None) -> DataFrame:
        """A table by its path, whole or some partitions of it."""
        from jobs.source import graveler_read
        from jobs.tables import directory

        ref = self.branch.open_for_reading().ref
        folders = [directory(path, key) for key in keys] if keys is not None else [directory(path)]
        return graveler_read(session(self.pyspark), self.branch.open_repository(), ref, folders)


def table_path(context: dg.OutputContext | dg.InputContext) -> str:
    """Where an asset's table stands in the repository."""
    return "/".join(context.asset_key.path)


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

"""Stage the rows of a DataFrame on a branch, all at once.

The workers write the rows as files of one layer, and the driver adds it to the branch in one step. So readers see
all rows or none (`graveler_core.engine.staging.partitioned_layer`). The driver holds one line per file, and no rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graveler.spark.sorted_frame import sorted_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from graveler_core.facade.branch import Branch
    from graveler_core.model.changes import Written


def stage_dataframe(frame: DataFrame, branch: Branch, *, partitions: int | None = None) -> Written:
    """Stage all rows of a DataFrame at once, as `branch.stage_many` stages those of a table.

    Args:
        frame: A DataFrame with one row per entry: `path` (or `key`), and any columns of the relation `entries`, of
            which `identity` is ignored. If `removed` is true, the row removes the path. The DataFrame must be
            deterministic.
        branch: Branch of a graveler that was connected with a `SparkCluster`.
        partitions: Number of partitions to sort into; by default, the number of shuffle partitions of the session.

    Returns:
        The numbers of records, of removals among them, and of files.

    Raises:
        InvalidInput: A column or a row is invalid, a path is duplicated, or a store is in memory; nothing is staged.
        SlowDown: The branch has too many layers: commit or compact it first.
        PermissionDenied: The branch is protected, or the repository is read-only.
        Unavailable: Spark has no Java, no session or no workers, or its workers lack a requirement.
    """
    return branch.stage_sorted(sorted_frame(frame, partitions))

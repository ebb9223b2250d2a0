"""The suite `spark`: the same work done by one process and by Spark, and the overhead of Spark."""

from benchmarks.spark.changes import commit, commit_among, commit_rows, compact, diff, merge
from benchmarks.spark.planning import plan
from benchmarks.spark.reading import read_content, read_entries
from benchmarks.spark.starting import start

__all__ = [
    "commit",
    "commit_among",
    "commit_rows",
    "compact",
    "diff",
    "merge",
    "plan",
    "read_content",
    "read_entries",
    "start",
]

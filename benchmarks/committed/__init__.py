"""The suite `committed`: commits, diffs, merges and reads at many sizes, their growth, and alternatives to graveler."""

from benchmarks.committed.commits import bulk, commit_changes
from benchmarks.committed.compare import diff, merge
from benchmarks.committed.elsewhere import elsewhere
from benchmarks.committed.growth import growth
from benchmarks.committed.large import build, large
from benchmarks.committed.ranges import range_sizes
from benchmarks.committed.reading import list_directories, list_removed, read_after_commits
from benchmarks.committed.single import single_changes
from benchmarks.committed.streams import stream, stream_from_nothing

__all__ = [
    "build",
    "bulk",
    "commit_changes",
    "diff",
    "elsewhere",
    "growth",
    "large",
    "list_directories",
    "list_removed",
    "merge",
    "range_sizes",
    "read_after_commits",
    "single_changes",
    "stream",
    "stream_from_nothing",
]

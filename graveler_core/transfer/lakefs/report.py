"""Results of a migration from lakeFS."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MigratedReferences:
    """Names of branches or tags, by the action of a migration."""

    created: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    """They named an earlier commit of lakeFS."""
    unchanged: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    """They have commits or uncommitted changes of their own, or are protected. They were left as they are, although
    lakeFS has moved them.
    """


@dataclass(frozen=True, slots=True)
class LakefsMigrated:
    """Result of one run for a repository of lakeFS."""

    repository: str
    commits: int
    """Number of commits that this run wrote, or would write in a dry run."""
    earlier_commits: int
    """Number of commits that earlier runs wrote."""
    branches: MigratedReferences = MigratedReferences()
    tags: MigratedReferences = MigratedReferences()
    staged: int = 0
    """Number of uncommitted changes that this run staged."""
    dry_run: bool = False

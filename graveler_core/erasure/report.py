"""Result of an erasure."""

from __future__ import annotations

from dataclasses import dataclass, field

from graveler_core.committed.index.lookup import lookup_many
from graveler_core.committed.index.scan import scan
from graveler_core.gc.stock import Progress
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.erasure import ErasureRule
from graveler_core.model.ids import BranchId, CommitId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.stores import Stores


@dataclass(slots=True)
class Erased:
    """Result of an erasure, or the expected result of a dry run."""

    dry_run: bool
    rule: ErasureRule
    erasure: str = ""
    """Id of the erasure. Empty in a dry run, and if there was no content to delete."""
    objects: int = 0
    """Number of objects that were deleted. In a dry run: that would be."""
    size: int = 0
    """Size of the objects in bytes, as their entries say."""
    commits: list[tuple[BranchId, CommitId]] = field(default_factory=list)
    """Commits of this call that removed the paths, with their branches."""
    naming: int = 0
    """Number of commits that have some of the paths. Reading them there reports the erasure."""
    entries: int = 0
    """In a dry run: number of distinct pairs of a path and an address."""
    shared: list[str] = field(default_factory=list)
    """In a dry run: other entries that name the content. The erasure is refused if there are any, unless it is told to
    erase shared content.
    """
    inline: list[str] = field(default_factory=list)
    """In a dry run: paths of entries that contain their content. The erasure is refused if there are any."""
    outside: list[str] = field(default_factory=list)
    """In a dry run: entries whose content is not in the namespace. The erasure is refused if there are any."""


def naming_commits(stores: Stores, repo: RepositoryRecord, rule: ErasureRule, progress: Progress) -> int:
    """Return the number of commits that have some of the paths of a rule, reachable or not.

    Looks into the index of each commit. Parts that commits share are read once, as far as the caches hold them.
    """
    indexes, count = stores.indexes(repo), 0
    start, end = rule.interval if rule.prefix else (b"", None)
    for _, held in access.scan(stores.kv, keys.commit_layouts(repo)):
        index = held.value.index
        if rule.prefix:
            count += next(scan(indexes, index, start=start, end=end), None) is not None
        else:
            count += lookup_many(indexes, index, rule.keys).num_rows > 0
        progress(1)
    return count

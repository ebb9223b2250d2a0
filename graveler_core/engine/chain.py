"""Where a commit may differ from one that its first parents lead to: at the paths that the commits between changed.

A commit's own changes stand in its index whatever became of its layers since. So neighbours are compared at the cost of
what they changed, also across a fold, where their metaranges have little in common.
"""

from __future__ import annotations

from graveler_core.committed.index.layers import own_changes
from graveler_core.engine.view import commit_of
from graveler_core.errors import CorruptData, NotFound
from graveler_core.model.entities import Repository
from graveler_core.objects.commits import StoredCommit
from graveler_core.stores import Stores

_MOST_COMMITS = 64
_MOST_KEYS = 10_000
"""What is more is compared by the indexes alone, which skip what they share."""


def changed_keys(stores: Stores, repo: Repository, one: StoredCommit, other: StoredCommit) -> list[bytes] | None:
    """The keys outside of which two commits hold the same, sorted; None where their operations do not tell.

    They tell where the first parents of one lead to the other within a few commits of few changes each.
    """
    older, at = sorted((one, other), key=lambda commit: commit.header.generation)
    keys: set[bytes] = set()
    for _ in range(_MOST_COMMITS):
        if at.id == older.id:
            return sorted(keys)
        own = _own_keys(stores, repo, at) if at.header.generation > older.header.generation else None
        if own is None or len(keys) + len(own) > _MOST_KEYS:
            return None
        keys.update(own)
        try:
            at = commit_of(stores, repo, at.header.parents[0])
        except (NotFound, CorruptData):
            return None
    return None


def _own_keys(stores: Stores, repo: Repository, commit: StoredCommit) -> list[bytes] | None:
    index = commit.layout.index
    if index.own_run and index.runs[0].elements > _MOST_KEYS:
        return None
    try:
        own = own_changes(stores.indexes(repo), index)
    except CorruptData:  # the indexes themselves may do without it
        return None
    return None if own is None else own.keys

"""Paths at which a commit can differ from another commit on the same line of first parents: those that the commits in
between changed.

The index of a commit contains the commit's own changes, regardless of what happened to its layers since.
Neighbouring commits are therefore compared at the cost of their changes. This also holds across a merge of runs into
the metarange, after which their metaranges have little in common.
"""

from __future__ import annotations

from graveler_core.committed.index.layer import Layer
from graveler_core.committed.index.layers import own_changes
from graveler_core.engine.reading.view import commit_of
from graveler_core.errors import CorruptData, NotFound
from graveler_core.model.entities import RepositoryRecord
from graveler_core.objects.commits import StoredCommit
from graveler_core.segments.operations import digest_of_few
from graveler_core.stores import Stores

_MOST_COMMITS = 64
_MOST_KEYS = 10_000
"""Maximum number of changed keys. With more, the indexes are compared instead; this skips shared parts."""


def changed_keys(stores: Stores, repo: RepositoryRecord, one: StoredCommit, other: StoredCommit) -> list[bytes] | None:
    """Return the sorted keys outside of which two commits have the same content.

    Returns:
        The keys. `None` unless the first parents of one commit lead to the other within a few commits of few changes
        each.
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


def own_changes_of(stores: Stores, repo: RepositoryRecord, commit: StoredCommit) -> Layer | None:
    """Return the changes of a commit according to its index; `None` if the index does not contain them.

    A faulty version stored inline indexes that mark no change as their commit's own, although the header says that
    there were changes (`gc.index_repair`). The result is `None` for these too.

    Raises:
        CorruptData: The inline index or the run is missing or damaged.
    """
    indexes, header = stores.indexes(repo), commit.header
    own = own_changes(indexes, commit.layout.index)
    if own is None or len(own) or header.operations == digest_of_few([], indexes.trees.boundary_seed, header.version):
        return own
    return None


def _own_keys(stores: Stores, repo: RepositoryRecord, commit: StoredCommit) -> list[bytes] | None:
    index = commit.layout.index
    if index.own_run and index.runs[0].elements > _MOST_KEYS:
        return None
    try:
        own = own_changes_of(stores, repo, commit)
    except CorruptData:  # the comparison of the indexes may not need it
        return None
    return None if own is None else own.keys

"""Invariants of every repository, checked directly in the stores. For tests and for tools that check repositories.

Each check raises `AssertionError` with the violated invariant.
"""

from __future__ import annotations

from dataclasses import replace

from graveler_core.committed.index.operations import operations_between
from graveler_core.facade.snapshot import Snapshot
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.entry import CommonPrefix
from graveler_core.model.ids import CommitId
from graveler_core.objects.commits import CommitCache, read_commits
from graveler_core.refs.branches import list_branches
from graveler_core.stores import Stores


def check_history(stores: Stores, repo: RepositoryRecord, known: set[CommitId] | None = None) -> set[CommitId]:
    """Check all commits that are reachable from a branch: header, layout, parents, generation, and digest of changes.

    Args:
        stores: Stores of the repository.
        repo: Repository to check.
        known: Commits that were checked before and are skipped.

    Returns:
        All checked commits, including those in `known`.
    """
    fresh = replace(stores, commits=CommitCache())
    checked = set(known or ())
    ahead = [branch.commit_id for branch in list_branches(fresh.kv, repo)]
    while ahead:
        at = ahead.pop()
        if at in checked:
            continue
        (commit,) = read_commits(fresh.kv, fresh.commits, repo, [at])
        parents = read_commits(fresh.kv, fresh.commits, repo, commit.header.parents)
        assert commit.header.generation == 1 + max((p.header.generation for p in parents), default=0), at
        if parents:
            before, after, rule = parents[0].layout.index, commit.layout.index, commit.header.version
            digest = operations_between(stores.indexes(repo), before, after, rule)
            assert commit.header.operations == digest, f"{at}: the digest does not match the changes"
        checked.add(at)
        ahead += commit.header.parents
    return checked


def check_layers(stores: Stores, repo: RepositoryRecord) -> None:
    """Check that no staging token and no layer is listed twice, on one branch or on two branches."""
    listed: list[str] = []
    for branch in list_branches(stores.kv, repo):
        listed += [branch.staging_token, *(layer.id for layer in branch.sealed_tokens)]
    assert len(listed) == len(set(listed)), f"listed twice: {sorted(i for i in listed if listed.count(i) > 1)}"


def check_listing(shown: Snapshot) -> None:
    """Check that a listing is sorted, has distinct paths, and agrees with `get` and with its own pages."""
    listed = list(shown.list())
    paths = [item.path.encode() for item in listed]
    assert paths == sorted(set(paths)), f"{shown!r}: listed out of order"
    for item in listed:
        assert not isinstance(item, CommonPrefix)
        assert shown.get(item.path) == item, f"{shown!r}: get and list return different entries for {item.path!r}"
    paged = [item for page in shown.list().pages(3) for item in page.items]
    assert paged == listed, f"{shown!r}: pages differ from the listing"

"""What holds in every repository at every moment, checked against the stores themselves. For tests and fsck-like tools.

Each check raises `AssertionError` naming what is broken.
"""

from __future__ import annotations

from dataclasses import replace

from graveler_core.committed.index.operations import operations_between
from graveler_core.facade.snapshot import Snapshot
from graveler_core.model.entities import Repository
from graveler_core.model.entry import CommonPrefix
from graveler_core.model.ids import CommitId
from graveler_core.objects.commits import CommitCache, read_commits
from graveler_core.refs.branches import list_branches
from graveler_core.stores import Stores


def check_history(stores: Stores, repo: Repository, known: set[CommitId] | None = None) -> set[CommitId]:
    """Every commit that a branch reaches is whole: header, layout, parents, generation, and the digest of its changes.

    Args:
        known: Commits that were checked before, which are passed over. Gives them with those checked now.
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
            assert commit.header.operations == digest, f"{at}: its digest is not that of its changes"
        checked.add(at)
        ahead += commit.header.parents
    return checked


def check_layers(stores: Stores, repo: Repository) -> None:
    """No token or layer is listed twice, on one branch or on two."""
    listed: list[str] = []
    for branch in list_branches(stores.kv, repo):
        listed += [branch.staging_token, *(layer.id for layer in branch.sealed_tokens)]
    assert len(listed) == len(set(listed)), f"listed twice: {sorted(i for i in listed if listed.count(i) > 1)}"


def check_listing(shown: Snapshot) -> None:
    """A listing is in order, has no path twice, and agrees with `get`; its pages agree with it."""
    listed = list(shown.list())
    paths = [item.path.encode() for item in listed]
    assert paths == sorted(set(paths)), f"{shown!r}: listed out of order"
    for item in listed:
        assert not isinstance(item, CommonPrefix)
        assert shown.get(item.path) == item, f"{shown!r}: {item.path!r} is not what is listed"
    paged = [item for page in shown.list().pages(3) for item in page.items]
    assert paged == listed, f"{shown!r}: pages differ from the listing"

"""All repositories of a store whose entries count: those that exist, and deleted ones that can be restored.

A repository may be deleted and restored, also several times, while the lists of existing and of deleted repositories
are read. Each list alone, and both one after the other, may therefore miss it. But from its creation until a cleaner
takes it, a repository has the claim of its storage namespace, and a restoration renews this claim. So the claims are
read, and for each owner its deleted entry, its record, and the entry again. If all three are missing and the claim is
still the same, no such repository exists or can be restored (the proof is in `engine.cleaning.claims`). Otherwise the
reads are repeated. The two lists are read as well, for repositories whose claim is missing because it was damaged.
"""

from __future__ import annotations

from collections.abc import Iterator

from graveler_core.errors import SlowDown
from graveler_core.kv.store import Store
from graveler_core.model.entities import ClaimState, NamespaceClaim, RepositoryRecord
from graveler_core.model.ids import RepositoryUid
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held

_ATTEMPTS = 1_000
"""Maximum number of reads of a repository that is deleted and restored all the time."""


def all_repositories(kv: Store) -> Iterator[RepositoryRecord]:
    """Yield each repository once.

    Raises:
        SlowDown: A repository is deleted and restored all the time.
    """
    seen = set[RepositoryUid]()
    for repository in _listed(kv):
        if repository.uid not in seen:
            seen.add(repository.uid)
            yield repository
    for uri, claim in access.scan(kv, keys.NAMESPACES):
        if claim.value.owner not in seen and claim.value.state is ClaimState.OWNED:
            owner = _owner(kv, uri, claim)
            if owner is not None:
                seen.add(owner.uid)
                yield owner


def _listed(kv: Store) -> Iterator[RepositoryRecord]:
    for _, held in access.scan(kv, keys.REPOSITORIES):
        yield held.value
    for _, deleted in access.scan(kv, keys.DELETED_REPOSITORIES):
        if not deleted.value.emptying:
            yield deleted.value.repository


def _owner(kv: Store, uri: str, claim: Held[NamespaceClaim]) -> RepositoryRecord | None:
    name, uid = claim.value.repository, claim.value.owner
    for _ in range(_ATTEMPTS):
        for where in (keys.deleted_repository(name, uid), None, keys.deleted_repository(name, uid)):
            if where is None:
                held = access.read(kv, keys.repository(name))
                if held is not None and held.value.uid == uid:
                    return held.value
            else:
                entry = access.read(kv, where)
                if entry is not None:
                    return None if entry.value.emptying else entry.value.repository
        now = access.read(kv, keys.namespace_claim(uri))
        if now is None or now == claim:
            return None
        claim = now
        name, uid = claim.value.repository, claim.value.owner
    raise SlowDown(f"storage namespace {uri!r}: its owner changed {_ATTEMPTS} times while it was read; try again later")

"""Metadata of a repository: changes of its record.

✓ One swap of the record that was read, with a fresh nonce. A crash before the swap changes nothing, and after it there
is nothing left to do. A call that loses the race against another change is evaluated again on the new record, so two
keys that are set concurrently are both kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from graveler_core.engine.protocol.retry import retry
from graveler_core.errors import PredicateFailed
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import Nonce
from graveler_core.model.repository_metadata import RepositoryMetadata, repository_metadata
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.stores import Stores


def metadata(stores: Stores, repo: RepositoryRecord) -> dict[str, str]:
    """Return the metadata of a repository, in order of the keys."""
    held = access.read(stores.kv, keys.repository_metadata(repo))
    return {} if held is None else dict(held.value.values)


def update_metadata(
    stores: Stores, repo: RepositoryRecord, values: Mapping[str, str], removed: Iterable[str]
) -> dict[str, str]:
    """Set some keys and remove others. Return all metadata."""
    where, gone = keys.repository_metadata(repo), frozenset(removed)

    def attempt() -> dict[str, str] | None:
        held = access.read(stores.kv, where)
        known = {} if held is None else held.value.values
        kept = {key: value for key, value in known.items() if key not in gone}
        changed = repository_metadata({**kept, **values})
        nonce = Nonce(stores.ids.fresh())
        record = RepositoryMetadata(values=changed, nonce=nonce)
        try:
            access.replace(stores.kv, where, held, record, mine=partial(_bears, nonce))
        except PredicateFailed:
            return None
        return changed

    return retry(stores, f"metadata of {repo.id}", attempt)


def _bears(nonce: Nonce, current: RepositoryMetadata) -> bool:
    return current.nonce == nonce

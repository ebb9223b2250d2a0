"""Resolution of ref expressions in a repository, to a commit or to a branch with its staged changes."""

from __future__ import annotations

from graveler_core.engine.reading.expired import expired_error, expiries
from graveler_core.engine.reading.view import commit_of
from graveler_core.errors import InvalidInput, Kind, NotFound
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import CommitId
from graveler_core.model.names import is_commit_id
from graveler_core.objects.commits import StoredCommit
from graveler_core.refs import expression
from graveler_core.refs.expression import Resolved
from graveler_core.stores import Stores


def resolve(stores: Stores, repo: RepositoryRecord, ref: str) -> Resolved:
    """Resolve a ref expression. Raises `InvalidInput` or `NotFound`; see `refs.expression`. The error for the id of a
    commit that a collection removed (`CommitNotFound`) says so, as long as the id is remembered.
    """
    try:
        return expression.resolve(stores.kv, lambda c: commit_of(stores, repo, c).header.parents, repo, ref)
    except NotFound as missing:
        removed = _removed(stores, repo, expression.parse(ref).name)
        if removed is None:
            raise
        raise removed from missing


def resolve_commit(stores: Stores, repo: RepositoryRecord, ref: str) -> StoredCommit:
    """Return the commit that a ref expression names. An expression with `$` is refused, because staged changes have no
    commit, and so is a tag of a tree (`NotACommit`), because it names no history.
    """
    found = _without_staged(stores, repo, ref)
    if found.tree:
        raise expression.names_tree(ref)
    return commit_of(stores, repo, found.commit_id)


def resolve_content(stores: Stores, repo: RepositoryRecord, ref: str) -> StoredCommit:
    """Return the commit whose content a ref expression names, like `resolve_commit`. A tag of a tree is accepted."""
    return commit_of(stores, repo, _without_staged(stores, repo, ref).commit_id)


def _without_staged(stores: Stores, repo: RepositoryRecord, ref: str) -> Resolved:
    if isinstance(ref, str) and ref.endswith("$"):
        raise InvalidInput(f"ref {ref!r}: must name a commit, and staged changes have none", kind=Kind.InvalidRef)
    return resolve(stores, repo, ref)


def _removed(stores: Stores, repo: RepositoryRecord, name: str) -> NotFound | None:
    """Return the error for the id of a removed commit, or `None` for any other name."""
    if not is_commit_id(name):
        return None
    expiry = expiries(stores, repo, [CommitId(name)]).get(CommitId(name))
    return expired_error(CommitId(name), expiry) if expiry is not None and expiry.removes and expiry.final else None

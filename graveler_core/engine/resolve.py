"""What a ref expression means in a repository, as a commit or as a branch with what is staged on it."""

from __future__ import annotations

from graveler_core.engine.view import commit_of
from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.entities import Repository
from graveler_core.objects.commits import StoredCommit
from graveler_core.refs import expression
from graveler_core.refs.expression import Resolved
from graveler_core.stores import Stores


def resolve(stores: Stores, repo: Repository, ref: str) -> Resolved:
    """What a ref expression means now. Raises `InvalidInput` or `NotFound`; see `refs.expression`."""
    return expression.resolve(stores.kv, lambda c: commit_of(stores, repo, c).header.parents, repo, ref)


def resolve_commit(stores: Stores, repo: Repository, ref: str) -> StoredCommit:
    """The commit that a ref expression names; `$` names none, as what is staged has no commit."""
    if isinstance(ref, str) and ref.endswith("$"):
        raise InvalidInput(f"ref {ref!r}: a commit is needed here, and what is staged has none", kind=Kind.InvalidRef)
    return commit_of(stores, repo, resolve(stores, repo, ref).commit_id)

"""Settings of a repository: default branch, description, index sizes. Source: seed 002, repository description.

✓ One swap of the repository record that was read, with a fresh nonce. A call may name the version of the settings that
it expects. The version is compared with the record that the swap replaces, so a successful swap proves that the
settings still had it. A call that loses the race against another change of the record is evaluated again. Each change
is an event of the reflog.

**The default branch exists.** A deletion of a branch reads the repository record and refuses to delete the default
branch. Two records are involved, so the read alone would not suffice: the branch could become the default between the
read and the deletion. Therefore a branch is marked before and after it becomes the default:

1. Swap the branch record ✓: set its mark. If the branch does not exist, nothing has happened.
2. Swap the repository record ✓: the branch is the default. This makes the change visible.
3. Swap the branch record again ✓, with a fresh nonce and the mark. If the branch has disappeared since step 1, give the
   repository its former default branch again ✓, and refuse.

A deletion deletes exactly the record that it has read (`engine.references.branching`). If this record has no mark, the
deletion comes before step 1, or fails, because step 1 has changed the record, or somebody has removed the mark. A mark
is removed only by a deletion that has read the marked record first and *then* the repository record, and has found
another default branch; it swaps exactly the marked record that it has read. If it read the marked record after step 3,
it read the repository record after step 2, so it saw the default branch and refused, unless the default has moved on
since. If it read it before step 3, its swap either fails because of step 3, or comes before it; then step 3 sets the
mark again, or finds that the branch is gone.

After a crash between 1 and 2 the mark is left over, and the next deletion removes it. After a crash between 2 and 3 the
change is made; only a deletion that was already under way can still delete the branch. `fsck` reports a default branch
that does not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from graveler_core.engine.committing.draft import Draft
from graveler_core.engine.protocol.registers import fresh
from graveler_core.engine.protocol.retry import retry
from graveler_core.engine.protocol.swap import swap
from graveler_core.engine.references.events import note
from graveler_core.errors import Conflict, NotFound, PredicateFailed
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import BranchId, Nonce, RepositoryId
from graveler_core.model.references import EventKind, ReferenceEvent, ReferenceType
from graveler_core.model.repository_settings import RepositorySettings
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.refs import repositories
from graveler_core.stores import Stores

Change = Callable[[RepositorySettings], RepositorySettings]
"""Function from the current settings to the new ones."""


@dataclass(frozen=True, slots=True)
class SettingsAuthor:
    """Author of a change of settings and the reason, for the reflog."""

    by: str = ""
    message: str = ""


def settings_of(repository: RepositoryRecord) -> RepositorySettings:
    """Return the settings in a repository record."""
    return RepositorySettings(repository.default_branch, repository.description, repository.index_sizes)


def update(
    stores: Stores, repo: RepositoryId, change: Change, expected: str | None, author: SettingsAuthor
) -> RepositoryRecord:
    """Change the settings of a repository. If nothing differs, nothing is written.

    Raises:
        Conflict: The settings do not have the expected version (`LostRace`). `details` has `expected` and `actual`.
        NotFound: The repository, or the new default branch, does not exist.
        InvalidInput: The texts for the reflog are too long.
    """
    Draft(author.message, author.by)

    def attempt() -> RepositoryRecord | None:
        held = repositories.find(stores.kv, repo)
        now = repositories.usable(repo, held)
        assert held is not None  # noqa: S101 - else it is not usable
        before = settings_of(now)
        if expected is not None and before.version != expected:
            raise Conflict(
                f"settings of repository {repo!r} have version {before.version}, not {expected} as expected; "
                "read them again",
                expected=expected,
                actual=before.version,
            )
        after = change(before)
        if after == before:
            return now
        moves = after.default_branch != before.default_branch
        if moves:
            _mark(stores, repo, after.default_branch)
        changed = _replaced(stores, held, after)
        if changed is None:
            return None
        if moves:
            _confirm(stores, changed, before.default_branch)
        for event in _events(stores, changed, before, author):
            note(stores, changed, event)
        return changed

    return retry(stores, f"settings of repository {repo}", attempt)


def _replaced(stores: Stores, held: Held[RepositoryRecord], settings: RepositorySettings) -> RepositoryRecord | None:
    nonce = Nonce(stores.ids.fresh())
    update = {
        "default_branch": settings.default_branch,
        "description": settings.description,
        "index_sizes": settings.index_sizes,
        "nonce": nonce,
    }
    record, where = held.value.model_copy(update=update), keys.repository(held.value.id)
    try:
        changed = access.replace(stores.kv, where, held, record, mine=partial(_bears, nonce)).value
    except PredicateFailed:
        return None
    stores.registers.forget_all(held.value.id)
    return changed


def _mark(stores: Stores, repo: RepositoryId, branch: BranchId) -> None:
    """Mark a branch as the default branch, with a fresh nonce, whether it has the mark or not."""

    def attempt() -> bool | None:
        now = fresh(stores, repo, branch)
        return None if swap(stores, now, now.branch.model_copy(update={"marked_default": True})) is None else True

    retry(stores, f"mark of branch {repo}/{branch}", attempt)


def _confirm(stores: Stores, changed: RepositoryRecord, former: BranchId) -> None:
    """Mark the default branch again. If it has disappeared, restore the former default branch, and raise the error."""
    try:
        _mark(stores, changed.id, changed.default_branch)
    except NotFound:
        held = repositories.find(stores.kv, changed.id)
        if held is not None and held.value.nonce == changed.nonce:
            settings = settings_of(changed)
            _replaced(stores, held, RepositorySettings(former, settings.description, settings.index_sizes))
        raise


def _events(
    stores: Stores, changed: RepositoryRecord, before: RepositorySettings, author: SettingsAuthor
) -> list[ReferenceEvent]:
    """Return the events of a change, one for each setting that differs. Their messages begin with the change."""
    after, said = settings_of(changed), f": {author.message}" if author.message else ""
    pairs = {
        "default_branch": (before.default_branch, after.default_branch),
        "description": (before.description, after.description),
        "index_sizes": (before.index_sizes.chosen(), after.index_sizes.chosen()),
    }
    return [
        ReferenceEvent(
            time=stores.moment(),
            kind=EventKind.ASSIGNED,
            type=ReferenceType.SETTING,
            name=name,
            uid=changed.uid,
            step=f"{name.replace('_', '-')}-{changed.nonce}",
            by=author.by,
            message=f"{old} -> {new}{said}" if name != "description" else author.message,
        )
        for name, (old, new) in pairs.items()
        if old != new
    ]


def _bears(nonce: Nonce, current: RepositoryRecord) -> bool:
    return current.nonce == nonce

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
3. Swap the branch record again ✓, with a fresh nonce and the mark. If the branch has disappeared since step 1, undo the
   change, and refuse.

A deletion deletes exactly the record that it has read (`engine.references.branching`). If this record has no mark, the
deletion comes before step 1, or fails, because step 1 has changed the record, or somebody has removed the mark. A mark
is removed only by a deletion that has read the marked record first and *then* the repository record, and has found
another default branch; it swaps exactly the marked record that it has read. If it read the marked record after step 3,
it read the repository record after step 2, so it saw the default branch and refused, unless the default has moved on
since. If it read it before step 3, its swap either fails because of step 3, or comes before it; then step 3 sets the
mark again, or finds that the branch is gone.

An undo moves the default branch back to the former one, in the same three steps: mark the former branch ✓, swap the
repository record ✓, mark the former branch again ✓. The swap replaces a record that was read before the new default
branch was found missing. If the record has changed, it is read again and step 3 is repeated, so a later change of the
record is never overwritten. Other settings are undone too if they still have the values of this change. If the former
branch is gone as well, there is no branch to go back to: what is left of the change stays, and the error says so.

After a crash between 1 and 2 the mark is left over, and the next deletion removes it. After a crash between 2 and 3 the
change is made; only a deletion that was already under way can still delete the branch. `fsck` reports a default branch
that does not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial

from graveler_core.engine.committing.draft import Draft
from graveler_core.engine.protocol.registers import fresh
from graveler_core.engine.protocol.retry import retry
from graveler_core.engine.protocol.swap import swap
from graveler_core.engine.references.events import note
from graveler_core.errors import (
    Conflict,
    Kind,
    NotFound,
    OutcomeUnknown,
    PermissionDenied,
    PredicateFailed,
    SlowDown,
    Unavailable,
)
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
        LimitExceeded: The repository record would be too large.
        OutcomeUnknown: The settings may have been changed, and the default branch may not exist.
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
        repositories.require_room(_with(now, after), now)
        moves = after.default_branch != before.default_branch
        if moves:
            _mark(stores, repo, after.default_branch)
        changed = _replaced(stores, held, after)
        if changed is None:
            return None
        _note(stores, changed.value, before, author)
        if moves:
            _confirm(stores, changed, before, author)
        return changed.value

    return retry(stores, f"settings of repository {repo}", attempt)


def _with(record: RepositoryRecord, settings: RepositorySettings) -> RepositoryRecord:
    return record.model_copy(update={field.name: getattr(settings, field.name) for field in fields(RepositorySettings)})


def _replaced(
    stores: Stores, held: Held[RepositoryRecord], settings: RepositorySettings
) -> Held[RepositoryRecord] | None:
    nonce, where = Nonce(stores.ids.fresh()), keys.repository(held.value.id)
    record = _with(held.value, settings).model_copy(update={"nonce": nonce})
    try:
        changed = access.replace(stores.kv, where, held, record, mine=partial(_bears, nonce))
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


def _confirm(
    stores: Stores, changed: Held[RepositoryRecord], before: RepositorySettings, author: SettingsAuthor
) -> None:
    """Mark the new default branch again. If it has disappeared, undo the change, and raise the error.

    Raises:
        NotFound: The branch does not exist. The change was undone.
        OutcomeUnknown: The former default branch does not exist either, or the store refused a request. The change is
            visible already, so the refusal is not raised as it is.
    """
    repo, uid, after = changed.value.id, changed.value.uid, settings_of(changed.value)
    current: Held[RepositoryRecord] | None = changed

    def attempt() -> bool | None:
        nonlocal current
        if current is None or current.value.uid != uid:
            return True  # the repository was deleted after the change
        try:
            _mark(stores, repo, after.default_branch)
        except NotFound as missing:
            if missing.kind is not Kind.BranchNotFound:
                return True
            if _undone(stores, current, after, before, author):
                raise
            current = repositories.find(stores.kv, repo)
            return None
        return True

    try:
        retry(stores, f"settings of repository {repo}", attempt)
    except (SlowDown, Unavailable, PermissionDenied) as e:
        raise OutcomeUnknown(
            f"repository {repo!r}: the settings may have been changed, but the new default branch "
            f"{after.default_branch!r} could not be confirmed; check which default branch is set, and that it exists",
            repository=repo,
        ) from e


def _undone(
    stores: Stores,
    current: Held[RepositoryRecord],
    after: RepositorySettings,
    before: RepositorySettings,
    author: SettingsAuthor,
) -> bool:
    """Undo what is left of a change whose default branch is missing. Return `False` if another swap came first."""
    repo, now = current.value.id, settings_of(current.value)
    back = _without(now, after, before)
    if back == now:
        return True
    moves = back.default_branch != now.default_branch
    try:
        if moves:
            _mark(stores, repo, back.default_branch)
        restored = _replaced(stores, current, back)
        if restored is None:
            return False
        why = f"undone: branch {after.default_branch!r} was deleted"
        _note(stores, restored.value, now, SettingsAuthor(author.by, why))
        if moves:
            _mark(stores, repo, back.default_branch)
    except NotFound as gone:
        raise OutcomeUnknown(
            f"repository {repo!r}: the new default branch {after.default_branch!r} was deleted during the call, and "
            f"the former one cannot be set again ({gone.message}); set the default branch to a branch that exists",
            repository=repo,
        ) from gone
    return True


def _without(now: RepositorySettings, after: RepositorySettings, before: RepositorySettings) -> RepositorySettings:
    """Return settings without a change: each setting that still has the value of the change gets its former value."""
    names = [field.name for field in fields(RepositorySettings)]
    former = {name: getattr(before, name) for name in names if getattr(now, name) == getattr(after, name)}
    return replace(now, **former)


def _note(stores: Stores, changed: RepositoryRecord, before: RepositorySettings, author: SettingsAuthor) -> None:
    for event in _events(stores, changed, before, author):
        note(stores, changed, event)


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

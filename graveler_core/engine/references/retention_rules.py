"""Retention rules of a repository: changes of their record.

✓ One swap of the record that was read, with the next version and a fresh nonce. A crash before the swap changes
nothing, and after it there is nothing left to do. A call that loses the race against another change is evaluated again.
Former versions stay in the record, so it shows who has set which rules, and when. Each change is also an event of the
reflog, named `retention`. A crash between the swap and the event loses the event, and not the version in the record.

A collection reads the rules when it announces commits and when it lets them expire. A change therefore counts for every
collection that begins later, and for the end of a grace period that has begun.
"""

from __future__ import annotations

from functools import partial

from graveler_core.codec.records import encode
from graveler_core.engine.protocol.retry import retry
from graveler_core.engine.references.events import note
from graveler_core.errors import Conflict, PredicateFailed
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import Nonce
from graveler_core.model.references import EventKind, ReferenceEvent, ReferenceType
from graveler_core.model.retention import MAX_BYTES, REMEMBERED_RULES, Retention, RetentionRules
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.stores import Stores


def versions(stores: Stores, repo: RepositoryRecord) -> tuple[RetentionRules, ...]:
    """Return the current rules and the former ones, newest first. The last item is version 0, unless it was dropped."""
    held = access.read(stores.kv, keys.retention(repo))
    return (RetentionRules(),) if held is None else (held.value.rules, *held.value.past)


def set_rules(
    stores: Stores, repo: RepositoryRecord, rules: RetentionRules, by: str, expected: int | None = None
) -> RetentionRules:
    """Replace the rules of a repository.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        rules: The new rules, without version.
        by: User who sets them. Empty without access control.
        expected: Version that the current rules must have. `None` means any.

    Returns:
        The new rules, with version, time and user.

    Raises:
        Conflict: The current rules have another version (`LostRace`). `details` has `expected` and `actual`.
    """
    where = keys.retention(repo)

    def attempt() -> RetentionRules | None:
        held = access.read(stores.kv, where)
        past = (RetentionRules(),) if held is None else (held.value.rules, *held.value.past)
        if expected is not None and past[0].version != expected:
            raise Conflict(
                f"retention of repository {repo.id!r}: the rules have version {past[0].version}, not {expected}; read "
                "them again, then repeat the change",
                expected=expected,
                actual=past[0].version,
            )
        update = {"version": past[0].version + 1, "since": stores.clock.now(), "by": by}
        nonce = Nonce(stores.ids.fresh())
        record = _shortened(Retention(rules=rules.model_copy(update=update), past=past[:REMEMBERED_RULES], nonce=nonce))
        try:
            access.replace(stores.kv, where, held, record, mine=partial(_bears, nonce))
        except PredicateFailed:
            return None
        note(stores, repo, _event(stores, repo, past[0], record))
        return record.rules

    return retry(stores, f"retention of {repo.id}", attempt)


def _shortened(record: Retention) -> Retention:
    """Return the record with as many former versions as fit into it. One version always fits."""
    while record.past and len(encode(record)) > MAX_BYTES:
        record = record.model_copy(update={"past": record.past[:-1]})
    return record


def _event(stores: Stores, repo: RepositoryRecord, before: RetentionRules, record: Retention) -> ReferenceEvent:
    after = record.rules
    return ReferenceEvent(
        time=stores.moment(),
        kind=EventKind.ASSIGNED,
        type=ReferenceType.SETTING,
        name="retention",
        uid=repo.uid,
        step=f"retention-{record.nonce}",
        by=after.by,
        message=f"version {before.version} -> version {after.version}",
    )


def _bears(nonce: Nonce, current: Retention) -> bool:
    return current.nonce == nonce

"""Deleted repositories on the command line: how they are shown, how one is emptied, and what a cleaner did."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import timedelta
from typing import TYPE_CHECKING

import typer

from graveler_core.cli.output import Column, Document, View
from graveler_core.cli.session import Session
from graveler_core.cli.terminal import time_for_machines, time_for_people
from graveler_core.errors import NotFound

if TYPE_CHECKING:
    from graveler_core.engine.cleaning import Cleaned
    from graveler_core.model.entities import DeletedRepository

CALL = 10_000
"""How many things a cleaner looks at in one call; the next one goes on from there."""
POLL_SECONDS = 5.0
FAILED = 1
"""Exit code when something could not be removed."""
_NAMES = {
    "repositories": "repositories",
    "deletions": "names set free",
    "layers": "staged layers",
    "rows": "rows",
    "files": "files",
    "records": "records",
    "keys": "idempotency keys",
    "counters": "counters",
    "claims": "namespaces",
}
_LEFT = {"waiting": "that can be restored", "late": "that somebody may still write to", "contested": "in other hands"}


def restorable(entry: DeletedRepository) -> bool:
    """Whether `repo undelete` can bring it back, if nothing else bears its name."""
    return entry.state != "purging" and entry.repository.was_active


def deleted_document(entry: DeletedRepository) -> Document:
    """`type` ("deleted"), `id`, `uid`, `state` ("deleted", "purging", "restoring"), `since`, `restorable`,
    `storage_namespace`."""
    return {
        "type": "deleted",
        "id": entry.repository.id,
        "uid": entry.repository.uid,
        "state": entry.state.value,
        "since": time_for_machines(entry.since),
        "restorable": restorable(entry),
        "storage_namespace": entry.repository.storage_namespace,
    }


DELETED: View[DeletedRepository] = View(
    columns=(
        Column("repository", style="bold", folds=True),
        Column("state"),
        Column("since", people=time_for_people, machines=time_for_machines),
        Column("uid"),
        Column("storage namespace", folds=True),
    ),
    cells=lambda e: (
        e.repository.id,
        e.state.value if restorable(e) or e.state != "deleted" else "never complete",
        e.since,
        e.repository.uid,
        e.repository.storage_namespace,
    ),
    document=deleted_document,
    empty="no deleted repositories",
)


def deleted_now(session: Session, name: str) -> str:
    """Delete a repository, or complete its deletion; gives its uid."""
    uid = None
    with suppress(NotFound):  # it may be half deleted, or half migrated
        uid = session.graveler.repository(name).uid
    session.graveler.delete_repository(name)
    if uid is not None:
        return uid
    entries = [e for e in session.graveler.deleted_repositories(name) if e.repository.id == name]
    return max(entries, key=lambda entry: entry.since).repository.uid


def emptied(session: Session, name: str, uid: str, *, alone: bool) -> Cleaned:
    """Empty a deleted repository for good, once nobody can write to it any more; gives what was removed.

    Args:
        alone: Nobody is at work on it, so there is nobody to wait for.
    """
    from graveler_core.engine.cleaning import Cleaned, CleaningPlan

    late = timedelta(0) if alone else CleaningPlan().late
    done, at = Cleaned(), None
    what = f"waiting until nobody writes any more ({late.total_seconds() / 60:g} minutes), then emptying"
    with session.working("emptying" if alone else what) as progress:
        while True:
            step = session.graveler.clean(
                repository=name,
                uid=uid,
                undelete_within=timedelta(0),
                late=late,
                limit=CALL,
                after=at,
                progress=progress.advance,
            )
            left = step.late or step.waiting or step.contested
            done, at = done.plus(replace(step, late=0, waiting=0, contested=0)), step.next
            if step.failed or (at is None and not left):
                return done
            if at is None:
                time.sleep(POLL_SECONDS)


def tell_failures(session: Session, done: Cleaned) -> None:
    """Name what failed, and end the program with a code that says so."""
    for what, why in done.failures:
        session.out.say(f"failed: {what}: {why}")
    if done.failed:
        raise typer.Exit(FAILED)


def cleaned_document(done: Cleaned) -> Document:
    """The fields of `engine.cleaning.Cleaned`."""
    return asdict(done)


def cleaned_text(done: Cleaned) -> str:
    """What was removed and what was left, in a line."""
    removed = [f"{getattr(done, name):,} {words}" for name, words in _NAMES.items() if getattr(done, name)]
    left = [f"{getattr(done, name):,} {words}" for name, words in _LEFT.items() if getattr(done, name)]
    parts = [f"{'would remove' if done.dry_run else 'removed'} {', '.join(removed) or 'nothing'}"]
    parts += [f"left {', '.join(left)}"] if left else []
    parts += [f"{done.failed:,} failed"] if done.failed else []
    parts += [f"more to go: --after '{done.next}'"] if done.next else []
    return "; ".join(parts)
